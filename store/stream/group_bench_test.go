package stream

import "testing"

// BenchmarkPending adds and removes a pending entry while there are up to 100,000.
func BenchmarkPending(b *testing.B) {
	const entries = 100_000
	for b.Loop() {
		g := &Group{pendingTree: newTree(pendingLess), byNumber: map[uint32]*Consumer{}}
		c := g.AddConsumer([]byte("c"), 0)
		for i := range uint64(entries) {
			g.SetPending(Pending{ID: ID{MS: i}}, c)
		}
		for i := range uint64(entries) {
			g.Acknowledge(ID{MS: i})
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entries, "ns/entry")
}
