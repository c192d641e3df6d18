package raft

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/tests/testkit"
)

// forge changes the log of a member that has ended, so that the member has other data from then on.
func (m *member) forge(from, to string) {
	require.Nil(m.group.t, m.srv)
	last, err := m.logs.LastIndex()
	require.NoError(m.group.t, err)
	for i := uint64(1); i <= last; i++ {
		var l hraft.Log
		if m.logs.GetLog(i, &l) == nil {
			l.Data = bytes.ReplaceAll(l.Data, []byte(from), []byte(to))
			require.NoError(m.group.t, m.logs.StoreLog(&l))
		}
	}
}

// checked is the reply of RAFT CHECK: the index, and for each member, by its id, the finding and the
// checksum.
type checked struct {
	index     int64
	data, sum map[string]string
}

// check makes the leader compare the members' data.
func (g *group) check() (c checked) {
	g.t.Helper()
	c.data, c.sum = map[string]string{}, map[string]string{}
	for _, e := range g.do("RAFT", "CHECK").Elems {
		c.index = max(c.index, e.Elems[3].Int)
		c.sum[e.Elems[1].Str], c.data[e.Elems[1].Str] = e.Elems[5].Str, e.Elems[7].Str
	}
	return c
}

// allSame repeats RAFT CHECK until it has compared all members, and requires equal data. RAFT CHECK leaves
// out a member that still digests its data for an earlier check.
func (g *group) allSame() (c checked) {
	g.t.Helper()
	eventually(g.t, "all were compared", func() bool {
		c = g.check()
		same := 0
		for id, found := range c.data {
			require.Contains(g.t, []string{"", "same"}, found, id)
			if found == "same" {
				same++
			}
		}
		return same == len(g.all)
	})
	return c
}

// found returns what a member knows about another member's data.
func (m *member) found(id string) string {
	for _, e := range m.ask("RAFT", "MEMBERS").Elems {
		if e.Elems[1].Str == id {
			return e.Elems[17].Str
		}
	}
	return ""
}

// busy makes clients write values of all types until the test stops them, or a client fails.
func (g *group) busy(r *rand.Rand) (end func()) {
	stop := make(chan struct{})
	var servers []*server.Server
	for _, m := range g.all {
		servers = append(servers, m.srv)
	}
	var clients sync.WaitGroup
	for id := range 3 {
		seed := r.Uint64()
		clients.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(id)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, srv := range servers {
					conn, err := srv.Dial()
					if err != nil {
						continue
					}
					c := testkit.NewClient(g.t, conn)
					c.Timeout = patience
					for range 200 {
						words := anything(r, fmt.Sprint("client", id))
						if v, err := c.Call(words...); err != nil || v.Kind == '-' && strings.HasPrefix(v.Str, "MOVED") {
							break
						}
					}
					c.Close()
				}
			}
		})
	}
	end = sync.OnceFunc(func() {
		close(stop)
		clients.Wait()
	})
	g.t.Cleanup(end) // before the members end
	return end
}

