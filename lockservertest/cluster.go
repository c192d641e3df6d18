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

// StartCluster starts a Redis Cluster of n shards, 1 to 64, which ends with the test. They have one clock,
// which stands still: see Advance. Faults that have not struck by the end fail the test.
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
	c := &Cluster{cluster: of, t: t}
	for _, srv := range of.Shards() {
		c.Shards = append(c.Shards, watch(t, srv))
	}
	c.Shards[0].Freeze()
	return c
}

// Addrs are where clients connect, as host:port: the addresses of all shards.
func (c *Cluster) Addrs() (addrs []string) {
	for _, s := range c.Shards {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// Advance moves the clock of all shards forwards. Deadlines on the way have been carried out when it returns,
// those of all shards in the order of their times.
func (c *Cluster) Advance(d time.Duration) {
	c.t.Helper()
	c.Shards[0].Advance(d)
}

// CutOff makes a shard, counted from 0, answer no client, until end is called. It runs no command meanwhile.
// A command that waits there loses its connection instead of getting its answer. A connection that was not
// answered is never answered again, as if its route were lost.
func (c *Cluster) CutOff(shard int) (end func()) { return c.Shards[shard].Fault(Fault{Kind: Silence}) }

// Slow makes all replies of a shard, counted from 0, come later by d, until end is called. The time is that
// of the cluster: see Advance.
func (c *Cluster) Slow(shard int, d time.Duration) (end func()) {
	return c.Shards[shard].Fault(Fault{Kind: Delay, DelayMS: d.Milliseconds()})
}

// Kill ends a shard, counted from 0, as a crash does: its connections break, its slots are not served, and
// the others go on.
func (c *Cluster) Kill(shard int) {
	c.t.Helper()
	if err := c.cluster.CloseShard(shard); err != nil {
		c.t.Fatalf("lockservertest: %v", err)
	}
}
