package store

import (
	"strconv"
	"testing"
)

// BenchmarkHSet writes one field of existing hashes. It includes the cost of the rule of tokens (seeField)
// for each HSET.
func BenchmarkHSet(b *testing.B) {
	s := New(1, Limits{})
	limits := s.Limits()
	limits.Hash.Entries, limits.Hash.Value = 128, 64
	s.SetLimits(limits)
	db := s.DB(0)
	keys := make([][]byte, 1024)
	for i := range keys {
		keys[i] = []byte("key:" + strconv.Itoa(i))
	}
	field, val := []byte("field1"), []byte("value1")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		edit, _ := db.OpenHash(keys[i&1023])
		edit.Set(field, val)
		i++
	}
}
