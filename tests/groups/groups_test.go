//go:build raft && unix

package groups

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

func TestMain(m *testing.M) {
	testkit.ManyAtOnce()
	os.Exit(testkit.Main(m.Run))
}

// patience is how long something may take that happens by itself, on a busy machine.
const patience = 2 * time.Minute

// eventually waits until something is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for begun := time.Now(); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > patience {
			require.FailNow(t, "not so: "+what)
		}
	}
}

// shard describes a group of a cluster.
type shard struct {
	name, slots string
	members     int
}

// some is a cluster of groups.
type some struct {
	t      *testing.T
	shards []shard
	groups []*fleet.Group
}

// prepare makes the processes of a cluster. Each group knows the first member of the one before.
func prepare(t *testing.T, shards ...shard) *some {
	c := &some{t: t, shards: shards}
	program := testkit.Lockserver(t)
	for _, s := range shards {
		var programs []string
		for range s.members {
			programs = append(programs, program)
		}
		c.groups = append(c.groups, fleet.Prepare(t, "cluster-enabled yes\ninclude cluster\n", programs...))
	}
	for i := range shards {
		c.configure(i)
	}
	return c
}

// configure writes the directives of a group.
func (c *some) configure(i int) {
	s, before := c.shards[i], c.groups[(i+len(c.groups)-1)%len(c.groups)]
	text := fmt.Sprintf("cluster-name shop\ncluster-shard %s\ncluster-slots %q\ncluster-peers %q\n", s.name, s.slots, before.Members[0].Addr())
	for _, p := range c.groups[i].Members {
		require.NoError(c.t, os.WriteFile(filepath.Join(p.Dir(), "cluster"), []byte(text), 0o600))
	}
}

// start starts all processes, and waits until each group has a leader.
func (c *some) start() *some {
	for _, g := range c.groups {
		for _, p := range g.Members {
			p.Launch()
		}
	}
	for _, g := range c.groups {
		g.AwaitLeader()
	}
	return c
}

// all are the processes of all groups.
func (c *some) all() (all []*fleet.Process) {
	for _, g := range c.groups {
		all = append(all, g.Members...)
	}
	return all
}

// key returns a key of a slot.
func key(t *testing.T, slot int) string {
	k, ok := keys()[slot]
	require.True(t, ok)
	return k
}

// awaitOwners waits until each member sends clients of each of these slots to the leader of a group; nil:
// the slot is not served.
func (c *some) awaitOwners(owners map[int]*fleet.Group) {
	c.t.Helper()
	for slot, owner := range owners {
		for _, p := range c.all() {
			var got resp.Value
			eventually(c.t, fmt.Sprintf("%s knows the owner of slot %d", p.Addr(), slot), func() bool {
				got = p.Try("GET", key(c.t, slot))
				if owner == nil {
					return strings.HasPrefix(got.Str, "CLUSTERDOWN")
				}
				leader := owner.Leader()
				if p == leader {
					return got.Kind == resp.NullBulk || got.Kind == resp.Bulk
				}
				return got.Str == fmt.Sprintf("MOVED %d %s", slot, leader.Addr())
			})
		}
	}
}

