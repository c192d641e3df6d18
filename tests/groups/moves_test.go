//go:build raft && unix

package groups

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// move moves slots to a shard with a name, and waits until the move is over. It returns the state at the end.
// The lead may change meanwhile, so the states of all members count.
func (c *some) move(from *fleet.Group, to string, first, last int) (state string) {
	c.t.Helper()
	slots := fmt.Sprintf("%d-%d", first, last)
	eventually(c.t, "the move begins", func() bool {
		return from.AwaitLeader().Try("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", fmt.Sprint(first), fmt.Sprint(last), "NODE", to).String() == "+OK"
	})
	eventually(c.t, "the move is over", func() bool {
		leader := from.Leader()
		if leader == nil {
			return false
		}
		for _, move := range leader.Try("CLUSTER", "GETSLOTMIGRATIONS").Elems {
			if field(move, "slot_ranges") == slots {
				state = field(move, "state")
				return state == "success" || state == "failed" || state == "cancelled"
			}
		}
		return false
	})
	return state
}

// clientOf returns a connection to a member.
func clientOf(t *testing.T, p *fleet.Process) *testkit.Client {
	return testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", p.Addr()) })
}

// field returns a value of a reply that lists names and values.
func field(v resp.Value, name string) string {
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if v.Elems[i].Str == name {
			return v.Elems[i+1].Str
		}
	}
	return ""
}

// ask asks the leaders of all groups, until one of them serves the command. It returns that leader, too.
func (c *some) ask(words ...string) (got resp.Value, by *fleet.Process) {
	c.t.Helper()
	eventually(c.t, strings.Join(words, " ")+" is served", func() bool {
		for _, g := range c.groups {
			if by = g.Leader(); by == nil {
				continue
			}
			got = by.Try(words...)
			if word, _, _ := strings.Cut(got.Str, " "); got.Kind != resp.Error || word != "MOVED" && word != "CLUSTERDOWN" {
				return true
			}
		}
		return false
	})
	require.NotEqual(c.t, resp.Error, got.Kind, "%s: %s", words, got)
	return got, by
}

// waitFor sends a command that waits, and returns when it does.
func (c *some) waitFor(words ...string) *testkit.Client {
	_, by := c.ask("EXISTS", words[1])
	before := by.Field("blocked_clients")
	client := clientOf(c.t, by)
	client.Send(words...)
	eventually(c.t, "the client waits", func() bool { return by.Field("blocked_clients") != before })
	return client
}

// TestMoveOfSlots: slots move to another group and back, with values of all types, locks and sales. Clients
// that wait for a key there are redirected. Other keys stay, and no shard has a key of the other.
func TestMoveOfSlots(t *testing.T) {
	c := prepare(t, shard{"s1", "0-8191", 3}, shard{"s2", "8192-16383", 3}).start()
	one, two := c.groups[0], c.groups[1]
	c.awaitOwners(map[int]*fleet.Group{0: one, 8191: one, 8192: two, 16383: two})
	tag := func(slot int, name string) string { return name + "{" + key(t, slot) + "}" }
	var before []resp.Value
	reads := [][]string{}
	for _, slot := range []int{40, 60, 200} {
		c.ask("SET", tag(slot, "text"), "x", "PX", "3600000")
		c.ask("HSET", tag(slot, "hash"), "a", "1", "b", "2")
		c.ask("SADD", tag(slot, "set"), "1", "2", "x")
		c.ask("ZADD", tag(slot, "zset"), "1", "a", "2.5", "b")
		c.ask("RPUSH", tag(slot, "list"), "a", "b", strings.Repeat("c", 200_000))
		c.ask("XADD", tag(slot, "stream"), "1-1", "a", "b")
		c.ask("XGROUP", "CREATE", tag(slot, "stream"), "g", "0")
		c.ask("XREADGROUP", "GROUP", "g", "me", "STREAMS", tag(slot, "stream"), ">")
		c.ask("LOCK", tag(slot, "lock"), "me", "PX", "3600000")
		c.ask("SECKILL.CREATE", tag(slot, "shoe"), "STOCK", "10", "LIMIT", "2", "STREAM", tag(slot, "orders"))
		c.ask("SECKILL", tag(slot, "shoe"), "ann", "o1")
		reads = append(reads, []string{"GET", tag(slot, "text")}, []string{"PEXPIRETIME", tag(slot, "text")}, []string{"HGETALL", tag(slot, "hash")},
			[]string{"SMEMBERS", tag(slot, "set")}, []string{"ZRANGE", tag(slot, "zset"), "0", "-1", "WITHSCORES"}, []string{"LRANGE", tag(slot, "list"), "0", "-1"},
			[]string{"XINFO", "STREAM", tag(slot, "stream")}, []string{"XPENDING", tag(slot, "stream"), "g"}, []string{"SECKILL.INFO", tag(slot, "shoe")})
	}
	for _, words := range reads {
		v, _ := c.ask(words...)
		before = append(before, v)
	}
	held, _ := c.ask("LOCK", tag(60, "lock"), "me", "PX", "3600000")
	count := func(g *fleet.Group) int64 { return g.AwaitLeader().Try("DBSIZE").Int }
	sizes := count(one)
	waiter := c.waitFor("LOCK", tag(60, "lock"), "you", "WAIT", "600000")
	listener := c.waitFor("BLPOP", tag(200, "none"), "0")

	require.Equal(t, "success", c.move(one, "s2", 50, 300))
	require.Contains(t, waiter.Receive().Str, "MOVED 60 ")
	require.Contains(t, listener.Receive().Str, "MOVED 200 ")
	c.awaitOwners(map[int]*fleet.Group{0: one, 49: one, 50: two, 300: two, 301: one, 8191: one, 8192: two, 16383: two})
	check := func() {
		t.Helper()
		for i, words := range reads {
			v, _ := c.ask(words...)
			require.Equal(t, before[i].String(), v.String(), "%s", words)
		}
	}
	check()
	refused, _ := c.ask("LOCK", tag(60, "lock"), "you")
	require.Equal(t, resp.NullBulk, refused.Kind)
	again, _ := c.ask("LOCK", tag(60, "lock"), "me", "PX", "3600000")
	require.Equal(t, held.Int, again.Int)
	require.Equal(t, sizes, count(one)+count(two))
	require.Equal(t, sizes/3, count(one))
	c.ask("UNLOCK", tag(200, "lock"), "me")
	next, _ := c.ask("LOCK", tag(200, "lock"), "you")
	require.Greater(t, next.Int, held.Int, "tokens rise")

	require.Equal(t, "success", c.move(two, "s1", 50, 300))
	check()
	require.Zero(t, count(two))
	require.Equal(t, "success", c.move(two, "s1", 8192, 16383))
	c.awaitOwners(map[int]*fleet.Group{0: one, 8192: one, 16383: one})
}

