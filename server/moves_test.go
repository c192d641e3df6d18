package server

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/server/cluster"
	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// fakeMover remembers what it is asked to do. Its moves are those of the test.
type fakeMover struct {
	moves []topology.Move
	begun []string
	err   error
}

func (m *fakeMover) Begin(slots []cluster.Range, shard string) (string, error) {
	m.begun = append(m.begun, cluster.RangesText(slots)+" to "+shard)
	return "s1/7", m.err
}

func (m *fakeMover) Cancel() error {
	m.begun = append(m.begun, "cancel")
	return m.err
}

func (m *fakeMover) Moves() []topology.Move { return m.moves }

// shardOf makes a server a member of the shard s1 with the slots 0 to 99. s2 claims the slots 50 and 51, too.
// s2 has the slots 100 to 199, and s3 has no leader. leader is one of the members s1a and s1b.
func shardOf(t *testing.T, m topology.Mover, leader string) *testkit.Client {
	self := topology.NodeID("s1a")
	g := topology.New(topology.GroupOptions{Strict: true, Self: func(net.Addr) string { return self }})
	if m != nil {
		g.UseMover(m)
	}
	v := topology.View{Shard: "s1", Slots: []cluster.Range{{First: 0, Last: 99}}, Lost: []cluster.Range{{First: 50, Last: 51}}}
	for i, name := range []string{"s1a", "s1b", "s2a", "s2b", "s3a"} {
		v.Members = append(v.Members, topology.Member{ID: topology.NodeID(name), Host: "10.0.0.1", Port: 7000 + i, Up: true, Shard: name[:2]})
	}
	v.Members[2].Leads, v.Members[2].Slots = true, []cluster.Range{{First: 100, Last: 199}}
	if leader != "" {
		v.Leader = topology.NodeID(leader)
	}
	require.NoError(t, g.Update(v))
	srv := start(t, Options{Group: g})
	return testkit.Dial(t, srv.Dial)
}

