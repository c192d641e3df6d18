//go:build raft && unix

package groups

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/resp"
	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// mostRedirections is how often one request is redirected at most, also after a failover.
const mostRedirections = 2

// user is a client of the cluster that adds one to the number of a key again and again. It goes to the member
// to which it was redirected last.
type user struct {
	of     *some
	key    string
	within time.Duration // how long it waits for a reply
	at     string
	conn   *testkit.Client
	turn   int

	mu sync.Mutex
	tally
}

// tally counts the replies that a user has seen.
type tally struct {
	last       int64 // the last number that it was given
	unknown    int64 // requests without a reply since then
	failed     int   // requests without a number
	redirected int   // requests that were redirected
	most       int   // redirections of one request
	fault      string
}

// live sends requests until the context ends.
func (u *user) live(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
		u.ask()
	}
	u.leave()
}

// ask sends one request, and follows redirections. Without a number it asks another member the next time.
func (u *user) ask() {
	sent := 0
	v, err := u.send()
	for ; err == nil && strings.HasPrefix(v.Str, "MOVED ") && sent < 10; sent++ {
		u.leave()
		u.at = strings.Fields(v.Str)[2]
		v, err = u.send()
	}
	u.mu.Lock()
	u.most = max(u.most, sent)
	u.redirected += min(sent, 1)
	if err != nil {
		u.unknown++
	}
	if err == nil && v.Kind == resp.Integer {
		if v.Int <= u.last || v.Int > u.last+1+u.unknown {
			u.fault = fmt.Sprintf("%s was %d, and is %d after %d requests without a reply", u.key, u.last, v.Int, u.unknown)
		}
		u.last, u.unknown = v.Int, 0
		u.mu.Unlock()
		return
	}
	u.failed++
	u.mu.Unlock()
	u.leave()
	all := u.of.all()
	u.turn++
	u.at = all[u.turn%len(all)].Addr()
}

func (u *user) leave() {
	if u.conn != nil {
		u.conn.Close()
		u.conn = nil
	}
}

// send sends a request to the member at u.at.
func (u *user) send() (v resp.Value, err error) {
	if u.conn == nil {
		c, err := net.DialTimeout("tcp", u.at, u.within)
		if err != nil {
			return v, err
		}
		u.conn = testkit.Connect(c)
		u.conn.Timeout = u.within
	}
	return u.conn.Call("INCR", u.key)
}

// seen returns the tally.
func (u *user) seen() tally {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tally
}

// served waits until the user has been given numbers from now on.
func (u *user) served(t *testing.T) {
	t.Helper()
	before := u.seen().last
	eventually(t, u.key+" is counted again", func() bool { return u.seen().last > before+20 })
}

// TestClientsThroughFailovers: of three groups of three, the leader of one is killed, paused, and hands its
// lead on. Its clients lose no acknowledged write, and are redirected twice at most. Clients of the other
// shards see nothing, and the package for Go keeps their locks.
func TestClientsThroughFailovers(t *testing.T) {
	c := prepare(t, shard{"s1", "0-5460", 3}, shard{"s2", "5461-10922", 3}, shard{"s3", "10923-16383", 3}).start()
	slots := []int{1, 6000, 12000}
	owners := map[int]*fleet.Group{}
	for i, slot := range slots {
		owners[slot] = c.groups[i]
	}
	c.awaitOwners(owners)

	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{c.groups[1].Members[0].Addr()}, ClusterStateReloadInterval: time.Second})
	t.Cleanup(func() { _ = rdb.Close() })
	locks, err := client.NewCluster(rdb, client.Timeout(patience))
	require.NoError(t, err)
	t.Cleanup(locks.Close)
	ctx := t.Context()
	lockKey := func(slot int) string { return fmt.Sprintf("{%s}:lock", key(t, slot)) }
	var kept []*client.Lock
	for _, slot := range slots[1:] {
		l, err := locks.Lock(ctx, lockKey(slot))
		require.NoError(t, err)
		kept = append(kept, l)
	}

	running, end := context.WithCancel(ctx)
	var busy sync.WaitGroup
	t.Cleanup(busy.Wait)
	t.Cleanup(end)
	var users []*user
	for i, slot := range slots {
		u := &user{of: c, key: key(t, slot), within: patience, at: c.groups[i].AwaitLeader().Addr()}
		if i == 0 {
			u.within = time.Second // a leader that is paused does not answer
		}
		users = append(users, u)
		busy.Go(func() { u.live(running) })
	}
	one := c.groups[0]
	terms := func() (all []string) {
		for _, g := range c.groups[1:] {
			all = append(all, g.AwaitLeader().Field("raft_term"))
		}
		return all
	}
	calm, token := terms(), int64(0)
	for _, fault := range []struct {
		name   string
		happen func(leader *fleet.Process)
		mend   func(leader *fleet.Process)
	}{
		{"killed", (*fleet.Process).Kill, (*fleet.Process).Start},
		{"paused", (*fleet.Process).Pause, (*fleet.Process).GoOn},
		{"transferred", func(leader *fleet.Process) {
			require.Equal(t, "+OK", leader.TryWithin(patience, "RAFT", "TRANSFER").String())
		}, func(*fleet.Process) {}},
	} {
		leader := one.AwaitLeader()
		users[0].served(t)
		fault.happen(leader)
		one.Successor(leader)
		for _, u := range users {
			u.served(t)
		}
		fault.mend(leader)
		var held *client.Lock
		eventually(t, "a lock of the shard is given", func() (ok bool) {
			held, err = locks.Lock(ctx, lockKey(slots[0]))
			return err == nil
		})
		require.Greater(t, held.Token(), token, fault.name)
		token = held.Token()
		eventually(t, "it is released", func() bool { return held.Unlock(ctx) == nil || held.Context().Err() != nil })
		for _, l := range kept {
			require.NoError(t, l.Context().Err(), fault.name)
		}
		for _, u := range users {
			require.Empty(t, u.seen().fault, fault.name)
			require.LessOrEqual(t, u.seen().most, mostRedirections, "%s: %s", fault.name, u.key)
		}
	}
	end()
	busy.Wait()
	require.Positive(t, users[0].seen().failed+users[0].seen().redirected, "its clients saw the failovers")
	if fmt.Sprint(calm) == fmt.Sprint(terms()) { // no other shard has had an election, as on a busy machine
		for _, u := range users[1:] {
			require.Zero(t, u.seen().failed, u.key)
			require.Zero(t, u.seen().redirected, u.key)
		}
	}
	for _, l := range kept {
		require.NoError(t, l.Unlock(ctx))
	}
}
