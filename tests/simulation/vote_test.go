//go:build simulation

package simulation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVoteForOneWhoIsNotKnown: of three members one is away while a fourth is added, and then the leader
// dies. Two are left. The member that is behind does not know that the new one has a vote; the new one leads.
func TestVoteForOneWhoIsNotKnown(t *testing.T) {
	play(t, 3, func(s *scene) {
		old := s.leader()
		out, behind := s.others(old)[0], s.others(old)[1]
		require.Equal(s.t, "OK", old.ask("RAFT", "REMOVE", out.peer.ID).Str)
		out.crash()
		added := s.add()
		require.NoError(s.t, added.start())
		require.Equal(s.t, "OK", s.do("SET", "x", "1").Str)
		s.eventually("it has all", func() bool { return behind.fields()["raft_history_offset"] == old.fields()["raft_history_offset"] })
		done := old.later("RAFT", "ADD", added.peer.ID, added.peer.Raft, added.peer.Client)
		s.eventually("it is a learner", func() bool { return strings.Contains(behind.ask("RAFT", "MEMBERS").String(), "learner") })
		s.network.set(link{old.at(), behind.at()}, lost, 0)
		s.network.set(link{behind.at(), old.at()}, lost, 0)
		require.Equal(s.t, "OK", (<-done).Str)
		require.Equal(s.t, "OK", old.ask("SET", "x", "2").Str)
		old.crash()
		require.Same(s.t, added, s.leader(added, behind))
		require.Equal(s.t, "2", added.ask("GET", "x").Str)
	})
}