// TestMigrateSlots (D178): the arguments are checked in Valkey's order and words before a move begins.
func TestMigrateSlots(t *testing.T) {
	t.Parallel()
	m := new(fakeMover)
	c := shardOf(t, m, "s1a")
	const migrate = "CLUSTER MIGRATESLOTS "
	s2b, shard2 := topology.NodeID("s2b"), topology.NodeID("shard of s2")
	for _, tt := range []struct{ words, reply, begun string }{
		{"SLOTSRANGE 0 9 NODE s2", "+OK", "0-9 to s2"},
		{"slotsrange 20 29 10 19 7 7 node " + s2b, "+OK", "7 10-29 to s2"},
		{"SLOTSRANGE 0 9 NODE " + shard2, "+OK", "0-9 to s2"},
		{"SLOTSRANGE 0 9 NODE s2 SLOTSRANGE 10 10 NODE " + shard2, "+OK", "0-10 to s2"},
		{"SLOTSRANGE", "-ERR wrong number of arguments for 'cluster|migrateslots' command", ""},
		{"SLOTSRANGE 0", "-ERR No end slot for final slot range", ""},
		{"SLOTSRANGE 0 9", "-ERR syntax error", ""},
		{"SLOTSRANGE 0 9 NODE", "-ERR syntax error", ""},
		{"SLOTSRANGE 0 9 NODE s2 SLOTSRANGE", "-ERR No slot ranges specified", ""},
		{"RANGE 0 9 NODE s2", "-ERR syntax error", ""},
		{"SLOTSRANGE NODE s2 a b", "-ERR No slot ranges specified", ""},
		{"SLOTSRANGE 0 9 9 NODE s2", "-ERR Invalid or out of range slot", ""},
		{"SLOTSRANGE 0 9 10 10 12", "-ERR No end slot for final slot range", ""},
		{"SLOTSRANGE 0 16384 NODE s2", "-ERR Invalid or out of range slot", ""},
		{"SLOTSRANGE -1 3 NODE s2", "-ERR Invalid or out of range slot", ""},
		{"SLOTSRANGE 9 3 NODE s2", "-ERR Start slot number 9 is greater than end slot number 3.", ""},
		{"SLOTSRANGE 0 9 5 5 NODE s2", "-ERR Slot range 5-5 overlaps with previous range 0-9.", ""},
		{"SLOTSRANGE 0 300 NODE s2", "-ERR Requested slots span multiple shards", ""},
		{"SLOTSRANGE 100 250 NODE s2", "-ERR Requested slots span multiple shards", ""},
		{"SLOTSRANGE 300 300 NODE s2", "-ERR Slot 300 has no node served.", ""},
		{"SLOTSRANGE 110 120 NODE s2", "-ERR Slots are not served by this node: they are of the shard s2, which 10.0.0.1:7002 leads", ""},
		{"SLOTSRANGE 0 9 NODE s1", "-ERR Target node can not be this node.", ""},
		{"SLOTSRANGE 0 9 NODE " + topology.NodeID("s1b"), "-ERR Target node can not be this node.", ""},
		{"SLOTSRANGE 0 9 NODE s9", "-ERR Unknown node name: s9", ""},
		{"SLOTSRANGE 0 9 NODE s/9", "-ERR Invalid node name: s/9", ""},
		{"SLOTSRANGE 0 9 TO s2", "-ERR syntax error", ""},
		{"SLOTSRANGE 0 9 NODE s2 SLOTSRANGE 9 10 NODE s2", "-ERR Slot ranges in migrations overlap", ""},
		{"SLOTSRANGE 0 9 NODE s2 SLOTSRANGE 10 10 NODE s3", "-ERR one command moves slots to one shard: send a command for each shard, one after the other", ""},
	} {
		m.begun = nil
		require.Equal(t, tt.reply, c.Do(strings.Fields(migrate+tt.words)...).String(), tt.words)
		require.Equal(t, tt.begun, strings.Join(m.begun, ", "), tt.words)
	}
	m.moves = []topology.Move{{Name: "s1/8", Away: true, Target: "s2", Slots: []cluster.Range{{First: 5, Last: 6}}, State: topology.Streaming}}
	m.begun = nil
	require.Equal(t, "-ERR I am already migrating slot 5.", c.Do(strings.Fields(migrate+"SLOTSRANGE 0 9 NODE s2")...).String())
	require.Equal(t, "-ERR one move at a time leaves a shard: s1/8 to the shard s2 is not over yet (CLUSTER GETSLOTMIGRATIONS)",
		c.Do(strings.Fields(migrate+"SLOTSRANGE 7 9 NODE s2")...).String())
	require.Empty(t, m.begun)
	m.moves, m.err = nil, errors.New("the disk is full")
	require.Equal(t, "-ERR the disk is full", c.Do(strings.Fields(migrate+"SLOTSRANGE 0 9 NODE s2")...).String())
	m.err = commands.Error("CLUSTERDOWN no leader")
	require.Equal(t, "-CLUSTERDOWN no leader", c.Do(strings.Fields(migrate+"SLOTSRANGE 0 9 NODE s2")...).String())
}

// TestCancelSlotMigrations (D178): only a move away from this shard is cancelled.
func TestCancelSlotMigrations(t *testing.T) {
	t.Parallel()
	m := &fakeMover{moves: []topology.Move{{Name: "s2/1", State: topology.Streaming}, {Name: "s1/7", Away: true, State: topology.Failed}}}
	c := shardOf(t, m, "s1a")
	says(t, c, [][2]string{{"CLUSTER CANCELSLOTMIGRATIONS", "-ERR No migrations ongoing"}})
	m.moves = append(m.moves, topology.Move{Name: "s1/8", Away: true, State: topology.Frozen})
	says(t, c, [][2]string{{"CLUSTER CANCELSLOTMIGRATIONS", "+OK"}, {"MULTI", "+OK"},
		{"CLUSTER CANCELSLOTMIGRATIONS", "-ERR Command not allowed inside a transaction"}})
	require.Equal(t, []string{"cancel"}, m.begun)
}

