//go:build raft && unix

package raft

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// ran runs the program to its end.
func ran(t *testing.T, args ...string) (out string, ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, testkit.Lockserver(t), args...)
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

// TestStatusOfAGroup: any member lists all of them, and the gate of an upgrade waits for a member that has
// missed a lot.
func TestStatusOfAGroup(t *testing.T) {
	program := testkit.Lockserver(t)
	g := fleet.Form(t, "", program, program, program)
	leader := g.AwaitLeader()
	var addrs []string
	for _, p := range g.Members {
		addrs = append(addrs, p.Addr())
	}
	for _, p := range g.Members { // a group that has just formed may have refused a member
		eventually(t, "no alarm", func() bool { return p.Field("raft_alarms") == "0" })
	}
	for _, p := range g.Members {
		out, ok := ran(t, "status", "--addr", p.Addr(), "--wait-ready", "60s")
		require.True(t, ok, out)
		require.Equal(t, 4, strings.Count(out, "\n"), out)
		require.Equal(t, 1, strings.Count(out, " leader "), out)
		require.Equal(t, 2, strings.Count(out, " follower "), out)
		require.NotContains(t, out, "alarms", out)
		out, ok = ran(t, "health", "--ready", "--addr", p.Addr())
		require.True(t, ok, out)
	}
	gone := g.Others(leader)[0]
	gone.Kill()
	for i := range 200 {
		require.Equal(t, "+OK", leader.Try("SET", fmt.Sprint("key", i), strings.Repeat("x", 10_000)).String())
	}
	all := strings.Join(append([]string{gone.Addr()}, addrs...), ",")
	eventually(t, "it is known to be away", func() bool {
		out, ok := ran(t, "status", "--addr", all) // status fails while no member leads
		return ok && strings.Contains(out, "'"+g.ID(gone)+"' has not answered") && strings.Contains(out, " unreachable ")
	})
	out, ok := ran(t, "status", "--addr", all, "--wait-ready", "1s")
	require.False(t, ok, out)
	require.Contains(t, out, "not ready after 1s: '"+g.ID(gone)+"' is not reached")
	out, ok = ran(t, "health", "--ready", "--addr", gone.Addr())
	require.False(t, ok, out)

	commit := leader.Field("raft_commit_index")
	gone.Start()
	out, ok = ran(t, "status", "--addr", all, "--wait-ready", "60s")
	require.True(t, ok, out)
	require.Equal(t, leader.Try("DEBUG", "DIGEST").String(), gone.Try("DEBUG", "DIGEST").String(), "it has all that was committed (%s)", commit)
	out, ok = ran(t, "status", "--addr", addrs[0], "--json")
	require.True(t, ok, out)
	require.Contains(t, out, `"role": "leader"`)
	require.Regexp(t, `"log_sync_p99_us": [0-9]`, out)
	require.Regexp(t, `"commit_p99_us": [0-9]`, out)
	require.Regexp(t, `"round_trip_p99_us": [0-9]`, out)

	alone := fleet.NewProcess(t, program, "")
	alone.Start()
	out, ok = ran(t, "status", "--addr", alone.Addr())
	require.False(t, ok)
	require.Contains(t, out, "in no raft group")
}

// TestReadsFromFollowersOfProcesses: after READONLY a follower answers reads, until the other members stand
// still.
func TestReadsFromFollowersOfProcesses(t *testing.T) {
	program := testkit.Lockserver(t)
	g := fleet.Form(t, "raft-follower-reads-max-lag 500\n", program, program, program)
	leader := g.AwaitLeader()
	require.Equal(t, "+OK", leader.Try("SET", "x", "1").String())
	follower := g.Others(leader)[0]
	c := testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", follower.Addr()) })
	defer c.Close()
	require.Equal(t, "OK", c.Do("READONLY").Str)
	eventually(t, "it answers", func() bool { return c.Do("GET", "x").Str == "1" })
	require.True(t, strings.HasPrefix(c.Do("SET", "x", "2").Str, "MOVED "))
	for _, p := range g.Others(follower) {
		p.Pause()
	}
	eventually(t, "it answers no more", func() bool { return c.Do("GET", "x").IsError() })
	for _, p := range g.Others(follower) {
		p.GoOn()
	}
	eventually(t, "it answers again", func() bool { return c.Do("GET", "x").Str == "1" })
}
