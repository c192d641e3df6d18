//go:build raft && unix

package groups

// The tests of Valkey 9 about moves of slots are in its file tests/unit/cluster/cluster-migrateslots.tcl. The
// cases of this file ask for the same behaviour, in other words. A case with a difference says so.
//
// These tests of Valkey are left out:
//
//   - SETSLOT, ADDSLOTS, DELSLOTS and BUMPEPOCH beside a move, and a slot that another shard takes by force:
//     the log of a shard has its slots, and a move is the only way to change them.
//   - CLUSTER SYNCSLOTS, and the flags of its clients in CLIENT LIST: the shards send each other RAFT MOVE.
//   - cluster-slot-migration-log-max-len, repl-timeout, hz, rdb-key-save-delay, and the output buffer of
//     replicas: the directives do not exist, or have no effect on moves.
//   - Databases other than 0: a cluster has one database.
//   - Two moves away from one shard: a second one is refused (case "already migrating").
//   - Resynchronization of replicas, DEBUG LOADAOF and REPLICATE NO ONE: followers read the log. Failovers
//     and restarts are in TestValkeyFailovers.
//   - A source or a target that falls silent while data is sent: the move waits for it, and an alarm says so.
//   - A move that is cancelled, or has no answer, while clients are held: it needs a DEBUG command. The
//     simulation of tests/slotmoves and the test tests/moves have it.
//
// A test of Valkey keeps a move open by a DEBUG command. Here a stopped process does: a move cannot end while
// the source, or the target, stands still.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/fleet"
)

// board is a cluster in which slots move. nodes has the ID of a member of each group.
type board struct {
	*some
	nodes map[*fleet.Group]string
}

// newBoard starts a cluster. Its members log in to each other, and other users may not send their messages.
func newBoard(t *testing.T, shards ...shard) *board {
	c := prepare(t, shards...)
	const lines = "user default on nopass ~* &* +@all -cluster|map -raft|move\nuser peer on >secret +cluster|map +raft|move\nmasteruser peer\nmasterauth secret\n"
	for _, p := range c.all() {
		file := filepath.Join(p.Dir(), "cluster")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append(text, lines...), 0o600))
	}
	b := &board{c.start(), map[*fleet.Group]string{}}
	for _, g := range b.groups {
		b.nodes[g] = g.Members[0].Try("CLUSTER", "MYID").Str
	}
	return b
}

// in returns the cluster for a part of the test.
func (b *board) in(t *testing.T) *board {
	c := *b.some
	c.t = t
	return &board{&c, b.nodes}
}

// empty deletes all keys. Processes that a failed case has stopped go on.
func (b *board) empty() {
	for _, p := range b.all() {
		p.GoOn()
	}
	for _, g := range b.groups {
		eventually(b.t, "all keys are deleted", func() bool { return g.Leader().Try("FLUSHALL").String() == "+OK" })
	}
}

// migrate sends CLUSTER MIGRATESLOTS to a shard.
func (b *board) migrate(from, to *fleet.Group, slots string) resp.Value {
	return from.Leader().TryWithin(patience, strings.Fields("CLUSTER MIGRATESLOTS SLOTSRANGE "+slots+" NODE "+b.nodes[to])...)
}

// cancel sends CLUSTER CANCELSLOTMIGRATIONS to a shard.
func cancel(from *fleet.Group) resp.Value {
	return from.Leader().TryWithin(patience, "CLUSTER", "CANCELSLOTMIGRATIONS")
}

// listed returns a move in the list of a member.
func listed(p *fleet.Process, name string) resp.Value {
	for _, m := range p.Try("CLUSTER", "GETSLOTMIGRATIONS").Elems {
		if field(m, "name") == name {
			return m
		}
	}
	return resp.Value{}
}

// newestAway returns the name of the newest move away from a shard. The list has open moves first.
func (b *board) newestAway(g *fleet.Group) (name string) {
	newest := 0
	eventually(b.t, "a move away is listed", func() bool {
		for _, m := range g.Leader().Try("CLUSTER", "GETSLOTMIGRATIONS").Elems {
			_, number, _ := strings.Cut(field(m, "name"), "/")
			if n, _ := strconv.Atoi(number); field(m, "operation") == "EXPORT" && n > newest {
				name, newest = field(m, "name"), n
			}
		}
		return newest > 0
	})
	return name
}

func isOver(state string) bool {
	return state == "success" || state == "failed" || state == "cancelled"
}

// ends waits until the leaders of some shards say that a move is over, in a state. It returns the state and
// the message of the first shard. An empty state means any.
func (b *board) ends(name, state string, by ...*fleet.Group) (got, message string) {
	b.t.Helper()
	for i := range by {
		g := by[len(by)-1-i]
		eventually(b.t, "the move "+name+" is over", func() bool {
			m := listed(g.Leader(), name)
			got, message = field(m, "state"), field(m, "message")
			return isOver(got)
		})
		if state != "" {
			require.Equal(b.t, state, got, "%s at %s: %s", name, b.nameOf(g), message)
		}
	}
	return got, message
}