// TestGetSlotMigrations (D178): the fields are those of Valkey, then others.
func TestGetSlotMigrations(t *testing.T) {
	t.Parallel()
	m := &fakeMover{moves: []topology.Move{
		{Name: "s1/8", Away: true, Slots: []cluster.Range{{First: 5, Last: 5}, {First: 7, Last: 9}}, Source: "s1", Target: "s2", BegunMS: 5_999, ChangedMS: 7_000, AckedMS: 8_000,
			State: topology.Frozen, Sent: 10, Left: -1, FrozenMS: 3},
		{Name: "s3/1", Source: "s3", Target: "s1", State: topology.Cancelled, Message: "too slow"},
	}}
	c := shardOf(t, m, "s1b")
	reply := c.Do("CLUSTER", "GETSLOTMIGRATIONS")
	require.Len(t, reply.Elems, 2)
	want := `["name" "s1/8" "operation" "EXPORT" "slot_ranges" "5-5 7-9" "target_node" "` + topology.NodeID("s2a") + `" "source_node" "` + topology.NodeID("s1b") +
		`" "create_time" 5 "last_update_time" 7 "last_ack_time" 8 "state" "failover-paused" "message" "" "cow_size" 0` +
		` "target_shard" "s2" "source_shard" "s1" "bytes_sent" 10 "bytes_left" -1 "frozen_ms" 3]`
	require.Equal(t, want, reply.Elems[0].String())
	text := reply.Elems[1].String()
	require.Contains(t, text, `"operation" "IMPORT"`)
	require.Contains(t, text, `"source_node" "`+topology.NodeID("shard of s3")+`"`, "no leader of it is known")
	require.Contains(t, text, `"state" "cancelled" "message" "too slow"`)
	c.Do("HELLO", "3")
	reply = c.Do("CLUSTER", "GETSLOTMIGRATIONS")
	require.Equal(t, resp.Map, reply.Elems[0].Kind)
	require.Len(t, reply.Elems[0].Elems, 2*16)
}

// TestMovesElsewhere (D178): a member that does not lead names the leader, and a server that cannot move
// slots says what to use.
func TestMovesElsewhere(t *testing.T) {
	t.Parallel()
	const migrate, cancel = "CLUSTER MIGRATESLOTS SLOTSRANGE 0 9 NODE s2", "CLUSTER CANCELSLOTMIGRATIONS"
	refused := func(c *testkit.Client, want string) {
		t.Helper()
		says(t, c, [][2]string{{migrate, want}, {cancel, want}, {"CLUSTER GETSLOTMIGRATIONS", "[]"}})
	}
	refused(shardOf(t, new(fakeMover), "s1b"), "-ERR Slot migration can only be used on primary nodes: this shard's is 10.0.0.1:7001")
	refused(shardOf(t, new(fakeMover), ""), "-ERR Slot migration can only be used on primary nodes: this shard has no leader")
	refused(shardOf(t, nil, "s1a"), "-ERR this server cannot move slots to other shards")
	none := "-ERR slots move between raft groups that are shards of a cluster (cluster-name), which this server is not: see docs/CLUSTER.md"
	refused(sharded(t), none)
	refused(client(t, start(t, Options{Group: newGroup(t, topology.GroupOptions{}).Group})), none)
	_, shards := shardsOf(t, Options{}, 2)
	refused(shards[1], "-ERR the shards of one process move no slots while they run: stop them, and run 'lockserver reshard' (docs/CLUSTER.md)")
	says(t, client(t, start(t, Options{})), [][2]string{{migrate, "-" + commands.ErrNoCluster.Error()}})
}
