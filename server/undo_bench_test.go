package server

import (
	"fmt"
	"testing"
)

// BenchmarkUndo measures commands that write, pipelined by 16, on a store that can go back, as the store of
// a leader can, and on a plain store. A period has about 256 KB of effects, as in a group. Each hash has a
// hundred fields.
func BenchmarkUndo(b *testing.B) {
	const pipeline, keys, fields, period = 16, 4096, 100, 4096
	for _, c := range []struct {
		name  string
		fill  func(i, j int) []string
		words func(i int) []string
	}{
		{"set", nil, func(i int) []string { return []string{"SET", fmt.Sprint("key:", i), "a value"} }},
		{"incr", nil, func(i int) []string { return []string{"INCR", fmt.Sprint("counter:", i)} }},
		{"lock", nil, func(i int) []string {
			return []string{[]string{"LOCK", "UNLOCK"}[i%2], fmt.Sprint("lock:", i/2), "me"}
		}},
		{"hset", func(i, j int) []string {
			return []string{"HSET", fmt.Sprint("hash:", i), fmt.Sprint("field:", j), "a value"}
		},
			func(i int) []string { return []string{"HSET", fmt.Sprint("hash:", i), "field:7", "another"} }},
	} {
		requests := undoRequests(keys, pipeline, c.words)
		for _, on := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/undo=%t", c.name, on), func(b *testing.B) {
				s := toNowhere(b)
				var scratch batch
				for i := range keys * fields {
					if c.fill != nil {
						s.Feed(appendCommand(nil, c.fill(i/fields, i%fields)...), &scratch, nil)
					}
				}
				st := s.executor.Store
				if on {
					st.Undo().Begin()
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := 0; i < b.N; i += pipeline {
					s.Feed(requests[i/pipeline%len(requests)], &scratch, nil)
					if i%period == 0 {
						st.Undo().Advance()
					}
				}
			})
		}
	}
}

// undoRequests returns n commands in requests of inOne commands each.
func undoRequests(n, inOne int, words func(i int) []string) (requests [][]byte) {
	for i := 0; i < n; i += inOne {
		var request []byte
		for j := range inOne {
			request = appendCommand(request, words(i+j)...)
		}
		requests = append(requests, request)
	}
	return requests
}
