//go:build simulation

package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLateAnswersProveNothing: late answers are no proof that a member still leads. They may be from a time
// before the others chose another leader, and arrive after a client has asked.
func TestLateAnswersProveNothing(t *testing.T) {
	play(t, 3, func(s *scene) {
		old := s.leader()
		require.Equal(s.t, "OK", old.ask("SET", "x", "old").Str)
		next, voter := s.others(old)[0], s.others(old)[1]
		time.Sleep(2 * time.Second)
		for _, m := range s.others(old) {
			s.network.set(link{m.at(), old.at()}, held, 0)
		}
		time.Sleep(110 * time.Millisecond) // as long as the answer of a heartbeat is delayed
		transferred := make(chan error, 1)
		leads := old.alive.Load().engine
		go func() { transferred <- leads.Transfer(next.peer.ID) }()
		s.eventually("another leads", next.alive.Load().engine.Leads)
		s.eventually("it serves", func() bool { return next.ask("SET", "x", "new").Str == "OK" })
		require.True(s.t, old.alive.Load().engine.Leads(), "for all that it knows")
		read := old.later("GET", "x")
		time.Sleep(3 * time.Millisecond) // it has asked the others
		s.network.set(link{voter.at(), old.at()}, fair, 0)
		r := <-read
		require.NotEqual(s.t, "old", r.Str, "nobody said so after the question")
		s.network.calm()
		<-transferred
		s.same()
	})
}
