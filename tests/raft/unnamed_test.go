//go:build raft && unix

package raft

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// TestOnlyAPeerThatSaidItsNameIsRefused: a connection to the members' port that sends nothing, or too little,
// does not count as a refused member. The same holds for a member that is killed or paused in the middle of a
// message.
func TestOnlyAPeerThatSaidItsNameIsRefused(t *testing.T) {
	for name, secured := range map[string]bool{"plain": false, "encrypted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := testkit.Lockserver(t)
			var g *fleet.Group
			if secured {
				secure, conf := demanding(t)
				g = fleet.FormSecure(t, secure, conf, program, program, program)
			} else {
				g = fleet.Form(t, "", program, program, program)
			}
			leader := g.AwaitLeader()
			unnamed(t, g, secured)
			follower := g.Others(leader)[0]
			follower.Pause()
			eventually(t, "the follower is unreachable", func() bool { return strings.Contains(leader.Field("raft_alarm"), "has not answered for") })
			follower.GoOn()
			g.Same(leader)
			leader.Pause()
			next := g.Successor(leader)
			leader.GoOn()
			g.Same(g.AwaitLeader())
			next.Kill()
			g.Successor(next)
			next.Start()
			g.Same(g.AwaitLeader())
			for _, p := range g.Members {
				require.NotContains(t, p.Field("raft_alarm"), "refuse", g.ID(p))
				require.NotContains(t, p.Log(), "cannot be called", g.ID(p))
				require.NotContains(t, p.Log(), "a connection is refused", g.ID(p))
			}
			garbage(t, g, leader)
		})
	}
}

// unnamed connects to the members' ports, and closes after various parts of a member's messages.
func unnamed(t *testing.T, g *fleet.Group, secured bool) {
	t.Helper()
	dial := func(at string) net.Conn {
		conn, err := net.Dial("tcp", at)
		require.NoError(t, err)
		return conn
	}
	var silent []net.Conn
	for _, p := range g.Members {
		at := g.RaftAt(p)
		require.NoError(t, dial(at).Close())
		reset := dial(at)
		_, err := io.WriteString(reset, "lock")
		require.NoError(t, err)
		require.NoError(t, reset.(*net.TCPConn).SetLinger(0))
		require.NoError(t, reset.Close())
		silent = append(silent, dial(at))
		if secured {
			half := tls.Client(dial(at), &tls.Config{InsecureSkipVerify: true})
			silent = append(silent, half)
		}
		halfway := dial(at)
		if !secured {
			_, err = io.WriteString(halfway, "lockserver-raft 2 lockserver b")
			require.NoError(t, err)
			silent = append(silent, halfway)
		}
	}
	for _, conn := range silent { // until the member gives up
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		_, err := io.Copy(io.Discard, conn)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		_ = conn.Close()
	}
}

// garbage is logged, but there is no alarm.
func garbage(t *testing.T, g *fleet.Group, p *fleet.Process) {
	t.Helper()
	conn, err := net.Dial("tcp", g.RaftAt(p))
	require.NoError(t, err)
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n")
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
	eventually(t, "the log has it", func() bool { return strings.Contains(p.Log(), "a connection is refused") })
	require.NotContains(t, p.Field("raft_alarm"), "refuse")
}
