package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// health runs `lockserver health`.
func health(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"health"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestHealth(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	_, addr := startReady(t, t.TempDir(), "--save", "")
	code, out, errs := health("--addr", addr)
	require.Zero(t, code, errs)
	require.Equal(t, "ok\n", out)

	require.Equal(t, []string{"+OK"}, ask(t, addr, "CONFIG SET requirepass secret"))
	code, _, errs = health("--addr", addr)
	require.Zero(t, code, errs)
	code, _, _ = health("--addr", addr, "--password", "secret")
	require.Zero(t, code)
	code, _, _ = health("--addr", addr, "--user", "default", "--password", "secret")
	require.Zero(t, code)
	code, _, errs = health("--addr", addr, "--password", "wrong")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "lockserver health: WRONGPASS ")
}

// TestHealthOfNoServer: what is not a server, or is not ready, is not well.
func TestHealthOfNoServer(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 100))
			_, _ = conn.Write([]byte("-LOADING the data\r\n"))
			_ = conn.Close()
		}
	}()
	code, out, errs := health("--addr", ln.Addr().String())
	require.Equal(t, 1, code)
	require.Empty(t, out)
	require.Equal(t, "lockserver health: LOADING the data\n", errs)
	require.NoError(t, ln.Close())
	<-ended
	code, _, errs = health("--addr", ln.Addr().String())
	require.Equal(t, 1, code)
	require.Contains(t, errs, "connection refused")
	code, _, errs = health("more")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "--help")
	code, out, _ = health("--help")
	require.Zero(t, code)
	require.Equal(t, healthUsage, out)
}

// member is a listener that answers as a member of a group does that does not lead. data is what it says to
// a command on data, leader is the leader that it knows, by RAFT INFO.
func member(t *testing.T, data, leader string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for {
					asked, err := resp.ReadValue(in)
					if err != nil {
						return
					}
					reply := "+OK"
					switch asked.Elems[0].Str {
					case "PING":
						reply = "+PONG"
					case "HELLO":
						reply = "%0"
					case "COMMAND":
						reply = "*1\r\n*1\r\n:1"
					case "EXISTS":
						reply = data
					case "RAFT":
						info := "# Raft\r\nraft_role:follower\r\nraft_leader_address:" + leader + "\r\n"
						reply = fmt.Sprintf("$%d\r\n%s", len(info), info)
					}
					_, _ = conn.Write([]byte(reply + "\r\n"))
				}
			}()
		}
	}()
	return ln.Addr().String()
}

// TestHealthOfAMember: one without a leader serves no client; one that sends on is well.
func TestHealthOfAMember(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	code, _, errs := health("--addr", member(t, "-CLUSTERDOWN The cluster is down", ""))
	require.Equal(t, 1, code)
	require.Equal(t, "lockserver health: CLUSTERDOWN The cluster is down\n", errs)
	for _, data := range []string{"-MOVED 1 192.0.2.1:1", "-READONLY You can't write against a read only replica.", "-NOPERM no", ":0"} {
		code, _, errs = health("--addr", member(t, data, "192.0.2.1:1"))
		require.Zero(t, code, errs)
	}
}

// TestInspectionFollows: a member that does not lead sends on to the leader, and flags may stand behind the
// key.
func TestInspectionFollows(t *testing.T) {
	_, addr := startReady(t, t.TempDir(), "--save", "")
	ask(t, addr, "LOCK order:42 alice PX 60000")
	follower := member(t, "-MOVED 1 "+addr, "")
	bySentinels := member(t, "-READONLY You can't write against a read only replica.", addr)
	for _, args := range [][]string{{"why", "order:42", "--addr", follower}, {"why", "--addr", follower, "order:42"},
		{"why", "--addr", follower, "--", "order:42"}, {"locks", "--addr", follower},
		{"why", "order:42", "--addr", bySentinels}, {"locks", "--addr", bySentinels}} {
		code, out, errs := inspected(t, args...)
		require.Zero(t, code, errs)
		require.Contains(t, out, "alice", args)
	}
	code, _, errs := inspected(t, "why", "a", "b", "--addr", follower)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "--help")
}
