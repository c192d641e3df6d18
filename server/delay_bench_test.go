package server

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkDelayAdd measures DELAY.ADD beside XADD and ZADD, each with new ids, in turn. The figures are of
// one run, the least of many rounds.
func BenchmarkDelayAdd(b *testing.B) {
	const round, body = 1024, "0123456789012345678901234567890123456789012345012345678901"
	for _, pipeline := range []int{1, 16} {
		b.Run(fmt.Sprintf("pipeline=%d", pipeline), func(b *testing.B) {
			sessions := [2]*session{toNowhere(b), toNowhere(b)}
			var scratch batch
			var least [2]time.Duration
			n := 0
			b.ResetTimer()
			for i := 0; i < b.N; i += round {
				var requests [2][][]byte
				b.StopTimer()
				for range round / pipeline {
					var delay, both []byte
					for range pipeline {
						n++
						due, id := fmt.Sprint(4_000_000_000_000+n%1000), fmt.Sprintf("id%012d", n)
						delay = appendCommand(delay, "DELAY.ADD", "delayed", "AT", due, "ID", id, "body", body)
						both = appendCommand(appendCommand(both, "XADD", "stream", "*", "body", body), "ZADD", "times", due, id)
					}
					requests[0], requests[1] = append(requests[0], delay), append(requests[1], both)
				}
				b.StartTimer()
				for kind := range requests {
					start := time.Now()
					for _, r := range requests[kind] {
						sessions[kind].Feed(r, &scratch, nil)
					}
					if took := time.Since(start); least[kind] == 0 || took < least[kind] {
						least[kind] = took
					}
				}
			}
			b.ReportMetric(float64(least[1])/round, "ns/XADD+ZADD")
			b.ReportMetric(float64(least[0])/float64(least[1]), "delay/both")
		})
	}
}
