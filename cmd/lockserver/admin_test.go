package main

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// page gets a page of the admin port; 0: the port is closed.
func page(t *testing.T, port, path string) (int, string) {
	t.Helper()
	reply, err := http.Get("http://127.0.0.1:" + port + path)
	if err != nil {
		return 0, ""
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	return reply.StatusCode, string(text)
}

// TestAdminPort: it tells whether the server is ready, from before its data is loaded until it has ended.
func TestAdminPort(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), testkit.FreePort(t)
	c, addr := startReady(t, dir, "--admin-port", port, "--enable-debug-command", "yes")
	require.Contains(t, c.Stdout.String(), "Admin port addr=127.0.0.1:"+port+"\n")
	status, text := page(t, port, "/readyz")
	require.Equal(t, 200, status)
	require.Equal(t, "ok\n", text)
	require.Equal(t, []string{"+OK", "+OK"}, ask(t, addr, "DEBUG POPULATE 2000", "SAVE"))
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
	status, _ = page(t, port, "/healthz")
	require.Zero(t, status)

	c = start(t, dir, "--port", "0", "--admin-port", port, "--key-load-delay", "10000")
	c.eventually(t, func() bool { status, _ := page(t, port, "/healthz"); return status == 200 }, "the admin port")
	c.eventually(t, func() bool { // the port opens before the load begins
		status, text = page(t, port, "/readyz")
		require.Equal(t, 503, status)
		return text == "loading the data\n"
	}, "the load")
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
}

// TestAdminPortThatCannotBeHad keeps the server from starting, as any other address does.
func TestAdminPortThatCannotBeHad(t *testing.T) {
	c := start(t, t.TempDir(), "--port", "0", "--admin-port", testkit.FreePort(t), "--admin-bind", "192.0.2.1")
	require.Equal(t, 1, c.exit(t))
	require.Contains(t, c.Stdout.String(), "admin-port: listen tcp 192.0.2.1:")
}

// TestAdminPortOfShards: one port has the figures of all shards, and is ready when all of them are.
func TestAdminPortOfShards(t *testing.T) {
	t.Parallel()
	port := testkit.FreePort(t)
	c, _ := startReady(t, t.TempDir(), "--shards", "3", "--admin-port", port, "--save", "")
	require.Equal(t, 1, strings.Count(c.Stdout.String(), "Admin port addr="))
	status, text := page(t, port, "/readyz")
	require.Equal(t, 200, status)
	require.Equal(t, "ok\n", text)
	_, text = page(t, port, "/metrics")
	for _, shard := range []string{"1", "2", "3"} {
		require.Contains(t, text, "\nredis_up{shard=\""+shard+"\"} 1\n")
	}
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
	status, _ = page(t, port, "/healthz")
	require.Zero(t, status)
}

// TestAdminPortOfAGroupAsShard: all series of a member have the name of its shard, and the number of slots is
// that of its log.
func TestAdminPortOfAGroupAsShard(t *testing.T) {
	t.Parallel()
	port, raft, clients := testkit.FreePort(t), testkit.FreePort(t), testkit.FreePort(t)
	c := start(t, t.TempDir(), "--port", clients, "--admin-port", port, "--raft-id", "a", "--raft-listen", "127.0.0.1:"+raft,
		"--raft-members", "a=127.0.0.1:"+raft+"/127.0.0.1:"+clients, "--cluster-enabled", "yes", "--cluster-name", "shop", "--cluster-shard", "s2", "--cluster-slots", "0-99")
	c.ready(t)
	text := ""
	c.eventually(t, func() bool {
		_, text = page(t, port, "/metrics")
		return strings.Contains(text, "\nlockserver_raft_slots{group=\"lockserver\",shard=\"s2\"} 100\n")
	}, "the group owns its slots")
	require.Contains(t, text, "\nredis_up{shard=\"s2\"} 1\n")
	require.Contains(t, text, "\nlockserver_raft_alarm{group=\"lockserver\",kind=\"map\",shard=\"s2\"} 0\n")
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
}
