//go:build raft && unix

package raft

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/inspect"
	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// TestTopFollowsTheLeader: `lockserver top` goes on when the lead is handed on, when the leader dies, and
// when the server of its command line is gone.
func TestTopFollowsTheLeader(t *testing.T) {
	for _, form := range []string{"cluster", "sentinel"} {
		t.Run(form, func(t *testing.T) {
			program := testkit.Lockserver(t)
			g := fleet.Form(t, "raft-clients "+form+"\n", program, program, program)
			first := g.AwaitLeader()
			s, err := inspect.Connect(t.Context(), inspect.Target{Addr: first.Addr()})
			require.NoError(t, err)
			l := s.Lasting(t.Context())
			defer l.Close()
			shows := func(of *fleet.Process) {
				eventually(t, "it looks at the leader", func() bool {
					sample, err := l.Sample()
					return err == nil && sample.Addr == of.Addr()
				})
			}
			shows(first)
			g.Replace(first)
			second := g.Successor(first)
			shows(second)
			second.Kill()
			shows(g.Successor(second))
			second.Start()
			g.AwaitLeader()
			first.Kill() // the address that it began with
			last := g.Successor(first)
			eventually(t, "a lock is taken", func() bool { return last.Try("LOCK", "door", "alice", "ONCE").Int > 0 })
			shows(last)
			reason, err := l.Why("door")
			require.NoError(t, err)
			require.Equal(t, "alice", reason.Lock.Owner)
		})
	}
}
