package store

import (
	"fmt"
	"testing"
)

// BenchmarkStrings measures the least cost of SET and GET: the store alone, with a hundred thousand keys.
func BenchmarkStrings(b *testing.B) {
	const n = 100_000
	s := New(1, Limits{})
	s.SetNow(1_000_000)
	db, keys := s.DB(0), make([][]byte, n)
	val := []byte("a value of some bytes")
	for i := range keys {
		keys[i] = fmt.Append(nil, "key:", i*7919%n)
		db.EditString(keys[i]).Set(val, NoTTL)
	}
	b.Run("set", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			db.EditString(keys[i%n]).Set(val, NoTTL)
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

// BenchmarkDeadlines measures the cost of deadlines in a large store, each case with its own time: changing
// deadlines, adding new keys with deadlines and removing them before, and expiry.
func BenchmarkDeadlines(b *testing.B) {
	const n = 500_000
	val := []byte("a value of some bytes")
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Append(nil, "key:", i*7919%n)
	}
	filled := func() (*Store, *DB) {
		s := New(1, Limits{})
		s.SetNow(1_000_000)
		for i, key := range keys {
			s.DB(0).EditString(key).Set(val, TTL(1_000_000+int64(i)*7907%n))
		}
		return s, s.DB(0)
	}
	b.Run("put-off", func(b *testing.B) {
		_, db := filled()
		for i := 0; b.Loop(); i++ {
			db.Expire(keys[i%n], 2_000_000+int64(i))
		}
	})
	b.Run("set-and-delete", func(b *testing.B) {
		_, db := filled()
		for i := 0; b.Loop(); i++ {
			db.Delete(keys[i%n])
			db.EditString(keys[i%n]).Set(val, TTL(2_000_000+int64(i)))
		}
	})
	b.Run("die", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			s, db := filled()
			b.StartTimer()
			for now := int64(1_000_000); db.Len() > 0; now++ {
				s.SetNow(now * 1000)
				for s.ExpireDue(256) {
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
	})
}
