package server

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/server/transport"
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
	feedWords(b, toNowhere(b), pipeline, words)
}

// feedWords measures 4096 different commands of a session, pipelined.
func feedWords(b *testing.B, s *session, pipeline int, words func(i int) []string) {
	b.Helper()
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

// BenchmarkShard measures SET, GET and a repeated LOCK at a lone server, and with the same keys at the first
// of three shards, which computes the slot of each.
func BenchmarkShard(b *testing.B) {
	var keys []string
	for i := 0; len(keys) < 4096; i++ {
		if key := fmt.Sprint("order:", i); keyslot.Of([]byte(key)) < 5461 {
			keys = append(keys, key)
		}
	}
	for _, c := range []struct {
		name  string
		words func(i int) []string
	}{
		{"set", func(i int) []string { return []string{"SET", keys[i], "a value"} }},
		{"get", func(i int) []string { return []string{"GET", keys[i]} }},
		{"again", func(i int) []string { return []string{"LOCK", "{" + keys[i] + "}:lock", "me", "PX", "3600000"} }},
	} {
		for _, pipeline := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/P=%d/lone", c.name, pipeline), func(b *testing.B) { feedWords(b, toNowhere(b), pipeline, c.words) })
			b.Run(fmt.Sprintf("%s/P=%d/shard", c.name, pipeline), func(b *testing.B) { feedWords(b, toFirstShard(b), pipeline, c.words) })
		}
	}
}

// toFirstShard is a session of the first of three shards, that has its replies dropped.
func toFirstShard(b testing.TB) *session {
	b.Helper()
	c, err := NewCluster(Options{}, 3)
	if err == nil {
		b.Cleanup(func() { _ = c.Close() })
		err = c.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	addr := &net.UnixAddr{Net: "unix"}
	s, refused := c.shards[0].executor.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
	if s == nil {
		b.Fatal(refused)
	}
	return s
}

// TestASlotNeedsNoMemory: a shard looks up the slot of a command's only key without an allocation, also where
// the words of the command say how it uses the key.
func TestASlotNeedsNoMemory(t *testing.T) {
	of := func(s *session, line string) float64 {
		var scratch batch
		request := appendCommand(nil, strings.Fields(line)...)
		return testing.AllocsPerRun(200, func() { s.Feed(request, &scratch, nil) })
	}
	lone, shard := toNowhere(t), toFirstShard(t)
	for _, line := range []string{"SET " + keyIn(0) + " v", "GET " + keyIn(0), "BITFIELD " + keyIn(0) + " GET u8 0", "EXPIRE " + keyIn(0) + " 1000"} {
		require.InDelta(t, of(lone, line), of(shard, line), 0.5, line)
	}
}
