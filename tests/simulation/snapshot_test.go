//go:build simulation

package simulation

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// behind crashes a member and lets the others go on, with short logs, so that the member needs the leader's
// snapshot when it starts again.
func (s *scene) behind() (leader, away *member) {
	s.trailing = 1
	leader = s.leader()
	away = s.others(leader)[0]
	away.crash()
	for i := range 100 {
		require.Equal(s.t, "OK", s.do("SET", fmt.Sprint("key", i), "1").Str)
	}
	require.Equal(s.t, "OK", leader.ask("RAFT", "SNAPSHOT").Str)
	s.eventually("there is a snapshot", func() bool {
		is := leader.fields()["raft_snapshot_index"]
		return is != "" && is != "0"
	})
	return leader, away
}

// TestSnapshotIsSent: a member that was away for longer than the log goes back gets all data.
func TestSnapshotIsSent(t *testing.T) {
	play(t, 3, func(s *scene) {
		_, away := s.behind()
		require.NoError(s.t, away.start())
		s.same()
		require.NotEqual(s.t, "0", away.fields()["raft_snapshot_index"])
	})
}

// TestSnapshotIsAnswered: RAFT SNAPSHOT replies when the snapshot is complete, or with an error if it could
// not be written.
func TestSnapshotIsAnswered(t *testing.T) {
	play(t, 3, func(s *scene) {
		leader := s.leader()
		require.Equal(s.t, "OK", s.do("SET", "x", "1").Str)
		s.same()
		for _, m := range s.all {
			m.disk.set(true, 0)
			v := m.ask("RAFT", "SNAPSHOT")
			m.disk.set(false, 0)
			require.Contains(s.t, v.Str, "no snapshot was made", m == leader)
			require.Contains(s.t, v.Str, errFull.Error())
			require.Equal(s.t, "1", m.fields()["raft_snapshots_failed"])
			require.Contains(s.t, m.fields()["raft_last_snapshot_error"], errFull.Error())
			require.Nil(s.t, m.disk.newest())
			s.eventually("it is made", func() bool { return m.ask("RAFT", "SNAPSHOT").Str == "OK" })
			require.NotNil(s.t, m.disk.newest())
			require.Empty(s.t, m.fields()["raft_last_snapshot_error"])
		}
		s.same()
	})
}

// TestDamagedSnapshot: a member that is sent an unreadable snapshot stops and reports it. Its process lives,
// and so does the group.
func TestDamagedSnapshot(t *testing.T) {
	play(t, 3, func(s *scene) {
		leader, away := s.behind()
		leader.disk.mu.Lock()
		for _, i := range leader.disk.snapshots {
			i.data[0] ^= 0xff
		}
		leader.disk.mu.Unlock()
		require.NoError(s.t, away.start())
		s.eventually("it has stopped", func() bool { return away.fields()["raft_role"] == "stopped" })
		require.Contains(s.t, away.ask("GET", "key0").Str, "has stopped")
		require.Equal(s.t, "1", s.do("GET", "key99").Str)
	})
}

// TestLogsPartBehindSnapshot: a member was sent a snapshot, and has entries that no other member has. It then
// follows another leader from the end of the snapshot, although the log of that leader goes back to the first
// entry.
func TestLogsPartBehindSnapshot(t *testing.T) {
	play(t, 3, func(s *scene) {
		old, away := s.behind()
		require.NoError(s.t, away.start())
		s.same()
		require.Equal(s.t, "OK", s.do("SET", "x", "0").Str) // from now on it gets entries as they come
		s.same()
		other := s.others(old)[0]
		if other == away {
			other = s.others(old)[1]
		}
		for _, m := range []*member{old, away} { // they go on, without the third
			s.network.set(link{m.at(), other.at()}, lost, 0)
			s.network.set(link{other.at(), m.at()}, lost, 0)
		}
		s.network.set(link{away.at(), old.at()}, lost, 0) // one of them cannot acknowledge what it gets
		last := lastIndex(away)
		lost := old.later("SET", "x", "lost")
		s.eventually("it has taken it", func() bool { return lastIndex(away) > last })
		old.crash()
		away.crash()
		s.network.calm()
		require.NoError(s.t, old.start())
		<-lost
		s.leader(old, other)
		require.Equal(s.t, "OK", s.do("SET", "x", "1").Str)
		require.NoError(s.t, away.start())
		s.same()
	})
}

// lastIndex returns the index of the last entry in the member's log.
func lastIndex(m *member) int {
	n, _ := strconv.Atoi(m.fields()["raft_last_index"])
	return n
}