// TestShards (D145): two groups share the slots. Members send clients to the owner, also followers, and
// READONLY does not change that for keys of other shards. What CLUSTER says is the same everywhere. After a
// start of all, the slots are those of the logs, whatever the configuration says.
func TestShards(t *testing.T) {
	c := prepare(t, shard{"s1", "0-8191", 3}, shard{"s2", "8192-16383", 1}).start()
	one, two := c.groups[0], c.groups[1]
	c.awaitOwners(map[int]*fleet.Group{0: one, 8191: one, 8192: two, 16383: two})

	leader := one.AwaitLeader()
	require.Equal(t, "+OK", leader.Try("SET", key(t, 0), "x").String())
	require.Equal(t, "+OK", two.Members[0].Try("SET", key(t, 16383), "y").String())
	require.Contains(t, leader.Try("MGET", key(t, 0), key(t, 1)).Str, "CROSSSLOT")
	token := two.Members[0].Try("LOCK", key(t, 9000), "me", "PX", "60000")
	require.Equal(t, resp.Integer, token.Kind, token.String())

	follower := one.Others(leader)[0]
	conn := testkit.Dial(t, dialTo(follower))
	require.Equal(t, "+OK", conn.Do("READONLY").String())
	require.Equal(t, fmt.Sprintf("MOVED 16383 %s", two.Members[0].Addr()), conn.Do("GET", key(t, 16383)).Str, "a replica of another shard has no such key")

	var seen []string
	for _, p := range c.all() {
		v := p.Try("CLUSTER", "SHARDS")
		seen = append(seen, shardsOf(t, v))
		require.Contains(t, p.Try("CLUSTER", "INFO").Str, "cluster_slots_assigned:16384\r\ncluster_slots_ok:16384\r\n")
		require.Contains(t, p.Try("CLUSTER", "INFO").Str, "cluster_known_nodes:4\r\ncluster_size:2\r\n")
	}
	require.Contains(t, seen[0], "0-8191 3 members")
	require.Contains(t, seen[0], "8192-16383 1 members")
	for _, other := range seen {
		require.ElementsMatch(t, strings.Split(seen[0], "\n"), strings.Split(other, "\n"))
	}
	nodes := leader.Try("CLUSTER", "NODES").Str
	require.Equal(t, 2, strings.Count(nodes, "master - "), nodes)
	require.Equal(t, 2, strings.Count(nodes, "slave "), nodes)

	for _, p := range c.all() {
		eventually(t, "the log before a snapshot is not read any more", func() bool {
			return p.TryWithin(patience, "RAFT", "SNAPSHOT").String() == "+OK"
		})
	}
	for _, p := range c.all() {
		_, err := p.Terminate()
		require.NoError(t, err)
	}
	c.shards[0].slots, c.shards[1].slots = "0-16383", "" // the logs know better
	c.configure(0)
	c.configure(1)
	c.start()
	c.awaitOwners(map[int]*fleet.Group{0: one, 8191: one, 8192: two, 16383: two})
	require.Equal(t, "x", one.AwaitLeader().Try("GET", key(t, 0)).Str)
	require.Equal(t, "y", two.Members[0].Try("GET", key(t, 16383)).Str)
	again := two.Members[0].Try("LOCK", key(t, 9001), "me", "PX", "60000")
	require.Greater(t, again.Int, token.Int)
}

// TestFailover: a leader is killed. The other shard answers for its own slots all the time, and sends clients
// to the new leader.
func TestFailover(t *testing.T) {
	c := prepare(t, shard{"s1", "0-8191", 3}, shard{"s2", "8192-16383", 1}).start()
	one, two := c.groups[0], c.groups[1]
	owners := map[int]*fleet.Group{5: one, 9000: two}
	c.awaitOwners(owners)
	other := testkit.Dial(t, dialTo(two.Members[0]))
	for i := range 2 {
		leader := one.AwaitLeader()
		require.Equal(t, "+OK", leader.Try("SET", key(t, 5), fmt.Sprint(i)).String())
		leader.Kill()
		successor := ""
		eventually(t, "the other shard knows the new leader", func() bool {
			require.Equal(t, "+OK", other.Do("SET", key(t, 9000), "x").String())
			got := other.Do("GET", key(t, 5)).Str
			require.Regexp(t, "^MOVED 5 ", got)
			successor = strings.TrimPrefix(got, "MOVED 5 ")
			return successor != leader.Addr()
		})
		next := one.Successor(leader)
		eventually(t, "the other shard sends clients to it", func() bool { return other.Do("GET", key(t, 5)).Str == "MOVED 5 "+next.Addr() })
		require.Equal(t, fmt.Sprint(i), next.Try("GET", key(t, 5)).Str)
		leader.Start()
	}
	for _, p := range one.Members {
		p.Kill()
	}
	eventually(t, "a shard without members has failed", func() bool {
		require.Equal(t, "+OK", other.Do("SET", key(t, 9000), "x").String())
		return strings.Contains(other.Do("CLUSTER", "INFO").Str, "cluster_slots_ok:8192\r\n")
	})
	for _, p := range one.Members {
		p.Launch()
	}
	one.AwaitLeader()
	c.awaitOwners(owners)
}

// TestLearnt: a member that knows one shard learns of the third one from it, and a start without the other
// shards begins with the map that was kept.
func TestLearnt(t *testing.T) {
	c := prepare(t, shard{"s1", "0-5000", 1}, shard{"s2", "5001-10000", 1}, shard{"s3", "10001-16383", 1}).start()
	c.awaitOwners(map[int]*fleet.Group{0: c.groups[0], 5001: c.groups[1], 16383: c.groups[2]})
	for _, p := range c.all() {
		_, err := p.Terminate()
		require.NoError(t, err)
	}
	alone := c.groups[0].Members[0]
	alone.Start()
	c.groups[0].AwaitLeader()
	require.Equal(t, "MOVED 5001 "+c.groups[1].Members[0].Addr(), alone.Try("GET", key(t, 5001)).Str)
	require.Equal(t, "MOVED 16383 "+c.groups[2].Members[0].Addr(), alone.Try("GET", key(t, 16383)).Str)
}

