//go:build raft

package raft

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
)

// TestAlarmsOfMembersThatAreAway: the members that are left say which members do not answer, and that no
// member leads.
func TestAlarmsOfMembersThatAreAway(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, readsWithin(time.Second))
	leader := g.leader()
	out := g.others(leader)
	out[0].fresh()
	out[0].stop()
	leader.alarmed(raft.AlarmUnreachable, "'"+out[0].peer.ID+"' has not answered")
	out[1].alarmed(raft.AlarmUnreachable, "'"+out[0].peer.ID+"' has not answered")
	eventually(t, "there is a leader", func() bool { return !strings.Contains(g.leader(leader, out[1]).field("raft_alarm"), "no leader") })
	out[1].stop()
	leader.alarmed(raft.AlarmNoLeader, "the raft group has no leader")
	require.Equal(t, 1, strings.Count(leader.page("/readyz"), "the raft group has no leader"))
	out[0].start()
	out[1].start()
	for _, m := range g.all {
		eventually(t, "all is well", func() bool { return m.field("raft_alarms") == "0" })
	}
}

// TestAlarmOfAMemberThatIsBehind: the member answers the others and hears the leader, but applies no entry.
func TestAlarmOfAMemberThatIsBehind(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	g := prepare(t, 3, func(eo *engine.Options, so *server.Options) {
		if readsWithin(time.Second)(eo, so); eo.ID == "c" {
			eo.ElectionMS = 10_000 // another one leads
		}
	})
	slow := g.all[2]
	g.wrap = func(id string, e raft.Engine) raft.Engine {
		if id == slow.peer.ID {
			return held{e, let}
		}
		return e
	}
	for _, m := range g.all {
		m.start()
	}
	leader := g.leader(g.all[:2]...)
	require.Equal(t, "OK", leader.ask("SET", "x", "1").Str)
	slow.alarmed(raft.AlarmBehind, "this member does not have what was committed in the last 1")
	leader.alarmed(raft.AlarmBehind, "'"+slow.peer.ID+"' does not have ")
	close(let)
	eventually(t, "all is well", func() bool { return slow.field("raft_alarms") == "0" && leader.field("raft_alarms") == "0" })
}
