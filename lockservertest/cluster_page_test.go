package lockservertest_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/lockservertest"
)

// The tests of this file are the code of docs/TESTING.md, "A cluster in a test": see TestClusterPage.

// clusterClient returns a client that gives up when its context ends, as a program that sets a deadline does.
func clusterClient(t *testing.T, c *lockservertest.Cluster) *redis.ClusterClient {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestClusterTime(t *testing.T) {
	ctx := t.Context()
	c := lockservertest.StartCluster(t, 3)
	client := clusterClient(t, c)

	for _, key := range []string{"a", "b", "c"} { // on three shards
		require.NoError(t, client.Do(ctx, "LOCK", key, "alice", "PX", 30000).Err())
	}
	c.Advance(30 * time.Second) // all leases are over
	require.Zero(t, client.Exists(ctx, "a").Val()+client.Exists(ctx, "b").Val()+client.Exists(ctx, "c").Val())
}

func TestClusterMoved(t *testing.T) {
	ctx := t.Context()
	c := lockservertest.StartCluster(t, 3)

	plain := redis.NewClient(&redis.Options{Addr: c.Shards[0].Addr}) // a client that is not for clusters
	defer plain.Close()
	require.EqualError(t, plain.Get(ctx, "a").Err(), "MOVED 15495 "+c.Shards[2].Addr)
	require.ErrorContains(t, plain.MGet(ctx, "a", "b").Err(), "CROSSSLOT")
	require.Contains(t, c.Shards[0].Do("INFO", "errorstats"), "errorstat_MOVED:count=1")

	client := clusterClient(t, c)
	require.NoError(t, client.Set(ctx, "a", "1", 0).Err())
	require.NotContains(t, c.Shards[1].Do("INFO", "errorstats"), "MOVED") // it knew where to go
}

func TestClusterKilled(t *testing.T) {
	ctx := t.Context()
	c := lockservertest.StartCluster(t, 3)
	client := clusterClient(t, c)

	c.Kill(2)
	require.Error(t, client.Set(ctx, "a", "1", 0).Err())   // no shard serves its slot
	require.NoError(t, client.Set(ctx, "b", "1", 0).Err()) // the others go on
	require.Contains(t, c.Shards[0].Do("CLUSTER", "NODES"), "master,fail")
}

func TestClusterCutOff(t *testing.T) {
	ctx := t.Context()
	c := lockservertest.StartCluster(t, 3)
	client := clusterClient(t, c)
	require.NoError(t, client.Set(ctx, "a", "1", 0).Err())

	end := c.CutOff(2)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	require.Error(t, client.Set(short, "a", "2", 0).Err()) // no answer, and the connection stays open
	require.NoError(t, client.Set(ctx, "b", "1", 0).Err())
	end()
	require.Equal(t, "1", client.Get(ctx, "a").Val()) // it was not carried out
}

func TestClusterSlow(t *testing.T) {
	ctx := t.Context()
	c := lockservertest.StartCluster(t, 3)
	client := clusterClient(t, c)
	require.NoError(t, client.Set(ctx, "a", "1", 0).Err())

	end := c.Slow(2, 2*time.Second)
	answer := make(chan string)
	go func() { answer <- client.Get(ctx, "a").Val() }()
	for got := ""; got == ""; c.Advance(time.Second) {
		select {
		case got = <-answer:
			require.Equal(t, "1", got)
		default: // the reply is still under way
		}
	}
	end()
}

// TestClusterPage: each block of Go code in that section of the page is in this file.
func TestClusterPage(t *testing.T) {
	plain := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	page, err := os.ReadFile("../docs/TESTING.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## A cluster in a test\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	here, err := os.ReadFile("cluster_page_test.go")
	require.NoError(t, err)
	blocks := strings.Split(section, "```go\n")[1:]
	require.Len(t, blocks, 5)
	for _, block := range blocks {
		code, _, ended := strings.Cut(block, "```")
		require.True(t, ended)
		require.Contains(t, plain(string(here)), plain(code))
	}
}