// TestTwice: two groups own a slot, by a mistake in their configuration. The one with the lower name serves
// it, the other one does not, and both say so to operators.
func TestTwice(t *testing.T) {
	c := prepare(t, shard{"s1", "0-9000", 1}, shard{"s2", "8192-16383", 1}).start()
	one, two := c.groups[0], c.groups[1]
	eventually(t, "the other shard does not serve it", func() bool {
		return two.Members[0].Try("GET", key(t, 9000)).Str == "CLUSTERDOWN Hash slot not served"
	})
	c.awaitOwners(map[int]*fleet.Group{8000: one, 9001: two})
	require.Equal(t, "+OK", one.Members[0].Try("SET", key(t, 9000), "x").String())
	require.Equal(t, "CLUSTERDOWN Hash slot not served", two.Members[0].Try("GET", key(t, 9000)).Str)
	for _, p := range c.all() {
		eventually(t, "an alarm says so", func() bool {
			return strings.Contains(p.Try("RAFT", "INFO").String(), "the shards 's1' and 's2' both own the slots 8192-9000: 's1' serves them")
		})
	}
}

// TestRefused: a group serves no slots if its member has the name of another shard, and begins to own none
// that its keys are not in. A slot without an owner is not served.
func TestRefused(t *testing.T) {
	c := prepare(t, shard{"s1", "0-8191", 1})
	only := c.groups[0].Members[0]
	c.start()
	c.awaitOwners(map[int]*fleet.Group{0: c.groups[0], 8192: nil})
	require.Equal(t, "CLUSTERDOWN Hash slot not served", only.Try("SET", key(t, 8192), "x").Str)
	_, err := only.Terminate()
	require.NoError(t, err)
	c.shards[0].name = "s9"
	c.configure(0)
	only.Launch()
	eventually(t, "an alarm says that it serves nothing", func() bool {
		return strings.Contains(only.Try("RAFT", "INFO").String(), "by its log this group is the shard 's1' of the cluster 'shop'")
	})
	require.Equal(t, "leader", c.groups[0].AwaitLeader().Field("raft_role"))
	eventually(t, "it serves nothing", func() bool { return only.Try("GET", key(t, 0)).Str == "CLUSTERDOWN Hash slot not served" })

	whole := fleet.Form(t, "cluster-enabled yes\ninclude cluster*\n", testkit.Lockserver(t))
	p := whole.Members[0]
	require.Equal(t, "+OK", p.Try("SET", key(t, 9000), "x").String())
	_, err = p.Terminate()
	require.NoError(t, err)
	text := "cluster-name shop\ncluster-shard s1\ncluster-slots 0-8191\n"
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir(), "cluster.conf"), []byte(text), 0o600))
	p.Launch()
	eventually(t, "an alarm says why it owns nothing", func() bool {
		return strings.Contains(p.Try("RAFT", "INFO").String(), "it has keys of other slots, such as the slot 9000")
	})
	require.Equal(t, "CLUSTERDOWN Hash slot not served", p.Try("GET", key(t, 9000)).Str)
}

// TestLogin: members ask each other as a user. Without its password they learn nothing, and an alarm says so.
// Without its right to RAFT MOVE no slot moves, and the state of the move says so.
func TestLogin(t *testing.T) {
	c := prepare(t, shard{"s1", "0-8191", 1}, shard{"s2", "8192-16383", 1})
	login := func(password string) {
		for i := range c.shards {
			c.configure(i)
			for _, p := range c.groups[i].Members {
				file := filepath.Join(p.Dir(), "cluster")
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				rest := "user default on nopass ~* &* +@all -cluster|map\nuser peer on >secret +cluster|map\nmasteruser peer\nmasterauth " + password + "\n"
				require.NoError(t, os.WriteFile(file, append(text, rest...), 0o600))
			}
		}
	}
	login("wrong")
	c.start()
	for _, p := range c.all() {
		eventually(t, "an alarm says that the login is wrong", func() bool {
			return strings.Contains(p.Try("RAFT", "INFO").String(), "its answer does not count: WRONGPASS")
		})
	}
	for _, p := range c.all() { // not before: the other member still has to ask it
		_, err := p.Terminate()
		require.NoError(t, err)
	}
	login("secret")
	c.start()
	c.awaitOwners(map[int]*fleet.Group{0: c.groups[0], 16383: c.groups[1]})
	for _, p := range c.all() {
		require.NotContains(t, p.Try("RAFT", "INFO").String(), "does not count")
	}
	require.Equal(t, "failed", c.move(c.groups[0], "s2", 0, 9), "the user has no right to RAFT MOVE")
	require.Contains(t, c.groups[0].AwaitLeader().Try("CLUSTER", "GETSLOTMIGRATIONS").String(), "has not let the move begin: NOPERM")
}
