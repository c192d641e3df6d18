package server

import (
	"fmt"
	"testing"
)

// BenchmarkFeed measures short commands from the bytes of the request on, alone and
// pipelined by 16. A step is one command.
func BenchmarkFeed(b *testing.B) {
	for _, c := range []struct {
		name  string
		words func(i int) []string
	}{
		{"ping", func(int) []string { return []string{"PING"} }},
		{"set", func(i int) []string { return []string{"SET", fmt.Sprint("key:", i), "a value"} }},
		{"get", func(i int) []string { return []string{"GET", fmt.Sprint("key:", i)} }},
		{"incr", func(i int) []string { return []string{"INCR", fmt.Sprint("counter:", i)} }},
		{"again", func(i int) []string { return []string{"LOCK", fmt.Sprint("lock:", i), "me", "PX", "3600000"} }},
	} {
		for _, pipeline := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/P=%d", c.name, pipeline), func(b *testing.B) { benchmarkFeed(b, pipeline, c.words) })
		}
	}
}

func benchmarkFeed(b *testing.B, pipeline int, words func(i int) []string) {
	s := toNowhere(b)
	var scratch batch
	var requests [][]byte
	for i := 0; i < 4096; i += pipeline {
		var request []byte
		for j := range pipeline {
			request = appendCommand(request, words(i+j)...)
		}
		requests = append(requests, request)
	}
	feedAgain(b, s, &scratch, requests, pipeline)
}
