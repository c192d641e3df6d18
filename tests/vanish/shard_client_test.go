//go:build netns

package vanish

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	lockclient "lockserver/client"
)

// TestClientOfACutShard (D145): the machine that leads one shard of three is cut off from all, and is back
// later. The client package for Go takes locks of that shard again, with rising tokens and one holder at a
// time. It keeps the locks of the other shards.
func TestClientOfACutShard(t *testing.T) {
	t.Parallel()
	m := newMachines(t, 0)
	m.spread()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{m.members[0][0].client, m.members[1][1].client, m.members[2][2].client}, ClusterStateReloadInterval: time.Second,
		Dialer: func(_ context.Context, network, address string) (nc net.Conn, err error) {
			bad := m.hosts[outside].enter(func() { nc, err = net.DialTimeout(network, address, callWithin) })
			if bad != nil {
				return nil, bad
			}
			return nc, err
		},
	})
	t.Cleanup(func() { _ = rdb.Close() })
	locks, err := lockclient.NewCluster(rdb, lockclient.Timeout(time.Minute))
	require.NoError(t, err)
	t.Cleanup(locks.Close)

	const shard = 0
	ctx := t.Context()
	var kept []*lockclient.Lock
	for other := range slotsOf {
		if other != shard {
			l, err := locks.Lock(ctx, keyOf(other, 0))
			require.NoError(t, err)
			kept = append(kept, l)
		}
	}
	key := keyOf(shard, 0)
	var mu sync.Mutex
	inside, taken, last := 0, 0, int64(0)
	stop := make(chan struct{})
	var all sync.WaitGroup
	end := sync.OnceFunc(func() { close(stop); all.Wait() })
	t.Cleanup(end)
	for range 3 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				l, err := locks.Lock(ctx, key, lockclient.Wait(time.Second))
				if err != nil {
					continue // the shard has no leader
				}
				mu.Lock()
				inside++
				if inside > 1 || l.Token() <= last {
					t.Errorf("%d holders, with the token %d after %d", inside, l.Token(), last)
				}
				last = l.Token()
				taken++
				mu.Unlock()
				runtime.Gosched() // another one may come in
				mu.Lock()
				inside--
				mu.Unlock()
				_ = l.Unlock(ctx) // without a reply the lease ends
			}
		})
	}
	served := func(what string) {
		t.Helper()
		mu.Lock()
		before := taken
		mu.Unlock()
		m.eventually(what, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return taken > before+20
		})
	}
	served("at first")
	for range 2 {
		m.spread()
		leader, _ := m.leader(shard, 0, 1, 2)
		m.isolate(leader, true)
		m.eventually("another machine leads", func() bool {
			is, _ := m.leader(shard, (leader+1)%members, (leader+2)%members)
			return is >= 0
		})
		served("without the machine")
		m.mend()
		served("with the machine again")
		for _, l := range kept {
			require.NoError(t, l.Context().Err())
		}
	}
	end()
	for _, l := range kept {
		require.NoError(t, l.Unlock(ctx))
	}
}