// anything returns a random command that writes.
func anything(r *rand.Rand, owner string) []string {
	n := fmt.Sprint(r.IntN(20))
	soon := fmt.Sprint(1 + r.IntN(50))
	all := []string{
		"SET s" + n + " v" + soon, "SET s" + n + " v PX " + soon, "APPEND s" + n + " more", "INCR n" + n, "DEL s" + n,
		"RPUSH l" + n + " a b c", "LPOP l" + n, "SADD m" + n + " " + soon + " x", "SREM m" + n + " x", "SPOP m" + n,
		"ZADD z" + n + " " + soon + " one -0 two", "ZREM z" + n + " one", "ZINCRBY z" + n + " 1.5 three", "HSET h" + n + " f " + soon + " g y",
		"HPEXPIRE h" + n + " " + soon + " FIELDS 1 f", "HDEL h" + n + " g", "PEXPIRE h" + n + " 20", "XADD x" + n + " * f v", "XTRIM x" + n + " MAXLEN 5",
		"XGROUP CREATE x" + n + " g 0 MKSTREAM", "XREADGROUP GROUP g " + owner + " COUNT 2 STREAMS x" + n + " >", "XAUTOCLAIM x" + n + " g " + owner + " 0 0",
		"XREADGROUP GROUP g " + owner + " COUNT 1 STREAMS x" + n + " 0", "XREADGROUP GROUP g " + owner + " NOACK STREAMS x" + n + " >",
		"XACK x" + n + " g 1-1", "XDEL x" + n + " 1-1", "XSETID x" + n + " 9999999999999-0", "XGROUP DELCONSUMER x" + n + " g " + owner,
		"LOCK k" + n + " " + owner + " PX " + soon, "LOCK k" + n + " " + owner, "UNLOCK k" + n + " " + owner, "LOCK k" + n + " " + owner + " PX 1000 WAIT 5",
		"LOCK r" + n + " " + owner + " SHARED PX " + soon, "UNLOCK r" + n + " " + owner, "BF.ADD b" + n + " " + soon, "PFADD p" + n + " " + soon,
		"RENAME s" + n + " s1", "COPY h" + n + " h1 REPLACE", "SETRANGE s" + n + " 3 x", "SETBIT t" + n + " 7 1", "GETEX s" + n + " PX " + soon,
		"SECKILL.CREATE sale" + n + " STOCK 10 HOLD 20", "SECKILL sale" + n + " " + owner + soon + " order" + soon,
	}
	return strings.Fields(all[r.IntN(len(all))])
}

// TestCheck: RAFT CHECK says that members have the same data while clients write, wait for locks and let keys
// expire. Another member leads each time.
func TestCheck(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testkit.Seed(t), 1))
	g := newGroup(t, 3, nil)
	g.same()
	end := g.busy(r)
	before := int64(0)
	for range wholeOr(12, 5) {
		c := g.allSame()
		require.Greater(t, c.index, before)
		before = c.index
		require.Equal(t, c.sum["a"], c.sum["b"])
		require.Equal(t, c.sum["a"], c.sum["c"])
		if r.IntN(3) == 0 {
			g.leader().ask("RAFT", "TRANSFER")
		}
	}
	end()
	eventually(t, "those that do not lead say so", func() bool { // another may come to lead in between
		return !slices.ContainsFunc(g.others(g.leader()), func(m *member) bool {
			return !strings.Contains(m.ask("RAFT", "CHECK").Str, "does not lead")
		})
	})
	for _, m := range g.all {
		eventually(t, "it knows", func() bool { return m.field("raft_check_data") == "same" })
		require.Equal(t, "0", m.field("raft_members_differ"))
		eventually(t, "it has no alarm", func() bool { return m.field("raft_alarms") == "0" }) // a slow machine raises some
	}
}

// TestOneMemberDiffers: RAFT CHECK finds a member with other data than the rest. That member says so and
// stops, also after a restart. The other members go on. With an empty disk the member is taken in again.
func TestOneMemberDiffers(t *testing.T) {
	t.Parallel()
	for _, leads := range []bool{true, false}[:wholeOr(2, 1)] {
		t.Run(fmt.Sprint("leads ", leads), func(t *testing.T) {
			t.Parallel()
			g := newGroup(t, 3, nil)
			require.Equal(t, "OK", g.do("SET", "x", "honest").Str)
			g.same()
			out := g.others(g.leader())[0]
			out.stop()
			out.forge("honest", "forged")
			out.start()
			eventually(t, "it is back", func() bool { return out.field("raft_applied_index") == g.leader().field("raft_applied_index") })
			eventually(t, "it leads, or follows", func() bool {
				if g.leader() != out && leads {
					g.leader().ask("RAFT", "TRANSFER", out.peer.ID)
				}
				return (g.leader() == out) == leads
			})
			g.leader().ask("RAFT", "CHECK") // which has no answer if it is the leader that stops
			eventually(t, "it has stopped", func() bool { return out.field("raft_role") == "stopped" })
			require.Contains(t, out.ask("GET", "x").Str, "has stopped")
			require.ErrorContains(t, out.srv.Ready(), "other data than a majority")
			require.Contains(t, out.field("raft_alarm"), "other data than a majority")
			for _, m := range g.others(out) {
				eventually(t, "the others know", func() bool { return m.found(out.peer.ID) == "differs" })
				require.Contains(t, m.field("raft_alarm"), "'"+out.peer.ID+"' has other data than the group")
				require.Equal(t, "1", m.field("raft_members_differ"))
			}
			require.Equal(t, "honest", g.do("GET", "x").Str)
			out.stop()
			out.start()
			require.Equal(t, "stopped", out.field("raft_role"))
			for _, m := range g.others(out) { // they know over a start, too
				m.stop()
				m.start()
				eventually(t, "it knows still", func() bool {
					return strings.Contains(m.field("raft_alarm"), "'"+out.peer.ID+"' has other data than the group")
				})
				require.Equal(t, "differs", m.found(out.peer.ID))
				require.Equal(t, "1", m.field("raft_members_differ"))
				require.Equal(t, "OK", g.do("SET", "y", "1").Str)
				eventually(t, "it is back", func() bool { return m.field("raft_applied_index") == g.leader().field("raft_applied_index") })
			}

			out.stop()
			out.wipe()
			out.start()
			g.same()
			g.allVote()
			g.allSame()
			for _, m := range g.all {
				require.Equal(t, "0", m.field("raft_members_differ"))
			}
			require.Equal(t, "honest", g.do("GET", "x").Str)
		})
	}
}

