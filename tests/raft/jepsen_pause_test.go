//go:build raft && unix

package raft

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// TestJepsen19 is the finding that reads returned old data in normal operation: a process that had stood
// still for a while answered with the data that it had, though another member led by then. See TestJepsen.
func TestJepsen19(t *testing.T) {
	program := testkit.Lockserver(t)
	g := fleet.Form(t, "", program, program, program)
	old := g.AwaitLeader()
	conn, err := net.Dial("tcp", old.Addr())
	require.NoError(t, err)
	c := testkit.NewClient(t, conn)
	c.Timeout = patience
	require.Equal(t, "+OK", c.Do("SET", "x", "old").String())
	require.Equal(t, "old", c.Do("GET", "x").Str)
	old.Pause()
	for range 100 { // they are read when it goes on
		c.Send("GET", "x")
	}
	next := g.Successor(old)
	require.Equal(t, "+OK", next.Try("SET", "x", "new").String())
	old.GoOn()
	for range 100 {
		v, err := c.Next()
		if err != nil {
			break // it knows that it leads no more
		}
		require.NotEqual(t, "old", v.Str)
	}
	g.Same(g.AwaitLeader())
}
