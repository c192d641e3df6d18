//go:build raft

package raft

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft/engine"
)

// slowSnapshots are snapshots on a disk. The disk reads nothing while it is closed.
type slowSnapshots struct {
	hraft.SnapshotStore
	mu     sync.Mutex
	closed chan struct{} // nil: it reads
}

// read sets whether the disk reads.
func (s *slowSnapshots) read(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !on && s.closed == nil:
		s.closed = make(chan struct{})
	case on && s.closed != nil:
		close(s.closed)
		s.closed = nil
	}
}

// Open implements hraft.SnapshotStore.
func (s *slowSnapshots) Open(id string) (*hraft.SnapshotMeta, io.ReadCloser, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed != nil {
		<-closed
	}
	return s.SnapshotStore.Open(id)
}

// muchLost is a number of writes that is larger than what a member can take back.
const muchLost = `for i = 1, 270000 do redis.call('SET', 'lost' .. i, i) end return 1`

// slowGroup starts three members with snapshots on slow disks. They have data in their snapshots and in later
// entries of the log, and keep few entries behind a snapshot.
func slowGroup(t *testing.T) *group {
	g := prepare(t, 3, func(eo *engine.Options, _ *server.Options) { eo.Trailing = 10 })
	for _, m := range g.all {
		slow := &slowSnapshots{SnapshotStore: m.snaps}
		m.snaps = slow
		t.Cleanup(func() { slow.read(true) })
	}
	for _, m := range g.all {
		m.start()
	}
	g.elect()
	require.Equal(t, "OK", g.do("SET", "kept", "1").Str)
	g.same()
	for _, m := range g.all {
		require.Equal(t, "OK", m.ask("RAFT", "SNAPSHOT").Str)
	}
	require.Equal(t, "OK", g.do("SET", "behind", "1").Str)
	return g
}

// loseForGood makes the leader write so much without the others that it cannot take it back. Then another
// member leads. The disk of the former leader reads nothing from then on.
func (g *group) loseForGood() (old *member) {
	g.t.Helper()
	for { // on a busy machine it may have been deposed before
		old = g.doneBy("SET", "begun", "1")
		old.snaps.(*slowSnapshots).read(false)
		alone := old.dial()
		g.t.Cleanup(func() { alone.Close() })
		g.isolate(old, true)
		alone.Send("DEBUG", "RAFT-UNDO", "0")
		alone.Send("SET", "lost", "1")
		g.leader(g.others(old)...)
		role := ""
		eventually(g.t, "it leads no more", func() bool {
			role = old.field("raft_role")
			return role == "follower" || role == "rebuilding"
		})
		if role == "rebuilding" {
			return old
		}
		g.isolate(old, false)
		old.snaps.(*slowSnapshots).read(true)
	}
}

// TestRebuildingMemberVotes: a former leader that cannot take its writes back builds its data anew. Meanwhile
// it votes and stores entries: together with one more member it is a majority. At the end it has the data of
// the group.
func TestRebuildingMemberVotes(t *testing.T) {
	t.Parallel()
	g := slowGroup(t)
	old := g.loseForGood()
	require.Equal(t, "OK", g.do("SET", "other", "1").Str)
	next := g.leader(g.others(old)...)
	third := g.others(old)[slices.IndexFunc(g.others(old), func(m *member) bool { return m != next })]
	third.stop()
	g.isolate(old, false)
	require.Equal(t, "OK", g.do("SET", "with it", "1").Str, "acknowledged by the member that builds its data, and one more")
	require.Equal(t, "rebuilding", old.field("raft_role"))
	for i := range 300 { // more than the engine keeps for a machine
		require.Equal(t, "OK", g.do("SET", "more"+strconv.Itoa(i), "1").Str)
	}
	require.Equal(t, "rebuilding", old.field("raft_role"))
	require.Zero(t, old.number("raft_undone"))
	old.snaps.(*slowSnapshots).read(true)
	eventually(t, "it follows", func() bool { return old.field("raft_role") == "follower" })
	third.start()
	g.same()
	require.EqualValues(t, 0, g.do("EXISTS", "lost").Int)
	require.EqualValues(t, 4, g.do("EXISTS", "kept", "behind", "with it", "more299").Int)

	g.do("RAFT", "TRANSFER", old.peer.ID)
	g.leader(old)
	require.EqualValues(t, 4, g.do("EXISTS", "kept", "behind", "with it", "more299").Int)
	require.Equal(t, "OK", g.do("SET", "led", "1").Str)
	g.same()
}

// TestRebuildingMemberHandsTheLeadOn: a member that is elected while it builds its data anew hands the lead
// on to a member that can serve.
func TestRebuildingMemberHandsTheLeadOn(t *testing.T) {
	t.Parallel()
	g := slowGroup(t)
	old := g.loseForGood()
	g.isolate(old, false)
	require.Equal(t, "OK", g.do("SET", "other", "1").Str)
	handed := func() int {
		g.network.mu.Lock()
		defer g.network.mu.Unlock()
		return g.network.handed
	}
	before := handed()
	eventually(t, "it was handed the lead, and handed it on", func() bool {
		if handed() == before {
			g.leader(g.others(old)...).ask("RAFT", "TRANSFER", old.peer.ID)
		}
		return handed() >= before+2
	})
	require.Equal(t, "OK", g.do("SET", "after", "1").Str)
	require.Equal(t, "rebuilding", old.field("raft_role"))
	old.snaps.(*slowSnapshots).read(true)
	g.same()
	require.EqualValues(t, 3, g.do("EXISTS", "kept", "behind", "after").Int)
}

