package raft

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
)

// noSpace is a store for snapshots on a disk that may be full.
type noSpace struct {
	hraft.SnapshotStore
	full *atomic.Bool
}

func (s noSpace) Create(version hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, t hraft.Transport) (hraft.SnapshotSink, error) {
	if s.full.Load() {
		return nil, errors.New("no space left on the disk")
	}
	return s.SnapshotStore.Create(version, index, term, c, at, t)
}

// TestAlarmOfASnapshot: a snapshot that cannot be made is an alarm of that member until one can.
func TestAlarmOfASnapshot(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	g := newGroup(t, 3, func(eo *engine.Options, _ *server.Options) {
		if eo.ID == "c" {
			eo.Snapshots = noSpace{eo.Snapshots, &full}
		}
	})
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	g.same()
	c := g.all[2]
	full.Store(true)
	require.Contains(t, c.ask("RAFT", "SNAPSHOT").Str, "no space left on the disk")
	c.alarmed(raft.AlarmSnapshot, "the last snapshot could not be made: ")
	for _, m := range g.others(c) {
		require.NotContains(t, m.field("raft_alarm"), "snapshot")
	}
	full.Store(false)
	eventually(t, "a snapshot is made", func() bool { return c.ask("RAFT", "SNAPSHOT").Str == "OK" })
	require.NotContains(t, c.field("raft_alarm"), "snapshot")
	require.Equal(t, "1", c.field("raft_snapshots_failed"))
}

// TestAlarmOfAServerThatWaits: a server that is in no group yet has an alarm until it is added. While it is a
// learner, the leader has none.
func TestAlarmOfAServerThatWaits(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	founders := g.peers
	g.peers = nil
	d := g.add(3)
	d.start()
	g.peers = founders
	d.alarmed(raft.AlarmWaiting, "this server is in no group yet: "+raft.AwaitsAdd)
	require.NotContains(t, d.field("raft_alarm"), "no leader", "it is the same thing")
	eventually(t, "it is added", func() bool { return g.leader().ask("RAFT", "ADD", "d", d.peer.Raft, d.peer.Client).Str == "OK" })
	eventually(t, "all is well", func() bool {
		for _, m := range g.all {
			if m.field("raft_alarms") != "0" {
				return false
			}
		}
		return true
	})
	g.same()
}

// TestAlarmOfAMemberThatHasStopped: a member that has stopped says why, and the other members say which
// member it is.
func TestAlarmOfAMemberThatHasStopped(t *testing.T) {
	t.Parallel()
	g := prepare(t, 3, nil)
	g.wrap = func(id string, e raft.Engine) raft.Engine {
		if id != "c" {
			return e
		}
		return older{e, func(entry []byte) []byte {
			return bytes.Replace(entry, []byte("SET\r\n$4\r\nnews"), []byte("ZAP\r\n$4\r\nnews"), 1)
		}}
	}
	for _, m := range g.all {
		m.start()
	}
	c := g.all[2]
	eventually(t, "another member leads", func() bool { // c makes entries that only it could not read
		leader := g.leader()
		if leader == c {
			leader.ask("RAFT", "TRANSFER")
			return false
		}
		return leader.ask("SET", "news", "1").Str == "OK"
	})
	c.alarmed(raft.AlarmStopped, "an entry of the log cannot be applied: ")
	for _, m := range g.others(c) {
		m.alarmed(raft.AlarmStopped, "'c' has stopped: its log says why")
		require.Equal(t, 1, strings.Count(m.field("raft_alarm"), "stopped"))
	}
}
