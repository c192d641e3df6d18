package server

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkLockEvents measures LOCK and UNLOCK on three servers in turn. The first records no events,
// the second counts by class, and the third keeps the history as well. The figures are of one run, the
// least of many rounds. Their ratios show the cost of the figures and of the history.
func BenchmarkLockEvents(b *testing.B) {
	for _, keys := range []int{16, 4096} {
		for _, lease := range []string{"", "PX"} {
			b.Run(fmt.Sprintf("keys=%d/lease=%s", keys, lease), func(b *testing.B) { benchmarkStory(b, keys, fieldsOf(lease)) })
		}
	}
}

func benchmarkStory(b *testing.B, keys int, lease []string) {
	const pipeline, round = 16, 512
	var requests [][]byte
	for i := 0; i < keys; i += pipeline {
		var lock, unlock []byte
		for j := range pipeline {
			key := fmt.Sprint("order:", i+j)
			lock = appendCommand(lock, append([]string{"LOCK", key, "worker-17"}, lease...)...)
			unlock = appendCommand(unlock, "UNLOCK", key, "worker-17")
		}
		requests = append(requests, lock, unlock)
	}
	var sessions [3]*session
	for kind := range sessions {
		sessions[kind] = toNowhere(b)
		ex := sessions[kind].executor
		ex.Waits.LockEvents.Muted = kind == 0
		if kind < 2 {
			ex.Waits.LockEvents.Ring.Resize(0, 0, "")
		}
		ex.config.LockClasses = [][]string{{"orders", "order:*"}, {"mail", "mail:*"}}
		ex.Waits.Configure(ex.config)
		if kind < 2 {
			ex.Waits.LockEvents.Ring.Resize(0, 0, "")
		}
	}
	var scratch batch
	for _, s := range sessions { // until events are sampled, which is soon
		for i := range 1_200_000 / pipeline {
			s.Feed(requests[2*i%len(requests)], &scratch, nil)
			s.Feed(requests[2*i%len(requests)+1], &scratch, nil)
		}
	}
	var least [len(sessions)]time.Duration
	at := 0
	b.ResetTimer()
	for i := 0; i < b.N; i += round {
		from := at
		for kind, s := range sessions {
			at = from
			start := time.Now()
			for range 2 * round / pipeline {
				s.Feed(requests[at], &scratch, nil)
				at = (at + 1) % len(requests)
			}
			if took := time.Since(start); least[kind] == 0 || took < least[kind] {
				least[kind] = took
			}
		}
	}
	b.ReportMetric(float64(least[0])/round, "ns/pair")
	b.ReportMetric(float64(least[1])/float64(least[0]), "classes/nothing")
	b.ReportMetric(float64(least[2])/float64(least[0]), "history/nothing")
}