// withoutSums is the engine of a member that is too busy to digest its data.
type withoutSums struct {
	raft.Engine
	busy *atomic.Bool
}

func (e *withoutSums) Checked(is raft.Checksum) {
	if !e.busy.Load() {
		e.Engine.Checked(is)
	}
}

// TestNoMajorityIsRight: if no majority has the same data, no member serves, also after a restart, until an
// operator has decided. Then the leader gives its data to members with empty disks. A member that is too busy
// for the check learns later that its data is not that of the group.
func TestNoMajorityIsRight(t *testing.T) {
	t.Parallel()
	for _, members := range []int{2, 3}[:wholeOr(2, 1)] {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			t.Parallel()
			g := prepare(t, members, nil)
			var busy atomic.Bool
			g.wrap = func(id string, e raft.Engine) raft.Engine {
				if id == "c" {
					return &withoutSums{e, &busy}
				}
				return e
			}
			for _, m := range g.all {
				m.start()
			}
			require.Equal(t, "OK", g.do("SET", "x", "honest").Str)
			g.same()
			for _, m := range g.all {
				m.stop()
			}
			for i, m := range g.all[1:] {
				m.forge("honest", fmt.Sprint("forge", i))
			}
			for _, m := range g.all {
				m.start()
			}
			g.leader().ask("RAFT", "CHECK")
			refuses := func() bool {
				for _, m := range g.all {
					if !strings.Contains(m.ask("GET", "x").Str, "none of it is that of a majority") || m.srv.Ready() == nil {
						return false
					}
				}
				return true
			}
			eventually(t, "no member serves", refuses)
			for _, m := range g.all {
				require.Contains(t, m.field("raft_alarm"), "no member serves")
				eventually(t, "it knows of all", func() bool { return m.field("raft_members_differ") == fmt.Sprint(members) })
			}
			for _, m := range g.all {
				m.stop()
			}
			for _, m := range g.all {
				m.start()
			}
			eventually(t, "no member serves", refuses)
			right := g.all[0]
			eventually(t, "the right one leads the log", func() bool {
				for _, m := range g.all {
					if m.field("raft_state") == "leader" {
						m.askWithin(500*time.Millisecond, "RAFT", "TRANSFER", right.peer.ID) // it waits until the other serves
					}
				}
				return right.field("raft_state") == "leader"
			})
			if members == 2 {
				require.Equal(t, "OK", right.ask("RAFT", "REMOVE", "b").Str)
			} else {
				busy.Store(true)
				g.all[1].stop()
				g.all[1].wipe()
				g.all[1].start()
			}
			eventually(t, "it serves", func() bool { return right.ask("GET", "x").Str == "honest" })
			require.NoError(t, right.srv.Ready())
			if members == 3 {
				busy.Store(false)
				eventually(t, "the third has stopped", func() bool { return g.all[2].field("raft_role") == "stopped" })
				g.all[2].stop()
				g.all[2].wipe()
				g.all[2].start()
				g.allVote()
				g.same()
			}
			require.Equal(t, "OK", g.do("SET", "x", "new").Str)
		})
	}
}