// nameOf returns the name of a shard.
func (c *some) nameOf(g *fleet.Group) string { return c.shards[slices.Index(c.groups, g)].name }

// begin begins a move, and returns its name. If the lead changes, the command may be done without a reply.
func (b *board) begin(from, to *fleet.Group, slots string) (name string) {
	b.t.Helper()
	eventually(b.t, slots+" begin to move", func() bool {
		got := b.migrate(from, to, slots)
		return got.String() == "+OK" || strings.Contains(got.Str, "I am already migrating slot")
	})
	return b.newestAway(from)
}

// moves moves slots.
func (b *board) moves(from, to *fleet.Group, slots string) (name string) {
	b.t.Helper()
	name = b.begin(from, to, slots)
	b.ends(name, "success", from, to)
	return name
}

// many is the number of keys that fill writes before a move that is to be stopped halfway.
const many = 400

// fill writes n keys of a slot, at the one shard or at the other. Each key has 8 KB, so that a move of some
// hundred keys takes several messages.
func (b *board) fill(slot int, name string, n int, by ...*fleet.Group) {
	b.t.Helper()
	value := strings.Repeat("x", 8<<10)
	var batch [][]string
	for i := range n {
		batch = append(batch, []string{"SET", fmt.Sprintf("%s:%d{%s}", name, i, key(b.t, slot)), value})
	}
	at, tried := clientOf(b.t, by[0].Leader()), 0
	eventually(b.t, "all keys are written", func() bool {
		if len(batch) == 0 {
			return true
		}
		now := batch[:min(len(batch), 100)]
		replies, err := at.CallPipeline(now)
		batch = batch[len(now):]
		for i, words := range now {
			if i >= len(replies) || replies[i].String() != "+OK" {
				batch = append(batch, words)
			}
		}
		if err != nil || replies[0].Kind == resp.Error {
			tried++
			at.Close()
			at = clientOf(b.t, by[tried%len(by)].Leader())
		}
		return len(batch) == 0
	})
}

// count returns the number of keys of a slot at a shard.
func (b *board) count(g *fleet.Group, slot int) (n int64) {
	b.t.Helper()
	eventually(b.t, "the keys are counted", func() bool {
		v := g.Leader().Try("CLUSTER", "COUNTKEYSINSLOT", fmt.Sprint(slot))
		n = v.Int
		return v.Kind == resp.Integer
	})
	return n
}

// has checks that the keys of a slot are at one shard, and not at another one.
func (b *board) has(at, not *fleet.Group, slot int, n int64) {
	b.t.Helper()
	require.Equal(b.t, n, b.count(at, slot), "keys of the slot %d", slot)
	require.Zero(b.t, b.count(not, slot), "keys of the slot %d", slot)
}

// halfway begins a move, and stops the process of the source while the target has a part of the data. The
// target cannot take the slots then. A move that is over before is played again.
func (b *board) halfway(from, to *fleet.Group, slots string) (name string) {
	b.t.Helper()
	source := from.Members[0]
	eventually(b.t, "a move is stopped halfway", func() bool {
		target := clientOf(b.t, to.Leader())
		defer target.Close()
		name = b.begin(from, to, slots)
		state := ""
		eventually(b.t, "the target knows the move", func() bool {
			v, err := target.Call("CLUSTER", "GETSLOTMIGRATIONS")
			for _, m := range v.Elems {
				if field(m, "name") == name {
					state = field(m, "state")
				}
			}
			return state != "" || err != nil
		})
		source.Pause()
		if state = field(listed(to.Leader(), name), "state"); state == "snapshotting" || state == "streaming" {
			return true
		}
		source.GoOn()
		if got, _ := b.ends(name, "", from); got == "success" {
			b.moves(to, from, slots)
		}
		return false
	})
	return name
}

// whileOpen begins a move to a shard that stands still, runs body, and cancels the move. If the move is over
// before, all is played again.
func (b *board) whileOpen(from, to *fleet.Group, slots string, body func(name string)) {
	b.t.Helper()
	eventually(b.t, "the move stays open", func() bool {
		to.Members[0].Pause()
		name := b.begin(from, to, slots)
		body(name)
		open := cancel(from).String() == "+OK"
		to.Members[0].GoOn()
		return open
	})
}

// answers sends commands to a member, and compares the replies.
func (b *board) answers(p *fleet.Process, want map[string]string) {
	b.t.Helper()
	c := clientOf(b.t, p)
	defer c.Close()
	c.Do("READONLY")
	for words, reply := range want {
		require.Equal(b.t, reply, c.Do(strings.Fields(words)...).String(), words)
	}
}