// TestMoveEndsAfterKills: the leaders of both shards are killed while slots with many keys move. The move
// ends, or is cancelled, and no key is lost or doubled.
func TestMoveEndsAfterKills(t *testing.T) {
	c := prepare(t, shard{"s1", "0-8191", 3}, shard{"s2", "8192-16383", 3}).start()
	one, two := c.groups[0], c.groups[1]
	c.awaitOwners(map[int]*fleet.Group{0: one, 8192: two})
	leader := one.AwaitLeader()
	client := clientOf(t, leader)
	const keys = 40_000
	for i := 0; i < keys; i += 1000 {
		var batch [][]string
		for j := range 1000 {
			batch = append(batch, []string{"SET", fmt.Sprintf("%d{%s}", i+j, key(t, j%8)), fmt.Sprint(i + j)})
		}
		for _, v := range client.Pipeline(batch) {
			require.Equal(t, "+OK", v.String())
		}
	}
	from, to := one, two
	names := map[*fleet.Group]string{one: "s1", two: "s2"}
	for round := range 4 {
		leader := from.AwaitLeader()
		to.AwaitLeader()
		got := leader.Try("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", "0", "7", "NODE", names[to])
		require.Equal(t, "+OK", got.String())
		for range round * 8 { // any moment of the move
			leader.Try("CLUSTER", "GETSLOTMIGRATIONS")
		}
		victim := []*fleet.Group{from, to}[round%2].AwaitLeader()
		victim.Kill()
		victim.Launch()
		owner := (*fleet.Group)(nil)
		eventually(t, "the move is over", func() bool {
			at := from.Leader()
			if at == nil {
				return false
			}
			for _, move := range at.Try("CLUSTER", "GETSLOTMIGRATIONS").Elems {
				if s := field(move, "state"); s != "success" && s != "failed" && s != "cancelled" {
					return false
				}
			}
			owner = nil
			for _, g := range c.groups {
				if l := g.Leader(); l != nil && l.Try("GET", "0{"+key(t, 0)+"}").Str == "0" {
					owner = g
				}
			}
			return owner != nil
		})
		other := map[*fleet.Group]*fleet.Group{one: two, two: one}[owner]
		t.Logf("round %d: at %s", round, names[owner])
		eventually(t, "the owner has all keys, and the other shard has no key", func() bool {
			return owner.AwaitLeader().Try("DBSIZE").Int == keys && other.AwaitLeader().Try("DBSIZE").Int == 0
		})
		from, to = owner, other
	}
	at := from.AwaitLeader()
	for i := 0; i < keys; i += 997 {
		require.Equal(t, fmt.Sprint(i), at.Try("GET", fmt.Sprintf("%d{%s}", i, key(t, i%1000%8))).Str)
	}
}

