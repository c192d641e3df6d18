package store

import (
	"fmt"
	"testing"
)

// BenchmarkStrings is the floor of SET and GET: the store alone, a hundred thousand keys.
func BenchmarkStrings(b *testing.B) {
	const n = 100_000
	s := New(1, Limits{})
	s.SetNow(1_000_000)
	db, keys := s.DB(0), make([][]byte, n)
	val := []byte("a value of some bytes")
	for i := range keys {
		keys[i] = fmt.Append(nil, "key:", i*7919%n)
		db.SetString(keys[i], val, NoTTL)
	}
	b.Run("set", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			db.SetString(keys[i%n], val, NoTTL)
		}
	})
	b.Run("get", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if len(db.Find(keys[i%n]).Bytes()) != len(val) {
				b.Fatal("wrong value")
			}
		}
	})
}
