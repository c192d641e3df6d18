package lockservertest

import (
	"testing"
	"time"

	"lockserver/server"
)

// Cluster is a Redis Cluster in test mode. Each shard has data, faults and a port of its own.
type Cluster struct {
	// Shards are in the order of their slots.
	Shards []*Server

	cluster *server.Cluster
	t       testing.TB
}

// StartCluster starts a Redis Cluster of n shards, 1 to 64, which ends with the test. Their clocks stand
// still, so that all of them show the same time: see Advance. Faults that have not struck by the end fail the
// test.
func StartCluster(t testing.TB, n int) *Cluster {
	t.Helper()
	of, err := server.NewCluster(server.Options{Directives: map[string]string{"test-mode": "yes"}}, n)
	if err != nil {
		t.Fatalf("lockservertest: %v", err)
	}
	if err := of.Start(); err != nil {
		t.Fatalf("lockservertest: %v", err)
	}
	t.Cleanup(func() { _ = of.Close() })
	c, at := &Cluster{cluster: of, t: t}, time.Now()
	for _, srv := range of.Shards() {
		shard := watch(t, srv)
		shard.FreezeAt(at)
		c.Shards = append(c.Shards, shard)
	}
	return c
}

// Addrs are where clients connect, as host:port: the addresses of all shards.
func (c *Cluster) Addrs() (addrs []string) {
	for _, s := range c.Shards {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// Advance moves the clocks of all shards forwards. Deadlines on the way have been carried out when it
// returns.
func (c *Cluster) Advance(d time.Duration) {
	c.t.Helper()
	for _, s := range c.Shards {
		s.Advance(d)
	}
}

// Kill ends a shard, counted from 0, as a crash does: its connections break, its slots are not served, and
// the others go on.
func (c *Cluster) Kill(shard int) {
	c.t.Helper()
	if err := c.cluster.CloseShard(shard); err != nil {
		c.t.Fatalf("lockservertest: %v", err)
	}
}
