package hostile

import (
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// startFollower starts two servers of a raft group. The first one forms the group alone, so it stays the
// leader. The other, which has the clock, becomes a follower and answers reads.
func startFollower(t *testing.T, clock *server.ManualClock) *overdueServer {
	start := func(id string, clock *server.ManualClock) *overdueServer {
		p, err := raft.NewPeer(id, "127.0.0.1:"+testkit.FreePort(t), id+":1")
		require.NoError(t, err)
		node := topology.NodeID(id)
		o := startWith(t, server.Options{Raft: newEngine(t, p, id == "leader"), RaftOptions: raft.MemberOptions{ReadsMaxLag: 24 * time.Hour},
			Group: topology.New(topology.GroupOptions{Form: topology.Cluster, Self: func(net.Addr) string { return node }})}, clock)
		o.at = p
		return o
	}
	o := start("follower", clock)
	o.do("READONLY")
	o.leader = start("leader", server.NewManualClock(time.UnixMicro(clock.NowUS())))
	o.leader.awaitGroup("raft_role:leader")
	return o
}

// newEngine creates the engine of a member, with its log in memory. The member forms a group alone, or waits
// until it is added to a group.
func newEngine(t *testing.T, self raft.Peer, alone bool) *engine.Engine {
	logs, quiet := hraft.NewInmemStore(), slog.New(slog.DiscardHandler)
	n := &engine.Network{ID: self.ID, Group: "overdue", Listen: self.Raft, Self: engine.Address(self), Log: quiet}
	eo := engine.Options{ID: self.ID, ElectionMS: 200, Log: quiet, Logs: logs, Stable: logs, Snapshots: hraft.NewInmemSnapshotStore(),
		Hello: n.Hello, Position: n.AskPosition, Transport: n.Transport}
	if alone {
		eo.Peers = []raft.Peer{self}
	} else {
		eo.ElectionMS = 600_000 // it never becomes a candidate
	}
	require.NoError(t, eo.Identify())
	n.Identity = eo.Identity
	e := engine.New(eo)
	n.Position = e.Position
	return e
}

// awaitGroup waits until INFO raft contains a text.
func (o *overdueServer) awaitGroup(text string) {
	o.t.Helper()
	said := ""
	o.until(func() bool { said = o.do("INFO raft").Str; return strings.Contains(said, text) }, func() string { return text + " is not in " + said })
}

// until waits for a condition; otherwise returns the present state for the error.
func (o *overdueServer) until(ok func() bool, otherwise func() string) {
	o.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			require.FailNow(o.t, otherwise())
		}
	}
}

// try runs a command. ok is false if the reply is an error, or the server closes the connection; then it
// reconnects. A leader closes its connections if the other member does not answer in time on a busy machine.
func (o *overdueServer) try(words ...string) (v resp.Value, ok bool) {
	v, err := o.admin.Call(words...)
	if err != nil {
		o.admin.Close()
		if o.admin = testkit.Dial(o.t, o.srv.Dial); o.leader != nil {
			o.do("READONLY")
		}
		return v, false
	}
	return v, v.Kind != resp.Error
}

// takeFromLeader fills the leader, makes this server a member, and waits until it has the data and answers.
func (o *overdueServer) takeFromLeader() {
	o.fill(o.leader)
	added, _ := o.leader.try("RAFT", "ADD", o.at.ID, o.at.Raft, o.at.Client)
	var here, there resp.Value
	o.until(func() bool {
		var answers, leads bool
		here, answers = o.try("DBSIZE")
		there, leads = o.leader.try("DBSIZE")
		lag, _ := o.try("INFO", "raft")
		return answers && leads && here.Int == there.Int && strings.Contains(lag.Str, "raft_lag_entries:0\r\n")
	}, func() string {
		return "the leader has " + there.String() + " keys, the member " + here.String() + "; RAFT ADD: " + added.String()
	})
}

// leaderRemoves lets the keys expire on the leader, and waits until the follower has no overdue key. The
// leader renews the leases of its clients.
func (o *overdueServer) leaderRemoves() {
	o.leader.clock.Set(time.UnixMicro(o.clock.NowUS()))
	o.until(func() bool { return o.do("DBSIZE").Int == int64(len(o.do("KEYS *").Elems)) },
		func() string {
			return "of " + o.do("DBSIZE").String() + " keys these are live: " + o.do("KEYS *").String()
		})
}
