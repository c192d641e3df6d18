package client_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/resp"
	"lockserver/lockservertest"
	"lockserver/tests/testkit"
)

// elsewhere is a connection to a server that does not lead: it lives, and answers each command with these
// words.
func elsewhere(words string) net.Conn {
	ours, theirs := net.Pipe()
	go func() {
		defer func() { _ = ours.Close() }()
		in := bufio.NewReader(ours)
		for {
			asked, err := resp.ReadValue(in)
			if err != nil {
				return
			}
			reply := "-" + words
			switch strings.ToUpper(asked.Elems[0].Str) {
			case "PING":
				reply = "+PONG"
			case "HELLO":
				reply = "%0"
			case "CLIENT":
				reply = "+OK"
			}
			if _, err = ours.Write([]byte(reply + "\r\n")); err != nil {
				return
			}
		}
	}()
	return theirs
}

// sendOn has a server answer from now on that does not lead; "": the one that does.
func (n *network) sendOn(words string) {
	n.mu.Lock()
	n.by = func() net.Conn { return elsewhere(words) }
	if words == "" {
		n.by = nil
	}
	n.mu.Unlock()
	n.breakSome(1)
}

// TestSentOn: a server that lives and does not lead keeps no owner attached. While there is no other the lock
// is held, as long as its lease lasts, and then given up.
func TestSentOn(t *testing.T) {
	for _, words := range []string{
		"MOVED 1 192.0.2.1:1", "CLUSTERDOWN The cluster is down", "MASTERDOWN Link with MASTER is down",
		"READONLY You can't write against a read only replica.", "LOADING the dataset is in memory soon",
	} {
		word, _, _ := strings.Cut(words, " ")
		t.Run(word, func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
				held, err := c.Lock(ctx, "held")
				require.NoError(t, err)
				n.sendOn(words)
				_, err = c.Lock(ctx, "other", client.Wait(time.Second))
				require.Error(t, err)
				time.Sleep(lease / 4)
				n.sendOn("")
				time.Sleep(2 * lease)
				require.NoError(t, held.Context().Err())
				require.Equal(t, int64(1), op.Do("EXISTS", "held").Int, "the one that leads renews it")
				for range 2 * 64 { // 64 is how many owners a client tells the server of before it needs them
					other, err := c.Lock(ctx, "other")
					require.NoError(t, err)
					require.NoError(t, other.Unlock(ctx))
				}
				n.sendOn(words)
				isLoss(t, ends(t, held), "held", held.Token(), "unreachable")
				require.Equal(t, int64(1), op.Do("EXISTS", "held").Int, "somebody else may have it")
			})
		})
	}
}

// TestNewCluster: the leader of what looks like a cluster changes; a lock is kept, and who waits for it gets
// it.
func TestNewCluster(t *testing.T) {
	t.Parallel()
	srv := lockservertest.RunCluster(t)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{srv.Addr}, ClusterStateReloadInterval: time.Second})
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := client.NewCluster(rdb)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	held, err := c.Lock(ctx, "door")
	require.NoError(t, err)
	next := make(chan *client.Lock, 1)
	go func() {
		l, err := c.Lock(ctx, "door", client.Wait(time.Hour))
		if err != nil {
			t.Error(err)
		}
		next <- l
	}()
	for range 3 {
		srv.Failover()
		require.Eventually(t, func() bool {
			reply, err := held.Guard(ctx, "SET", "n", 1)
			return err == nil && reply == "OK"
		}, 2*time.Minute, 10*time.Millisecond)
		require.Eventually(t, func() bool { return strings.Contains(srv.Do("INFO", "locks"), "lock_waiters_notify:1") },
			2*time.Minute, 10*time.Millisecond, "it waits again")
		require.NoError(t, held.Context().Err())
	}
	require.NoError(t, held.Unlock(ctx))
	l := <-next
	require.NotNil(t, l)
	require.Greater(t, l.Token(), held.Token())
	require.NoError(t, l.Unlock(ctx))
}

// TestManyWaitOverFailovers: a hundred goroutines share one lock while the leader changes. Each gets it, and
// no two have it at a time.
func TestManyWaitOverFailovers(t *testing.T) {
	t.Parallel()
	const goroutines = 100
	srv := lockservertest.RunCluster(t)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{srv.Addr}, ClusterStateReloadInterval: time.Second})
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := client.NewCluster(rdb, client.Timeout(time.Minute))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	first, err := c.Lock(ctx, "door")
	require.NoError(t, err)
	var inside atomic.Int32
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			l, err := c.Lock(ctx, "door")
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) != 1 {
				t.Error("the lock is held twice")
			}
			inside.Add(-1)
			if err := l.Unlock(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	allWait := func() bool {
		return strings.Contains(srv.Do("INFO", "locks"), fmt.Sprintf("lock_waiters_notify:%d\r\n", goroutines))
	}
	require.Eventually(t, allWait, 30*time.Second, 10*time.Millisecond)
	srv.Failover()
	require.Eventually(t, allWait, 30*time.Second, 10*time.Millisecond, "they wait again")
	require.NoError(t, first.Unlock(ctx))
	srv.Failover() // while the lock goes from one to the next
	group.Wait()
	require.Equal(t, "0", srv.Do("EXISTS", "door"))
}
