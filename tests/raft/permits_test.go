//go:build raft

package raft

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/server/raft/engine"
	"lockserver/tests/testkit"
)

// TestPermitsOverLeaders: clients acquire and release permits and a lock while one leader after the other is
// cut off. In half of their calls they wait with NOTIFY. A client without an answer asks again, and confirms
// its grants. There are never more permits in use than the semaphore has, and none is left at the end.
func TestPermitsOverLeaders(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, unhurried)
	g.leader()
	const clients, limit = 5, 2
	all := []*turn{{limit: limit, key: "permits"}, {limit: 1, key: "door"}}
	var stop atomic.Bool
	var group sync.WaitGroup
	for i := range clients {
		random := rand.New(rand.NewPCG(testkit.SeedOr(1), uint64(i)))
		group.Go(func() {
			c := &asker{group: g, conns: map[*member]*testkit.Client{}}
			defer c.close()
			for n := 0; !stop.Load(); n++ {
				all[random.IntN(2)].take(c, fmt.Sprintf("client-%d:%d", i, n), random, &stop)
			}
		})
	}
	for range 2 {
		before := all[0].had.Load() + all[1].had.Load()
		eventually(t, "clients go on", func() bool { return all[0].had.Load()+all[1].had.Load() > before+20 })
		leader := g.leader()
		g.isolate(leader, true)
		g.leader(g.others(leader)...)
		g.isolate(leader, false)
	}
	before := all[0].had.Load() + all[1].had.Load()
	eventually(t, "clients go on", func() bool { return all[0].had.Load()+all[1].had.Load() > before+20 })
	stop.Store(true)
	group.Wait()
	for _, of := range all {
		require.Zero(t, of.wrong.Load(), "%s: more holders than %d", of.key, of.limit)
		require.Positive(t, of.had.Load())
	}
	eventually(t, "nothing is left", func() bool { return g.do("EXISTS", "permits", "door").Int == 0 })
	t.Logf("permits were had %d times, the lock %d times", all[0].had.Load(), all[1].had.Load())
	g.same()
}

// turn is a semaphore, or a lock, that clients take turns with.
type turn struct {
	key                string
	limit              int64
	inside, had, wrong atomic.Int64
}

func (u *turn) acquire(owner string, more ...string) []string {
	if u.limit == 1 {
		return append([]string{"LOCK", u.key, owner, "PX", "600000", "ONCE"}, more...)
	}
	return append([]string{"SEM.ACQUIRE", u.key, owner, "LIMIT", strconv.FormatInt(u.limit, 10), "PX", "600000", "ONCE"}, more...)
}

func (u *turn) release(owner string) []string {
	if u.limit == 1 {
		return []string{"UNLOCK", u.key, owner}
	}
	return []string{"SEM.RELEASE", u.key, owner}
}

// take acquires and releases. Without an answer it repeats both, at whatever member leads.
func (u *turn) take(c *asker, owner string, random *rand.Rand, stop *atomic.Bool) {
	words := u.acquire(owner)
	if random.IntN(2) == 0 {
		words = u.acquire(owner, "WAIT", "2000", "NOTIFY")
	}
	has := false
	for end := time.Now().Add(10 * time.Second); !has && time.Now().Before(end) && !stop.Load(); {
		v := c.do(words...)
		has = v.Int > 0
		if !has { // no push is read: it asks again
			time.Sleep(time.Millisecond)
		}
	}
	if has {
		if u.inside.Add(1) > u.limit {
			u.wrong.Add(1)
		}
		u.had.Add(1)
		u.inside.Add(-1)
	}
	c.do("LOCK.CANCEL", u.key, owner)
	c.do(u.release(owner)...)
}

// asker is a client with a connection to each member.
type asker struct {
	group *group
	conns map[*member]*testkit.Client
}

// do asks one member after the other until one has run the command.
func (a *asker) do(words ...string) (v resp.Value) {
	for end := time.Now().Add(2 * patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, m := range a.group.all {
			if v, ok := a.ask(m, words); ok {
				return v
			}
		}
	}
	return v
}

// ask asks a member. It returns false if the member has not run the command, or has not answered.
func (a *asker) ask(m *member, words []string) (v resp.Value, ok bool) {
	c := a.conns[m]
	if c == nil {
		conn, err := m.srv.Dial()
		if err != nil {
			return v, false
		}
		c = testkit.NewClient(a.group.t, conn)
		c.Timeout = time.Second // a leader that is cut off does not answer
		a.conns[m] = c
	}
	v, err := c.Call(words...)
	if err != nil {
		c.Close()
		delete(a.conns, m)
	}
	return v, err == nil && !v.IsError()
}

func (a *asker) close() {
	for _, c := range a.conns {
		c.Close()
	}
}

// unhurried makes members wait so long for the leader that a busy machine causes no election.
func unhurried(eo *engine.Options, _ *server.Options) { eo.ElectionMS = 4000 }
