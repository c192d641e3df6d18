//go:build raft && unix

package raft

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
	"lockserver/tests/fleet"
)

// TestTransfersOfProcesses is TestTransferLosesNoRequest with processes, disks and sockets. It prints how
// long a request waits at most: the goal is 100 ms.
func TestTransfersOfProcesses(t *testing.T) {
	const clients, times = 16, 50
	program := testkit.Lockserver(t)
	g := fleet.Form(t, "raft-election-ms 3000\n", program, program, program)
	leader := g.AwaitLeader()
	require.Positive(t, leader.Try("LOCK", "door", "me", "PX", "600000", "ONCE").Int)
	l := &load{t: t}
	l.begin(clients, leader.Addr(), func(address string) (*testkit.Client, error) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return nil, err
		}
		c := testkit.NewClient(t, conn)
		c.Timeout = patience
		return c, nil
	})
	l.transfers(clients, times, func() {
		old := g.Leader()
		g.Replace(old)
		require.NotEqual(t, old, g.Successor(old))
	})
	g.Same(g.AwaitLeader())
	for _, p := range g.Members {
		require.Equal(t, "0", p.Field("raft_rebuilds"))
	}
}