// TestSnapshotOfTheLeaderInPlaceOfTheRest: a member that builds its data anew is so far behind that the
// leader sends it a snapshot.
func TestSnapshotOfTheLeaderInPlaceOfTheRest(t *testing.T) {
	t.Parallel()
	g := slowGroup(t)
	old := g.loseForGood()
	for i := range 50 {
		require.Equal(t, "OK", g.do("SET", "more"+strconv.Itoa(i), "1").Str)
	}
	for _, m := range g.others(old) {
		require.Equal(t, "OK", m.ask("RAFT", "SNAPSHOT").Str)
	}
	g.isolate(old, false)
	require.Equal(t, "OK", g.do("SET", "other", "1").Str)
	eventually(t, "the leader's snapshot is on its disk", func() bool {
		kept, err := old.snaps.List()
		return err == nil && len(kept) == 2
	})
	old.snaps.(*slowSnapshots).read(true)
	g.same()
	require.EqualValues(t, 4, g.do("EXISTS", "kept", "behind", "more49", "other").Int)
}

// takesBack makes the leader write without the others, and take the writes back because another member leads.
// The disk of the former leader reads nothing from then on.
func (g *group) takesBack(all ...[]string) (old *member) {
	g.t.Helper()
	for { // on a busy machine it may have been deposed before
		old = g.doneBy("SET", "begun", "1")
		old.snaps.(*slowSnapshots).read(false)
		before := old.number("raft_undone")
		alone := old.dial()
		g.t.Cleanup(func() { alone.Close() })
		g.isolate(old, true)
		for _, words := range all {
			alone.Send(words...)
		}
		g.leader(g.others(old)...)
		eventually(g.t, "it leads no more", func() bool { return slices.Contains([]string{"follower", "rebuilding"}, old.field("raft_role")) })
		require.Equal(g.t, "follower", old.field("raft_role"))
		if old.number("raft_undone") > before {
			return old
		}
		g.isolate(old, false)
		old.snaps.(*slowSnapshots).read(true)
	}
}

// TestDeposedLeaderTakesMuchBack: a former leader takes back any number of uncommitted writes without
// building its data anew. While the third member is down the group goes on, and the former leader can lead
// again.
func TestDeposedLeaderTakesMuchBack(t *testing.T) {
	t.Parallel()
	g := slowGroup(t)
	much := []string{"EVAL", muchLost, "0"}
	old := g.takesBack(much, much, []string{"SET", "lost", "1"}) // all but the first wait: nothing is committed
	next := g.leader(g.others(old)...)
	third := g.others(old)[slices.IndexFunc(g.others(old), func(m *member) bool { return m != next })]
	third.stop()
	g.isolate(old, false)
	require.Equal(t, "OK", g.do("SET", "with it", "1").Str)
	g.same()
	require.Zero(t, old.number("raft_rebuilds"))
	third.start()
	g.same()
	g.do("RAFT", "TRANSFER", old.peer.ID)
	g.leader(old)
	require.EqualValues(t, 0, g.do("EXISTS", "lost", "lost1", "lost270000").Int)
	require.Equal(t, "OK", g.do("SET", "led", "1").Str)
	g.same()
}

// TestDeposedLeaderTakesAFlushBack: a former leader takes an uncommitted FLUSHALL, SWAPDB or change of
// functions back at once, without building its data anew. While the third member is down the group goes on.
// Another leader has written the data: a member repeats only what is in its own history.
func TestDeposedLeaderTakesAFlushBack(t *testing.T) {
	t.Parallel()
	const library = "#!lua name=lib\nredis.register_function('kept', function() return 'kept' end)"
	g := slowGroup(t)
	require.Equal(t, "lib", g.do("FUNCTION", "LOAD", "REPLACE", library).Str)
	require.EqualValues(t, 2, g.do("HSET", "hash", "a", "1", "b", "2").Int)
	require.Equal(t, "[1]", g.do("HPEXPIRE", "hash", "3600000", "FIELDS", "1", "a").String())
	require.Positive(t, g.do("LOCK", "door", "alice", "PX", "3600000", "ONCE").Int)
	g.operate("TRANSFER", g.others(g.leader())[0].peer.ID)
	var all [][]string
	for _, words := range []string{"SWAPDB 0 1", "SET lost 0", "FLUSHALL", "SET lost 1", "SWAPDB 0 1", "FUNCTION FLUSH", "FLUSHALL ASYNC", "SET lost 2"} {
		all = append(all, strings.Fields(words))
	}
	old := g.takesBack(all...)
	next := g.leader(g.others(old)...)
	third := g.others(old)[slices.IndexFunc(g.others(old), func(m *member) bool { return m != next })]
	third.stop()
	g.isolate(old, false)
	require.Equal(t, "OK", g.do("SET", "with it", "1").Str)
	require.Zero(t, old.number("raft_rebuilds"))
	g.same()
	third.start()
	g.same()
	g.do("RAFT", "TRANSFER", old.peer.ID)
	g.leader(old)
	require.Equal(t, "kept", g.do("FCALL", "kept", "0").Str)
	require.EqualValues(t, 4, g.do("EXISTS", "kept", "behind", "hash", "door", "lost").Int)
	require.Positive(t, g.do("HPTTL", "hash", "FIELDS", "1", "a").Elems[0].Int)
}
