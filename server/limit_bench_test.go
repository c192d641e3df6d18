package server

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkLimit measures LIMIT.TAKE beside INCR, and LIMIT.MTAKE of two limiters beside LIMIT.TAKE, on a
// thousand keys each, in turn. The figures are of one run, the least of many rounds.
func BenchmarkLimit(b *testing.B) {
	const round = 512
	for _, pipeline := range []int{1, 16} {
		b.Run(fmt.Sprintf("pipeline=%d", pipeline), func(b *testing.B) {
			s := toNowhere(b)
			var scratch batch
			var requests [3][][]byte
			for i := 0; i < 1024; i += pipeline {
				var count, take, many []byte
				for j := range pipeline {
					count = appendCommand(count, "INCR", fmt.Sprint("count:", i+j))
					take = appendCommand(take, "LIMIT.TAKE", fmt.Sprint("limit:", i+j), "1000000", "1000", "1000")
					many = appendCommand(many, "LIMIT.MTAKE", "2", fmt.Sprint("second:", i+j), "1000000", "1000", "1000",
						fmt.Sprint("day:", i+j), "2000000", "100000", "86400000")
				}
				requests[0], requests[1], requests[2] = append(requests[0], count), append(requests[1], take), append(requests[2], many)
			}
			var least [3]time.Duration
			next := 0
			b.ResetTimer()
			for i := 0; i < b.N; i += round {
				for kind := range requests {
					start := time.Now()
					for n := range round / pipeline {
						s.Feed(requests[kind][(next+n)%len(requests[kind])], &scratch, nil)
					}
					if took := time.Since(start); least[kind] == 0 || took < least[kind] {
						least[kind] = took
					}
				}
				next += round / pipeline
			}
			b.ReportMetric(float64(least[0])/round, "ns/INCR")
			b.ReportMetric(float64(least[1])/float64(least[0]), "take/INCR")
			b.ReportMetric(float64(least[2])/float64(least[1]), "mtake/take")
		})
	}
}
