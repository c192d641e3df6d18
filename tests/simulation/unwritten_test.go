//go:build simulation

package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestChangeThatWasNotWritten: the leader's disk is full when a member is to be removed, so that fails. Later
// the same leader removes the other member, which it cannot reach. It acknowledges a write, and crashes. The
// first member was not removed, so it has the write. Without the leader the other two do not go on.
func TestChangeThatWasNotWritten(t *testing.T) {
	play(t, 3, func(s *scene) {
		old := s.leader()
		kept, removed := s.others(old)[0], s.others(old)[1]
		s.same()
		old.disk.set(true, 0)
		require.Contains(s.t, old.ask("RAFT", "REMOVE", kept.peer.ID).Str, errFull.Error())
		old.disk.set(false, 0)
		s.eventually("it leads again", func() bool {
			l := s.leader()
			if l != old {
				l.ask("RAFT", "TRANSFER", old.peer.ID)
			}
			return l == old
		})
		s.network.set(link{old.at(), removed.at()}, lost, 0)
		s.network.set(link{removed.at(), old.at()}, lost, 0)
		require.Equal(s.t, "OK", old.ask("RAFT", "REMOVE", removed.peer.ID).Str)
		require.Equal(s.t, "OK", old.ask("SET", "x", "acknowledged").Str)
		old.crash()
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			for _, m := range []*member{kept, removed} {
				require.False(s.t, m.alive.Load().engine.Leads(), m.peer.ID)
			}
		}
		s.network.calm()
		require.NoError(s.t, old.start())
		require.Equal(s.t, "acknowledged", s.leader(old, kept).ask("GET", "x").Str)
	})
}