// TestWaitsMoveWithTheirPlaces: owners wait with NOTIFY, for locks and permits, when slots move. At the other
// shard they stand in the same order, also by priority, and owners that ask again keep their places.
func TestWaitsMoveWithTheirPlaces(t *testing.T) {
	c := prepare(t, shard{"s1", "0-8191", 3}, shard{"s2", "8192-16383", 3}).start()
	one, two := c.groups[0], c.groups[1]
	c.awaitOwners(map[int]*fleet.Group{0: one, 8192: two})
	tag := func(name string) string { return name + "{" + key(t, 60) + "}" }
	lock, permits, both := tag("lock"), tag("permits"), tag("both")
	c.ask("LOCK", lock, "holder", "PX", "3600000")
	c.ask("SEM.ACQUIRE", permits, "holder", "LIMIT", "3", "PERMITS", "3", "PX", "3600000")
	waits := map[string][][]string{}
	for i, priority := range []int{0, 3, 0, 9, 3, 0, 1} {
		owner := fmt.Sprint("w", i)
		end := []string{"PX", "3600000", "WAIT", "3600000", "PRIORITY", fmt.Sprint(priority), "NOTIFY", "ONCE"}
		waits[lock] = append(waits[lock], append([]string{"LOCK", lock, owner}, end...))
		waits[permits] = append(waits[permits], append([]string{"SEM.ACQUIRE", permits, owner}, end...))
	}
	waits[lock] = append(waits[lock], []string{"MLOCK", "2", lock, both, "many", "PX", "3600000", "WAIT", "3600000", "NOTIFY", "ONCE"})
	session := clientOf(t, one.AwaitLeader())
	for _, all := range waits {
		for _, words := range all {
			require.Equal(t, "+QUEUED", session.Do(words...).String(), "%s", words)
		}
	}
	order := func(key string) (owners []string) {
		info := "LOCK.INFO"
		if key == permits {
			info = "SEM.INFO"
		}
		v, _ := c.ask(info, key)
		for i := 0; i+1 < len(v.Elems); i += 2 {
			if v.Elems[i].Str == "waiters" {
				for _, w := range v.Elems[i+1].Elems {
					owners = append(owners, field(w, "owner"))
				}
			}
		}
		return owners
	}
	before := map[string][]string{lock: order(lock), permits: order(permits)}
	require.Equal(t, []string{"w3", "w1", "w4", "w6", "w0", "w2", "w5"}, before[permits])
	require.Len(t, before[lock], 8)

	require.Equal(t, "success", c.move(one, "s2", 50, 70))
	c.awaitOwners(map[int]*fleet.Group{49: one, 60: two})
	require.Empty(t, one.AwaitLeader().Try("LOCK.WAITERS").Elems, "no owner waits at the former shard")
	session = clientOf(t, two.AwaitLeader())
	for key, all := range waits {
		require.Equal(t, before[key], order(key))
		for i := range all { // the last one first
			words := all[len(all)-1-i]
			require.Equal(t, "+QUEUED", session.Do(words...).String(), "%s", words)
		}
		require.Equal(t, before[key], order(key))
	}
	c.ask("UNLOCK", lock, "holder")
	c.ask("SEM.RELEASE", permits, "holder")
	for _, owner := range before[lock] {
		words := waits[lock][len(waits[lock])-1]
		for _, w := range waits[lock] {
			if w[2] == owner {
				words = w
			}
		}
		got, _ := c.ask(words...)
		if owner == "many" {
			require.Len(t, got.Elems, 2, "%s has its turn: %s", words, got)
			c.ask("MUNLOCK", "2", lock, both, owner)
			continue
		}
		require.Equal(t, resp.Integer, got.Kind, "%s has its turn: %s", words, got)
		c.ask("UNLOCK", lock, owner)
	}
	for _, i := range []int{3, 1, 4} {
		got, _ := c.ask(waits[permits][i]...)
		require.Equal(t, resp.Integer, got.Kind)
	}
	got, _ := c.ask(waits[permits][6]...)
	require.Equal(t, "+QUEUED", got.String())
}

// TestShardWithoutSlots: a group joins a cluster as a shard without slots, and gets some by a move.
func TestShardWithoutSlots(t *testing.T) {
	c := prepare(t, shard{"s1", "0-16383", 3}, shard{"s2", "none", 1}).start()
	one, two := c.groups[0], c.groups[1]
	c.awaitOwners(map[int]*fleet.Group{0: one, 16383: one})
	c.ask("SET", key(t, 5), "x")
	eventually(t, "both shards know each other", func() bool {
		shards := func(g *fleet.Group) int { return len(g.AwaitLeader().Try("CLUSTER", "SHARDS").Elems) }
		return shards(one) == 2 && shards(two) == 2
	})
	require.Contains(t, two.AwaitLeader().Try("CLUSTER", "INFO").Str, "cluster_state:ok")
	require.Contains(t, two.AwaitLeader().Try("GET", key(t, 5)).Str, "MOVED 5 ")
	require.Equal(t, "success", c.move(one, "s2", 0, 99))
	c.awaitOwners(map[int]*fleet.Group{0: two, 99: two, 100: one})
	got, by := c.ask("GET", key(t, 5))
	require.Equal(t, "x", got.Str)
	require.Equal(t, two.Leader(), by)
	require.Contains(t, two.AwaitLeader().Try("CLUSTER", "SETSLOT", "5", "STABLE").Str, "CLUSTER MIGRATESLOTS")
}