// TestValkeyMoves plays tests of Valkey. The process of each shard is the whole shard, so the shard stands
// still while its process is stopped. The slot 8001 has no owner. A case brings its slots back at its end.
func TestValkeyMoves(t *testing.T) {
	t.Parallel()
	b := newBoard(t, shard{"s1", "0-8000", 1}, shard{"s2", "8002-12000", 1}, shard{"s3", "12001-16383", 1})
	one, two, three := b.groups[0], b.groups[1], b.groups[2]
	b.awaitOwners(map[int]*fleet.Group{0: one, 8001: nil, 8002: two, 16383: three})
	for _, tt := range []struct {
		name string
		run  func(b *board, one, two, three *fleet.Group)
	}{
		{"arguments", (*board).arguments},
		{"already migrating", (*board).alreadyMigrating},
		{"fields", (*board).fields},
		{"old moves", (*board).oldMoves},
		{"partial data", (*board).partialData},
		{"functions and scripts", (*board).functions},
		{"shapes", (*board).shapes},
		{"a whole shard", (*board).wholeShard},
		{"transactions", (*board).transactions},
		{"keys that arrive are not seen", (*board).unseen},
		{"eviction and expiry beside them", (*board).evictionAndExpiry},
		{"two sources", (*board).twoSources},
		{"a full target", (*board).fullTarget},
		{"flushes at the target", (*board).flushedTarget},
		{"flushes at the source", (*board).flushedSource},
		{"a broken connection", (*board).brokenConnection},
		{"clients that wait", (*board).waitingClients},
		{"many moves, and a restart", (*board).manyMoves},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := b.in(t)
			b.empty()
			tt.run(b, one, two, three)
		})
	}
}

// arguments: wrong calls have the texts of Valkey. A name of 4 letters is unknown, and not invalid, because
// shards have names.
func (b *board) arguments(one, two, three *fleet.Group) {
	for _, tt := range []struct {
		at          *fleet.Group
		words, want string
	}{
		{one, "MIGRATESLOTS", "wrong number of arguments"},
		{one, "MIGRATESLOTS INVALID 0 1", "syntax error"},
		{one, "MIGRATESLOTS SLOTSRANGE", "wrong number of arguments"},
		{one, "MIGRATESLOTS SLOTSRANGE 0", "No end slot for final slot range"},
		{one, "MIGRATESLOTS SLOTSRANGE 16385 16388", "Invalid or out of range slot"},
		{one, "MIGRATESLOTS SLOTSRANGE 16380 16388", "Invalid or out of range slot"},
		{one, "MIGRATESLOTS SLOTSRANGE a 0", "No slot ranges specified"},
		{one, "MIGRATESLOTS SLOTSRANGE 0 a", "Invalid or out of range slot"},
		{one, "MIGRATESLOTS SLOTSRANGE 1 0", "Start slot number 1 is greater than end slot number 0"},
		{two, "MIGRATESLOTS SLOTSRANGE 8002 16383", "Requested slots span multiple shards"},
		{one, "MIGRATESLOTS SLOTSRANGE 0 5 3 6", "Slot range 3-6 overlaps with previous range 0-5"},
		{one, "MIGRATESLOTS SLOTSRANGE 3 6 0 5", "Slot range 0-5 overlaps with previous range 3-6"},
		{one, "MIGRATESLOTS SLOTSRANGE 0 0", "syntax error"},
		{one, "MIGRATESLOTS SLOTSRANGE 0 0 NODE", "syntax error"},
		{one, "MIGRATESLOTS SLOTSRANGE 0 0 NODE blah", "Unknown node name"},
		{one, "MIGRATESLOTS SLOTSRANGE 0 0 NODE b/ah", "Invalid node name"},
		{one, "MIGRATESLOTS SLOTSRANGE 0 0 NODE " + strings.Repeat("a", 40), "Unknown node name"},
		{one, "MIGRATESLOTS SLOTSRANGE 1 1 NODE " + b.nodes[two] + " SLOTSRANGE 0 2 NODE " + b.nodes[three], "Slot ranges in migrations overlap"},
		{one, "MIGRATESLOTS SLOTSRANGE 0 0 2 2 NODE " + b.nodes[two] + " SLOTSRANGE 2 2 NODE " + b.nodes[three], "Slot ranges in migrations overlap"},
		{one, "MIGRATESLOTS SLOTSRANGE 8001 8001", "Slot 8001 has no node served"},
		{two, "MIGRATESLOTS SLOTSRANGE 0 0 NODE " + b.nodes[one], "Slots are not served by this node"},
		{one, "MIGRATESLOTS SLOTSRANGE 0 0 NODE " + b.nodes[one], "Target node can not be this node"},
		{one, "CANCELSLOTMIGRATIONS ARG", "wrong number of arguments"},
		{one, "CANCELSLOTMIGRATIONS", "No migrations ongoing"},
		// Valkey begins a move to each target.
		{one, "MIGRATESLOTS SLOTSRANGE 0 0 NODE " + b.nodes[two] + " SLOTSRANGE 1 1 NODE " + b.nodes[three], "one command moves slots to one shard"},
	} {
		got := tt.at.Leader().Try(strings.Fields("CLUSTER " + tt.words)...)
		require.Equal(b.t, resp.Error, got.Kind, tt.words)
		require.Contains(b.t, got.Str, tt.want, tt.words)
	}
}

