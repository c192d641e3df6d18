package server

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkSemaphore measures SEM.ACQUIRE and SEM.RELEASE beside LOCK and UNLOCK, with and without a lease,
// in turn. The figures are of one run, the least of many rounds. Their ratio shows the cost of a semaphore.
func BenchmarkSemaphore(b *testing.B) {
	const round = 512 // pairs
	for _, pipeline := range []int{1, 16} {
		b.Run(fmt.Sprintf("pipeline=%d", pipeline), func(b *testing.B) {
			s := toNowhere(b)
			var scratch batch
			requests := [...][][]byte{pairsOf(pipeline, "PX", "3600000"), permitPairs(pipeline, "PX", "3600000"),
				pairsOf(pipeline), permitPairs(pipeline)}
			var least [len(requests)]time.Duration
			b.ResetTimer()
			for i := 0; i < b.N; i += round {
				for kind := range requests {
					start := time.Now()
					for range round / pipeline {
						s.Feed(requests[kind][0], &scratch, nil)
						s.Feed(requests[kind][1], &scratch, nil)
					}
					if took := time.Since(start); least[kind] == 0 || took < least[kind] {
						least[kind] = took
					}
				}
			}
			b.ReportMetric(float64(least[0])/round, "ns/pair")
			b.ReportMetric(float64(least[1])/float64(least[0]), "semaphore/lock")
			b.ReportMetric(float64(least[3])/float64(least[2]), "semaphore/lock,watched")
		})
	}
}

// permitPairs are a batch of SEM.ACQUIREs and one of the SEM.RELEASEs that belong to them.
func permitPairs(pipeline int, words ...string) [][]byte {
	var acquire, release []byte
	for j := range pipeline {
		key := fmt.Sprint("free:", j)
		acquire = appendCommand(acquire, append([]string{"SEM.ACQUIRE", key, "owner", "LIMIT", "5"}, words...)...)
		release = appendCommand(release, "SEM.RELEASE", key, "owner")
	}
	return [][]byte{acquire, release}
}
