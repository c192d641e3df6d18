package server

import (
	"fmt"
	"net"
	"testing"
	"time"

	"lockserver/server/transport"
)

// hurried is a clock that is as far ahead at each look as a batch over the network takes.
type hurried struct{ nowUS int64 }

func (h *hurried) NowUS() int64 {
	h.nowUS += 8
	return h.nowUS
}

// BenchmarkPairs measures SEM.ACQUIRE, SEM.RELEASE beside LOCK, UNLOCK as tests/bench sends them: keys and
// owners that come once, an acquisition and its release behind each other, 16 requests at a time.
func BenchmarkPairs(b *testing.B) {
	const round, batchOf = 512, 8 // pairs
	addr := &net.UnixAddr{Net: "unix"}
	s, refused := start(b, Options{Clock: &hurried{time.Now().UnixMicro()}}).executor.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
	if s == nil {
		b.Fatal(refused)
	}
	var scratch batch
	var requests [2][][]byte
	for i := 0; i < round; i += batchOf {
		var locks, permits []byte
		for n := i; n < i+batchOf; n++ {
			key, owner := fmt.Sprintf("sem:%012d", n), fmt.Sprintf("5b1f0d6e7a944c0b9a3e2f6f4f:%012d", n)
			locks = appendCommand(appendCommand(locks, "LOCK", key, owner, "PX", "3600000"), "UNLOCK", key, owner)
			permits = appendCommand(appendCommand(permits, "SEM.ACQUIRE", key, owner, "LIMIT", "5", "PX", "3600000"), "SEM.RELEASE", key, owner)
		}
		requests[0], requests[1] = append(requests[0], locks), append(requests[1], permits)
	}
	var least [len(requests)]time.Duration
	b.ResetTimer()
	for i := 0; i < b.N; i += round {
		for kind := range requests {
			start := time.Now()
			for _, request := range requests[kind] {
				s.Feed(request, &scratch, nil)
			}
			if took := time.Since(start); least[kind] == 0 || took < least[kind] {
				least[kind] = took
			}
		}
	}
	b.ReportMetric(float64(least[0])/round, "ns/lock")
	b.ReportMetric(float64(least[1])/round, "ns/semaphore")
}
