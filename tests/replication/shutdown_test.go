//go:build oracle

package replication

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// silentReplica returns a connection that is a replica of a server, and never sends anything.
func silentReplica(t *testing.T, master *node) *node {
	t.Helper()
	r := reach(t, master.addr)
	r.Do("REPLCONF", "capa", "eof", "capa", "psync2")
	r.Send("PSYNC", "?", "-1")
	eventually(t, "it is taken", func() bool { return master.info("connected_slaves") == "1" })
	return r
}

// ends waits until a server has ended and closed the connection.
func ends(t *testing.T, c *node) {
	t.Helper()
	c.Timeout = patience
	_, err := c.Next()
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

// eachMaster runs a test with a lockserver and a Redis without replicas.
func eachMaster(t *testing.T, test func(t *testing.T, master *node)) {
	t.Run("lockserver", func(t *testing.T) { test(t, start(t, server.Options{EventLoops: true})) })
	t.Run("redis", func(t *testing.T) { test(t, startRedis(t, testkit.Oracle(t))) })
}

// TestShutdownWaitsForReplicas: a shutdown waits for the replicas, and can be cancelled. Meanwhile writes are
// delayed.
func TestShutdownWaitsForReplicas(t *testing.T) {
	eachMaster(t, func(t *testing.T, master *node) {
		plain(master)
		replica := silentReplica(t, master)
		require.Equal(t, "+OK", master.do("SET k v"))
		require.Equal(t, "-ERR No shutdown in progress.", master.do("SHUTDOWN ABORT"))
		require.Empty(t, master.info("shutdown_in_milliseconds"))
		a, b, writer := reach(t, master.addr), reach(t, master.addr), reach(t, master.addr)
		a.Send("SHUTDOWN", "NOSAVE")
		eventually(t, "it waits", func() bool { return master.info("shutdown_in_milliseconds") != "" })
		require.Positive(t, master.number("shutdown_in_milliseconds"))
		require.LessOrEqual(t, master.number("shutdown_in_milliseconds"), int64(10_000))
		b.Send("SHUTDOWN")
		writer.Send("SET", "k", "w")
		eventually(t, "three clients wait", func() bool { return master.info("blocked_clients") == "3" })
		require.Equal(t, `"v"`, master.do("GET k"))
		require.Equal(t, "+OK", master.do("SHUTDOWN ABORT"))
		for _, c := range []*node{a, b} {
			require.Equal(t, "-ERR Errors trying to SHUTDOWN. Check logs.", c.Receive().String())
		}
		require.Equal(t, "+OK", writer.Receive().String())
		require.Equal(t, "-ERR No shutdown in progress.", master.do("SHUTDOWN ABORT"))
		require.Equal(t, "-ERR syntax error", master.do("SHUTDOWN ABORT NOW"))
		replica.Close()
	})
}

// TestShutdownEndsWhenReplicasHaveEverything: it waits no longer than necessary.
func TestShutdownEndsWhenReplicasHaveEverything(t *testing.T) {
	eachMaster(t, func(t *testing.T, master *node) {
		require.Equal(t, "+OK", master.do("CONFIG SET shutdown-timeout 1000"))
		replica := silentReplica(t, master)
		require.Equal(t, "+OK", master.do("SET k v"))
		a := reach(t, master.addr)
		a.Send("SHUTDOWN", "NOSAVE")
		eventually(t, "it waits", func() bool { return master.info("shutdown_in_milliseconds") != "" })
		replica.Send("REPLCONF", "ACK", master.info("master_repl_offset"))
		ends(t, a)
	})
}

// TestShutdownDoesNotWaitForEver: the replicas have shutdown-timeout. With NOW, or without replicas, there is
// no wait.
func TestShutdownDoesNotWaitForEver(t *testing.T) {
	for _, c := range []struct {
		name, timeout, words string
		follows              bool
		least                time.Duration
	}{
		{"timeout", "1", "SHUTDOWN NOSAVE", true, 900 * time.Millisecond},
		{"now", "1000", "SHUTDOWN NOW NOSAVE", true, 0},
		{"no timeout", "0", "SHUTDOWN NOSAVE FORCE", true, 0},
		{"nobody", "1000", "SHUTDOWN NOSAVE", false, 0},
		{"gone", "1000", "SHUTDOWN NOSAVE", true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachMaster(t, func(t *testing.T, master *node) {
				require.Equal(t, "+OK", master.do("CONFIG SET shutdown-timeout "+c.timeout))
				var replica *node
				if c.follows {
					replica = silentReplica(t, master)
				}
				require.Equal(t, "+OK", master.do("SET k v"))
				begun := time.Now()
				quitter := reach(t, master.addr)
				require.Equal(t, "-ERR syntax error", quitter.do(c.words+" SAVE"))
				quitter.Send(strings.Fields(c.words)...)
				if c.name == "gone" {
					eventually(t, "it waits", func() bool { return master.info("shutdown_in_milliseconds") != "" })
					replica.Close()
				}
				ends(t, quitter)
				require.GreaterOrEqual(t, time.Since(begun), c.least)
			})
		})
	}
}

// TestNothingIsLostByShutdown: the replica gets everything that the master has acknowledged before its
// shutdown, although it was behind.
func TestNothingIsLostByShutdown(t *testing.T) {
	srv, err := server.New(server.Options{EventLoops: true, Directives: map[string]string{"repl-diskless-sync-delay": "0", "save": "",
		"shutdown-timeout": "1000"}})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	master := reach(t, srv.Addr().String())
	link := between(t, master.addr)
	replica := start(t, server.Options{EventLoops: true})
	replica.follow(link.addr())
	eventually(t, "the link is up", func() bool { return replica.info("master_link_status") == "up" })
	link.piece.Store(100) // it is behind
	for i := range 5000 {
		master.Send("RPUSH", "list", string(rune('a'+i%26)))
	}
	for range 5000 {
		require.NotContains(t, master.Receive().String(), "-")
	}
	require.NoError(t, srv.Shutdown(server.ShutdownOptions{}))
	require.Equal(t, "5000", replica.do("LLEN list"))
	_, err = master.Next()
	require.ErrorIs(t, err, io.EOF)
}

// TestShutdownCalledOff: a caller of Shutdown, as for a signal, learns that it was cancelled.
func TestShutdownCalledOff(t *testing.T) {
	srv, err := server.New(server.Options{EventLoops: true})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	master := reach(t, srv.Addr().String())
	replica := silentReplica(t, master)
	require.Equal(t, "+OK", master.do("SET k v"))
	ended := make(chan error, 1)
	go func() { ended <- srv.Shutdown(server.ShutdownOptions{}) }()
	eventually(t, "it waits", func() bool { return master.info("shutdown_in_milliseconds") != "" })
	require.Error(t, srv.Ready())
	require.Equal(t, "+OK", master.do("SHUTDOWN ABORT"))
	require.Error(t, <-ended)
	require.NoError(t, srv.Ready())
	require.Equal(t, "+OK", master.do("SET k w"))
	go func() { ended <- srv.Shutdown(server.ShutdownOptions{}) }()
	eventually(t, "it waits", func() bool { return master.info("shutdown_in_milliseconds") != "" })
	replica.Close()
	require.NoError(t, <-ended)
}
