package client_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
)

// TestShardTwice: two addresses lead to one shard, as when the map is old and another server leads it. Both
// connections hear of each grant. None releases a lock that came by the other connection.
func TestShardTwice(t *testing.T) {
	overShards(t, func(t *testing.T, f *fleet) {
		f.says(f.addrs...)
		const alias = "192.0.2.9:1"
		whole := f.slots[1]
		first, second := whole, whole
		first.End = (whole.Start + whole.End) / 2
		second.Start, second.Nodes = first.End+1, []redis.ClusterNode{{Addr: alias}}
		f.slots = []redis.ClusterSlot{f.slots[0], first, second, f.slots[2]}
		f.at[alias] = f.ways[1]
		c, op := f.client(t), f.operator(t, 1)

		var keys []string // of both halves in turn
		for n := 0; len(keys) < 8; n++ {
			key := fmt.Sprint("k", n)
			if slot := keyslot.Of([]byte(key)); whole.Start <= slot && slot <= whole.End && (slot > first.End) == (len(keys)%2 == 1) {
				keys = append(keys, key)
			}
		}
		use := func(name string) {
			for _, key := range keys {
				l, err := c.Lock(ctx, fmt.Sprintf("{%s}%s", key, name))
				require.NoError(t, err)
				require.NoError(t, l.Unlock(ctx))
			}
		}
		use("before")
		require.Equal(t, 2, f.count(t, 1), "both addresses are in use")
		var waits []<-chan had
		for _, key := range keys {
			op.Do("LOCK", key, "another")
			waits = append(waits, lockLater(ctx, c, key))
		}
		synctest.Wait()
		for _, key := range keys {
			op.Do("UNLOCK", key, "another")
		}
		use("after") // it is behind all that both connections send because of the grants
		for i, later := range waits {
			l := <-later
			require.NoError(t, l.err)
			require.EqualValues(t, 1, op.Do("EXISTS", keys[i]).Int, keys[i])
			require.NoError(t, l.Context().Err())
			require.NoError(t, l.Unlock(ctx))
		}
	})
}