// alreadyMigrating: slots of an open move do not move a second time. Other slots wait for its end; in Valkey
// they may move as well.
func (b *board) alreadyMigrating(one, two, three *fleet.Group) {
	for _, tt := range []struct{ open, asked, want string }{
		{"16 16", "16 16", "I am already migrating slot 16."},
		{"16 18", "17 17", "I am already migrating slot 17."},
		{"17 17", "16 18", "I am already migrating slot 17."},
		{"17 17", "20 20", "one move at a time leaves a shard"},
	} {
		var got resp.Value
		b.whileOpen(one, two, tt.open, func(string) { got = b.migrate(one, three, tt.asked) })
		require.Contains(b.t, got.Str, tt.want, tt.asked)
	}
}

// fields: both shards tell of a move, and of its end. Other words of Valkey for open states are not used.
func (b *board) fields(one, two, _ *fleet.Group) {
	var source, sourceAfter resp.Value
	name := ""
	b.whileOpen(one, two, "16 16 18 19", func(n string) { name, source = n, listed(one.Leader(), n) })
	sourceAfter = listed(one.Leader(), name)
	want := map[string]string{"name": name, "operation": "EXPORT", "slot_ranges": "16-16 18-19", "target_node": b.nodes[two],
		"source_node": b.nodes[one], "message": ""}
	for f, v := range want {
		require.Equal(b.t, v, field(source, f), f)
		require.Equal(b.t, v, field(sourceAfter, f), f)
	}
	require.Equal(b.t, "snapshotting", field(source, "state"))
	require.Equal(b.t, "cancelled", field(sourceAfter, "state"))
	number := func(v resp.Value, name string) int64 {
		for i := 0; i+1 < len(v.Elems); i += 2 {
			if v.Elems[i].Str == name {
				require.Equal(b.t, resp.Integer, v.Elems[i+1].Kind, name)
				return v.Elems[i+1].Int
			}
		}
		require.FailNow(b.t, "no field "+name)
		return 0
	}
	require.Equal(b.t, number(source, "create_time"), number(sourceAfter, "create_time"))
	require.GreaterOrEqual(b.t, number(sourceAfter, "last_update_time"), number(source, "last_update_time"))
	require.Zero(b.t, number(source, "cow_size"))

	b.fill(8500, "in", 20, two)
	name = b.moves(two, one, "8500 8500")
	here, there := listed(one.Leader(), name), listed(two.Leader(), name)
	want["operation"], want["name"], want["slot_ranges"], want["target_node"], want["source_node"] = "IMPORT", name, "8500-8500", b.nodes[one], b.nodes[two]
	for f, v := range want {
		require.Equal(b.t, v, field(here, f), f)
	}
	for _, v := range []resp.Value{here, there} {
		require.Positive(b.t, number(v, "create_time"))
		require.GreaterOrEqual(b.t, number(v, "last_update_time"), number(v, "create_time"))
		require.GreaterOrEqual(b.t, number(v, "last_ack_time"), number(v, "create_time"), "%s", v)
	}
	b.moves(one, two, "8500 8500")
}

// oldMoves: the newest ended moves are kept. Their number is fixed; in Valkey a directive sets it.
func (b *board) oldMoves(one, two, _ *fleet.Group) {
	const kept = 20
	var names []string
	for i := range kept + 3 {
		b.whileOpen(one, two, fmt.Sprintf("%d %d", i, i), func(name string) { names = append(names, name) })
	}
	var got []string
	for _, m := range one.Leader().Try("CLUSTER", "GETSLOTMIGRATIONS").Elems {
		require.Equal(b.t, "cancelled", field(m, "state"))
		got = append(got, field(m, "name"))
	}
	slices.Reverse(names)
	require.Equal(b.t, names[:kept], got)
}

// partialData: a move is cancelled while the target has a part of its data. The target deletes it, and to the
// target the move has failed.
func (b *board) partialData(one, two, _ *fleet.Group) {
	b.fill(16, "before", 300, one)
	name := ""
	eventually(b.t, "the move is cancelled while data is sent", func() bool {
		name = b.begin(one, two, "16 16")
		b.fill(16, "meanwhile", 300, one, two)
		eventually(b.t, "data is sent", func() bool {
			m := listed(one.Leader(), name)
			return isOver(field(m, "state")) || !strings.Contains(m.String(), `"bytes_sent" 0 `)
		})
		if cancel(one).String() == "+OK" {
			return true
		}
		b.ends(name, "success", one, two)
		b.moves(two, one, "16 16")
		return false
	})
	b.ends(name, "cancelled", one)
	_, message := b.ends(name, "failed", two)
	require.Equal(b.t, "the source has ended the move", message)
	b.has(one, two, 16, 600)
	b.moves(one, two, "16 16")
	b.has(two, one, 16, 600)
	b.moves(two, one, "16 16")
}

