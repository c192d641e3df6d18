package dict

import (
	"fmt"
	"hash/maphash"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"lockserver/store/cow"
)

// record has the size of the keyspace's value.
type record struct {
	body any // a pointer that the collector must follow, as in the keyspace
	at   int64
}

func benchDict(n int) (*Dict[record], [][]byte) {
	d := New[record](&cow.Epoch{}, maphash.MakeSeed())
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = []byte(fmt.Sprintf("bench:key:%08d", i))
		d.Insert(d.Hash(keys[i]), keys[i], record{body: &keys[i], at: int64(i)})
	}
	return d, keys
}

func eachSize(b *testing.B, fn func(b *testing.B, n int)) {
	for _, n := range []int{100, 10_000, 100_000, 1_000_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { fn(b, n) })
	}
}

func BenchmarkFind(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		d, keys := benchDict(n)
		at := uint32(1)
		b.ResetTimer()
		for range b.N {
			at = at*1664525 + 1013904223
			key := keys[int(uint64(at)*uint64(n)>>32)]
			if d.Find(d.Hash(key), key) < 0 {
				b.Fatal("lost")
			}
		}
	})
}

func BenchmarkFindMiss(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		d, keys := benchDict(n)
		at := uint32(1)
		for _, key := range keys {
			key[0] = 'B'
		}
		b.ResetTimer()
		for range b.N {
			at = at*1664525 + 1013904223
			key := keys[int(uint64(at)*uint64(n)>>32)]
			if d.Find(d.Hash(key), key) >= 0 {
				b.Fatal("found")
			}
		}
	})
}

// BenchmarkGoMap is for comparison: the built-in map with the same entries.
func BenchmarkGoMap(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		m := map[string]record{}
		_, keys := benchDict(n)
		for _, key := range keys {
			m[string(key)] = record{}
		}
		at := uint32(1)
		b.ResetTimer()
		for range b.N {
			at = at*1664525 + 1013904223
			if _, ok := m[string(keys[int(uint64(at)*uint64(n)>>32)])]; !ok {
				b.Fatal("lost")
			}
		}
	})
}

// BenchmarkDeleteInsert removes a random entry and adds it again.
func BenchmarkDeleteInsert(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		d, _ := benchDict(n)
		at := uint32(1)
		b.ResetTimer()
		for range b.N {
			at = at*1664525 + 1013904223
			slot := int(uint64(at) * uint64(n) >> 32)
			key, v := d.At(slot)
			h, was := d.HashString(key), *v
			d.Delete(h, slot)
			d.InsertString(h, key, was)
		}
	})
}

// BenchmarkFill builds a dict of n entries. It reports the bytes that an entry takes besides its slot (key
// header and value) and the bytes of its key.
func BenchmarkFill(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprintf("bench:key:%08d", i)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var d *Dict[record]
		b.ResetTimer()
		for range b.N {
			d = New[record](&cow.Epoch{}, maphash.MakeSeed())
			for _, key := range keys {
				d.InsertString(d.HashString(key), key, record{})
			}
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/entry")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n)-40, "B/entry")
		runtime.KeepAlive(d)
		runtime.KeepAlive(keys)
	})
}

// BenchmarkFirstWriteAfterCut measures the cost of the clones because of a snapshot: one write to each chunk
// after each cut.
func BenchmarkFirstWriteAfterCut(b *testing.B) {
	const n = 100_000
	d, _ := benchDict(n)
	b.ResetTimer()
	for range b.N {
		d.ep.Cut()
		for at := 0; at < n; at += chunkSize {
			d.Mut(at).at++
		}
		d.ep.Release()
	}
	chunks := (n + chunkSize - 1) / chunkSize
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chunks), "ns/chunk")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/entry")
}

// BenchmarkWritesInSave measures how many bytes are copied because of random writes while a view of a million
// entries is drained. There is one write every 64 entries, which is about ten thousand a second in a save of
// 1.5 s.
func BenchmarkWritesInSave(b *testing.B) {
	const n = 1_000_000
	d, _ := benchDict(n)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // otherwise the collector frees the spares
	at := uint32(1)
	save := func() {
		d.ep.Cut()
		seen := 0
		d.View().Drain(func(string, *record, int64) bool {
			if seen++; seen%64 == 0 {
				at = at*1664525 + 1013904223
				d.Mut(int(uint64(at)*n>>32)).at++
			}
			return true
		})
		d.ep.Release()
		d.EndView()
	}
	var before, first, after runtime.MemStats
	runtime.ReadMemStats(&before)
	save()
	runtime.ReadMemStats(&first)
	b.ResetTimer()
	for range b.N {
		save()
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(first.TotalAlloc-before.TotalAlloc)/1e6, "MB/first")
	b.ReportMetric(float64(after.TotalAlloc-first.TotalAlloc)/1e6/float64(b.N), "MB/next")
}

func BenchmarkView(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		d, _ := benchDict(n)
		b.ResetTimer()
		for range b.N {
			if d.View().Len() != n {
				b.Fatal("short")
			}
		}
	})
}
