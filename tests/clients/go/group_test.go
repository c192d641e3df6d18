package clients

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// TestNativeGroup: go-redis and rueidis over the members of a raft group, as a cluster and by Sentinels.
func TestNativeGroup(t *testing.T) {
	for _, form := range []string{"cluster", "sentinel"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			f := startGroup(t, form, "lock-watchdog-timeout 20000")
			connect := f.byName
			if form == "cluster" {
				connect = f.byNode
			}
			failOver(f, startFailovers(t, goRedis(t, connect), byRueidis(t, f)), "kill", "plan")
		})
	}
}

// byNode is a client of a cluster. When a leader is gone it does not ask for the next one. It asks all nodes
// now and then, which would be once a minute.
func (f *fleet) byNode(connections int) redis.UniversalClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: f.Nodes, ReadTimeout: 3 * time.Second, PoolSize: connections, ClusterStateReloadInterval: time.Second,
	})
}

// byRueidis is a program on rueidis. It says where the key is: the first word behind the command.
func byRueidis(t *testing.T, f *fleet) library {
	const name = "rueidis"
	o := rueidis.ClientOption{InitAddress: f.Nodes, ConnWriteTimeout: 3 * time.Second}
	if len(f.Nodes) == 0 {
		o.InitAddress, o.Sentinel.MasterSet = f.Sentinels, f.Name
	}
	pool, err := rueidis.NewClient(o)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	attached, err := rueidis.NewClient(o)
	require.NoError(t, err)
	t.Cleanup(attached.Close)
	texts := func(words []any) (all []string) {
		for _, w := range words {
			all = append(all, fmt.Sprint(w))
		}
		return all
	}
	return library{name, func(ctx context.Context, words ...any) (any, error) {
		// What blocks has no time limit of its own: a leader that is gone without a word would never answer
		// it.
		ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
		defer cancel()
		all := texts(words)
		command := pool.B().Arbitrary(all[0]).Keys(all[1]).Args(all[2:]...)
		build := command.Build
		if all[0] == "LOCK" {
			build = command.Blocking // on a connection of its own, and for as long as it takes
		}
		reply, err := pool.Do(ctx, build()).ToAny()
		if rueidis.IsRedisNil(err) {
			return nil, nil
		}
		return reply, err
	}, func(ctx context.Context) error {
		return attached.Do(ctx, attached.B().Arbitrary("LOCK.ATTACH").Args(texts(ownersOf(name))...).Build()).Error()
	}}
}