// functions: functions and scripts stay at their shard, also those that were loaded during a move.
func (b *board) functions(one, two, _ *fleet.Group) {
	library := func(name string) string {
		return "#!lua name=" + name + "\nredis.register_function('" + name + "', function() return 'x' end)"
	}
	for _, way := range [][2]*fleet.Group{{two, one}, {one, two}} {
		from, to := way[0], way[1]
		b.fill(9000, "key", 100, from)
		require.Equal(b.t, "f1", from.Leader().Try("FUNCTION", "LOAD", library("f1")).Str)
		name := b.begin(from, to, "9000 9000")
		require.Equal(b.t, "f2", from.Leader().Try("FUNCTION", "LOAD", library("f2")).Str)
		script := from.Leader().Try("SCRIPT", "LOAD", "return 1").Str
		b.ends(name, "success", from, to)
		require.Equal(b.t, "[]", to.Leader().Try("FUNCTION", "LIST").String())
		require.Equal(b.t, "[0]", to.Leader().Try("SCRIPT", "EXISTS", script).String())
		require.Len(b.t, from.Leader().Try("FUNCTION", "LIST").Elems, 2)
		require.Equal(b.t, "+OK", from.Leader().Try("FUNCTION", "FLUSH").String())
		require.Equal(b.t, "+OK", from.Leader().Try("SCRIPT", "FLUSH").String())
	}
}

// shapes: one slot, ranges, and several ranges move. Keys are written before the move and during it. Keys of
// slots between them stay.
func (b *board) shapes(one, two, three *fleet.Group) {
	for _, tt := range []struct {
		from, to      *fleet.Group
		slots         string
		moved, stayed []int
	}{
		{two, one, "9000 9000", []int{9000}, []int{9001}},
		{two, one, "9000 9001", []int{9000, 9001}, []int{8999, 9002}},
		{one, three, "10 11 13 14", []int{10, 11, 13, 14}, []int{12}},
		{three, two, "16381 16381 16383 16383", []int{16381, 16383}, []int{16382}},
	} {
		for _, slot := range slices.Concat(tt.moved, tt.stayed) {
			b.fill(slot, "before", 20, tt.from)
		}
		name := b.begin(tt.from, tt.to, tt.slots)
		for _, slot := range slices.Concat(tt.moved, tt.stayed) {
			b.fill(slot, "meanwhile", 20, tt.from, tt.to)
		}
		b.ends(name, "success", tt.from, tt.to)
		for _, slot := range tt.moved {
			b.has(tt.to, tt.from, slot, 40)
			require.Regexp(b.t, fmt.Sprintf("^MOVED %d ", slot), tt.from.Leader().Try("SET", key(b.t, slot), "x").Str)
		}
		for _, slot := range tt.stayed {
			b.has(tt.from, tt.to, slot, 40)
		}
		b.moves(tt.to, tt.from, tt.slots)
		b.empty()
	}
}

// wholeShard: all slots of a shard leave it, and come back to a shard without slots.
func (b *board) wholeShard(one, _, three *fleet.Group) {
	b.fill(16383, "key", 300, three)
	b.moves(three, one, "12001 16383")
	b.has(one, three, 16383, 300)
	b.moves(one, three, "12001 16383")
	b.has(three, one, 16383, 300)
}

// transactions: MULTI, a script and WATCH during a move.
func (b *board) transactions(one, two, _ *fleet.Group) {
	b.fill(16, "key", 100, one)
	tag := "{" + key(b.t, 16) + "}"
	c := clientOf(b.t, one.Leader())
	require.Equal(b.t, "+OK", c.Do("WATCH", "a"+tag).String())
	name := b.begin(one, two, "16 16")
	for i := 0; ; i++ {
		other := clientOf(b.t, one.Leader())
		n := fmt.Sprint(i)
		replies := other.Pipeline([][]string{{"MULTI"}, {"SET", "m1" + tag, n}, {"SET", "m2" + tag, n}, {"EXEC"},
			{"EVAL", "redis.call('SET', KEYS[1], ARGV[1]); return redis.call('SET', KEYS[2], ARGV[1])", "2", "s1" + tag, "s2" + tag, n}})
		other.Close()
		if replies[3].Kind != resp.Array || replies[4].Kind == resp.Error {
			require.Contains(b.t, replies[3].String()+replies[4].String(), "MOVED 16 ")
			break
		}
	}
	b.ends(name, "success", one, two)
	at := two.Leader()
	for _, s := range []string{"m", "s"} {
		first := at.Try("GET", s+"1"+tag)
		require.Equal(b.t, resp.Bulk, first.Kind)
		require.Equal(b.t, first.String(), at.Try("GET", s+"2"+tag).String())
	}
	b.has(two, one, 16, 104)
	replies := c.Pipeline([][]string{{"MULTI"}, {"SET", key(b.t, 20), "x"}, {"EXEC"}, {"GET", key(b.t, 20)}})
	require.True(b.t, replies[2].IsNull(), "a key that has moved counts as changed: %s", replies[2])
	require.True(b.t, replies[3].IsNull())
	b.moves(two, one, "16 16")
}

// unseen: keys that arrive are not seen at the target. In Valkey CLUSTER COUNTKEYSINSLOT counts them.
func (b *board) unseen(one, two, three *fleet.Group) {
	for _, tt := range []struct {
		from, to   *fleet.Group
		slot, test int
	}{{two, one, 9000, 16}, {two, three, 9000, 16383}} {
		b.fill(tt.slot, "in", many, tt.from)
		slots := fmt.Sprintf("%d %d", tt.slot, tt.slot)
		name := b.halfway(tt.from, tt.to, slots)
		p, own := tt.to.Leader(), key(b.t, tt.test)
		b.answers(p, map[string]string{"DBSIZE": "0", "KEYS *": "[]", "SCAN 0": `["0" []]`, "RANDOMKEY": "$nil", "CLUSTER COUNTKEYSINSLOT 9000": "0",
			"CLUSTER GETKEYSINSLOT 9000 10": "[]"})
		require.Equal(b.t, "+OK", p.Try("SET", own, "x").String())
		b.answers(p, map[string]string{"DBSIZE": "1", "KEYS *": `["` + own + `"]`, "SCAN 0": `["0" ["` + own + `"]]`, "RANDOMKEY": `"` + own + `"`})
		require.Regexp(b.t, "^MOVED 9000 ", p.Try("GET", key(b.t, tt.slot)).Str)
		tt.from.Members[0].GoOn()
		b.ends(name, "success", tt.from, tt.to)
		b.has(tt.to, tt.from, tt.slot, many)
		require.Equal(b.t, fmt.Sprint(many+1), p.Try("DBSIZE").String())
		b.moves(tt.to, tt.from, slots)
		b.empty()
	}
}

// evictionAndExpiry: the target evicts and expires keys of its own only, while others arrive. If it expired
// others, the data would not be the source's, and the move would not succeed.
func (b *board) evictionAndExpiry(one, two, _ *fleet.Group) {
	const lifeMS = "1500"
	b.fill(9000, "in", many, two)
	in := "short{" + key(b.t, 9000) + "}"
	require.Equal(b.t, "+OK", two.Leader().Try("SET", in, "x", "PX", lifeMS).String())
	name := b.halfway(two, one, "9000 9000")
	p := one.Leader()
	require.Equal(b.t, "+OK", p.Try("SET", key(b.t, 16), "x", "PX", lifeMS).String())
	eventually(b.t, "its own key has expired", func() bool { return p.Try("EXISTS", key(b.t, 16)).Int == 0 })
	require.Equal(b.t, "+OK", p.Try("CONFIG", "SET", "maxmemory-policy", "allkeys-random", "maxmemory", "16mb").String())
	for i := 0; p.Field("evicted_keys") == "0"; i++ {
		b.fill(17, fmt.Sprint(i), 200, one)
	}
	require.Equal(b.t, "+OK", p.Try("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "0").String())
	two.Members[0].GoOn()
	b.ends(name, "success", two, one)
	eventually(b.t, "the key has expired", func() bool { return p.Try("EXISTS", in).Int == 0 })
	b.has(one, two, 9000, many)
	b.moves(one, two, "9000 9000")
}

// twoSources: slots come from two shards at a time.
func (b *board) twoSources(one, two, three *fleet.Group) {
	b.fill(9000, "before", 100, two)
	b.fill(16383, "before", 100, three)
	from2, from3 := b.begin(two, one, "9000 9000"), b.begin(three, one, "16383 16383")
	b.fill(9000, "meanwhile", 100, two, one)
	b.fill(16383, "meanwhile", 100, three, one)
	b.ends(from2, "success", two, one)
	b.ends(from3, "success", three, one)
	b.has(one, two, 9000, 200)
	b.has(one, three, 16383, 200)
	b.moves(one, two, "9000 9000")
	b.moves(one, three, "16383 16383")
}

// fullTarget: a target without memory takes the slots, and then refuses to add more. In Valkey such a move
// fails.
func (b *board) fullTarget(one, two, _ *fleet.Group) {
	b.fill(9000, "in", 300, two)
	require.Equal(b.t, "+OK", one.Leader().Try("CONFIG", "SET", "maxmemory", "1").String())
	require.Contains(b.t, one.Leader().Try("SET", key(b.t, 16), "x").Str, "OOM")
	b.moves(two, one, "9000 9000")
	b.has(one, two, 9000, 300)
	require.Contains(b.t, one.Leader().Try("SET", key(b.t, 9000), "x").Str, "OOM")
	require.Equal(b.t, "+OK", one.Leader().Try("CONFIG", "SET", "maxmemory", "0").String())
	b.moves(one, two, "9000 9000")
	b.has(two, one, 9000, 300)
}

// flushedTarget: a flush at the target is not about slots that it does not own. In Valkey the move fails.
func (b *board) flushedTarget(one, two, _ *fleet.Group) {
	b.fill(9000, "in", many, two)
	name := b.halfway(two, one, "9000 9000")
	for _, words := range []string{"FLUSHDB SYNC", "FLUSHDB ASYNC", "FLUSHALL SYNC", "FLUSHALL ASYNC"} {
		require.Equal(b.t, "+OK", one.Leader().Try("SET", key(b.t, 16), "x").String())
		require.Equal(b.t, "+OK", one.Leader().Try(strings.Fields(words)...).String())
		require.Equal(b.t, "0", one.Leader().Try("DBSIZE").String())
	}
	two.Members[0].GoOn()
	b.ends(name, "success", two, one)
	b.has(one, two, 9000, many)
	b.moves(one, two, "9000 9000")
}

// flushedSource: a flush at the source goes to the target as well. In Valkey the move fails.
func (b *board) flushedSource(one, two, _ *fleet.Group) {
	for i, words := range []string{"FLUSHDB SYNC", "FLUSHDB ASYNC", "FLUSHALL SYNC", "FLUSHALL ASYNC"} {
		b.fill(9000, "in", 300, two)
		flushed := false
		name := ""
		eventually(b.t, "the flush is before the end of the move", func() bool {
			name = b.begin(two, one, "9000 9000")
			flushed = two.Leader().Try(strings.Fields(words)...).String() == "+OK" && !isOver(field(listed(two.Leader(), name), "state"))
			if !flushed {
				b.ends(name, "success", two, one)
				b.moves(one, two, "9000 9000")
				b.fill(9000, "in", 300, two)
			}
			return flushed
		})
		b.fill(9000, "after", i, two, one)
		b.ends(name, "success", two, one)
		b.has(one, two, 9000, int64(i))
		b.moves(one, two, "9000 9000")
		b.empty()
	}
}

// brokenConnection: the connections of the source to the target are closed. The move goes on. In Valkey it
// fails.
func (b *board) brokenConnection(one, two, _ *fleet.Group) {
	b.fill(9000, "in", many, two)
	name := b.halfway(two, one, "9000 9000")
	require.Positive(b.t, one.Leader().Try("CLIENT", "KILL", "USER", "peer").Int)
	two.Members[0].GoOn()
	b.ends(name, "success", two, one)
	b.has(one, two, 9000, many)
	b.moves(one, two, "9000 9000")
}

// waitingClients: a client that waits for a key is sent to the target when the move ends. A write is done at
// one of the two shards, and its key is at the target.
func (b *board) waitingClients(one, two, _ *fleet.Group) {
	tag := "{" + key(b.t, 16) + "}"
	b.fill(16, "key", 300, one)
	waiter := b.waitFor("BLPOP", "list"+tag, "0")
	other := b.waitFor("BLPOP", key(b.t, 20), "0")
	name := b.begin(one, two, "16 16")
	c := clientOf(b.t, one.Leader())
	done := 0
	for {
		v := c.Do("SET", "last"+tag, fmt.Sprint(done+1))
		if v.Kind == resp.Error {
			require.Regexp(b.t, "^MOVED 16 ", v.Str)
			break
		}
		done++
		require.Equal(b.t, "+OK", c.Do("SET", key(b.t, 21), "x").String())
	}
	require.Regexp(b.t, "^MOVED 16 ", waiter.Receive().Str)
	b.ends(name, "success", one, two)
	require.Equal(b.t, fmt.Sprint(done), two.Leader().Try("GET", "last"+tag).Str)
	require.Equal(b.t, "1", c.Do("LPUSH", key(b.t, 20), "x").String())
	require.Equal(b.t, "x", other.Receive().Elems[1].Str, "a client that waits for a slot that stays")
	b.moves(two, one, "16 16")
}

// manyMoves: slots with keys and without move to and fro, some moves are cancelled, and all shards restart.
func (b *board) manyMoves(one, two, _ *fleet.Group) {
	b.fill(9000, "key", 300, two)
	slots := func(p *fleet.Process) string {
		lines := strings.Split(shardsOf(b.t, p.Try("CLUSTER", "SHARDS")), "\n")
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	before := slots(one.Members[0])
	for range 2 {
		for _, tt := range []struct {
			from, to *fleet.Group
			slots    string
		}{{two, one, "9000 9000"}, {one, two, "0 0"}, {two, one, "8100 8200 8999 9000"}, {one, two, "0 100 200 300"}} {
			b.moves(tt.from, tt.to, tt.slots)
			b.moves(tt.to, tt.from, tt.slots)
			name := b.begin(tt.from, tt.to, tt.slots)
			cancel(tt.from)
			if state, _ := b.ends(name, "", tt.from); state == "success" {
				b.moves(tt.to, tt.from, tt.slots)
			}
		}
	}
	for _, p := range b.all() {
		p.Kill()
	}
	b.start()
	for _, p := range b.all() {
		eventually(b.t, "all slots are where they were", func() bool { return slots(p) == before })
	}
	b.has(two, one, 9000, 300)
}

// TestValkeyFailovers: leaders change, and members restart, while slots move. In Valkey the move fails. Here
// the log of the source has the move, so a new leader goes on with it.
func TestValkeyFailovers(t *testing.T) {
	t.Parallel()
	b := newBoard(t, shard{"s1", "0-8191", 3}, shard{"s2", "8192-16383", 1})
	one, two := b.groups[0], b.groups[1]
	b.awaitOwners(map[int]*fleet.Group{0: one, 16383: two})
	for _, tt := range []struct {
		name string
		do   func(of *fleet.Group)
	}{
		{"the lead is handed on", func(of *fleet.Group) { of.Leader().TryWithin(patience, "RAFT", "TRANSFER") }},
		{"the leader ends", func(of *fleet.Group) { restart(of.Leader()) }},
		{"a follower ends", func(of *fleet.Group) { restart(of.Others(of.AwaitLeader())[0]) }},
		{"a follower ends, after a snapshot", func(of *fleet.Group) {
			follower := of.Others(of.AwaitLeader())[0]
			follower.TryWithin(patience, "RAFT", "SNAPSHOT")
			restart(follower)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := b.in(t)
			b.outlives(one, two, func() { tt.do(one) })
		})
	}
	t.Run("the other shard ends", func(t *testing.T) {
		b := b.in(t)
		b.outlives(one, two, func() { restart(two.Members[0]) })
	})
}

// restart kills a process, and starts it.
func restart(p *fleet.Process) {
	p.Kill()
	p.Start()
}

// outlives moves slots to a group of three, and back. An event comes in the middle of each move. The shard
// two stands still until then.
func (b *board) outlives(one, two *fleet.Group, event func()) {
	b.empty()
	b.fill(9000, "in", many, two)
	name := b.halfway(two, one, "9000 9000")
	for _, p := range one.Members {
		c := clientOf(b.t, p)
		c.Do("READONLY")
		for words, want := range map[string]string{"DBSIZE": "0", "KEYS *": "[]", "SCAN 0": `["0" []]`, "RANDOMKEY": "$nil"} {
			eventually(b.t, words+" is answered", func() bool {
				v := c.Do(strings.Fields(words)...)
				require.True(b.t, v.Kind == resp.Error || v.String() == want, "%s: %s", words, v) // an error: an election
				return v.Kind != resp.Error
			})
		}
		c.Close()
	}
	event()
	two.Members[0].GoOn()
	b.ends(name, "success", two)
	b.all9000(one, two)

	eventually(b.t, "the move back outlives the event", func() bool {
		two.Members[0].Pause()
		name = b.begin(one, two, "9000 9000")
		event()
		two.Members[0].GoOn()
		state, _ := b.ends(name, "", one)
		return state == "success" // it fails if the event took longer than a target may be silent
	})
	b.all9000(two, one)
	for _, p := range one.Members {
		eventually(b.t, "each member tells the end", func() bool {
			state := field(listed(p, name), "state")
			return state == "success" || state == "" // it was not there
		})
	}
}

// all9000 waits until all keys are at one shard.
func (b *board) all9000(at, not *fleet.Group) {
	b.t.Helper()
	eventually(b.t, "all keys are at the owner", func() bool { return b.count(at, 9000) == many && b.count(not, 9000) == 0 })
}

// TestValkeyTargets: targets that stand still, that do not run, and that do not let the source log in. The
// move fails, and its source serves the slots all the time.
func TestValkeyTargets(t *testing.T) {
	t.Parallel()
	b := newBoard(t, shard{"a", "0-2999", 1}, shard{"b", "3000-5999", 1}, shard{"c", "6000-8999", 1}, shard{"d", "9000-11999", 1}, shard{"e", "12000-16383", 1})
	g := map[string]*fleet.Group{}
	owners := map[int]*fleet.Group{}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		g[name] = b.groups[i]
		owners[i*3000] = b.groups[i]
	}
	b.awaitOwners(owners)
	b.fill(9000, "key", 20, g["d"])
	g["b"].Members[0].Kill()
	g["e"].Members[0].Pause()
	d := g["d"].Leader()
	require.Equal(t, "+OK", d.Try("ACL", "SETUSER", "peer", "resetpass", ">other").String())
	require.Positive(t, d.Try("CLIENT", "KILL", "USER", "peer").Int)
	absent, locked, silent := b.begin(g["a"], g["b"], "0 0"), b.begin(g["c"], g["d"], "6000 6000"), b.begin(g["d"], g["e"], "9000 9000")

	c := clientOf(t, d)
	last := 0
	for ; !isOver(field(listed(d, silent), "state")); last++ {
		require.Equal(t, "+OK", c.Do("SET", key(t, 9000), fmt.Sprint(last)).String())
	}
	for name, from := range map[string]*fleet.Group{silent: g["d"], absent: g["a"], locked: g["c"]} {
		_, message := b.ends(name, "failed", from)
		require.Contains(t, message, "the other shard has not let the move begin: ")
		if name == locked {
			require.Contains(t, message, "WRONGPASS")
		}
	}
	g["e"].Members[0].GoOn()
	b.has(g["d"], g["e"], 9000, 21)
	require.Equal(t, fmt.Sprint(last-1), d.Try("GET", key(t, 9000)).Str)
	b.moves(g["d"], g["e"], "9000 9000")
	b.has(g["e"], g["d"], 9000, 21)
}
