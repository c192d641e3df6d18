package raft

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/server"
	"lockserver/server/raft/engine"
	"lockserver/tests/testkit"
)

// portOf starts a server that stands alone, and returns its port and a client.
func portOf(t *testing.T) (port string, c *testkit.Client) {
	t.Helper()
	srv, err := server.New(server.Options{Addr: "127.0.0.1:0"})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	_, port, err = net.SplitHostPort(srv.Addr().String())
	require.NoError(t, err)
	return port, testkit.Dial(t, srv.Dial)
}

// TestMigrate: keys and locks move out of a group and into it. No member keeps a key that has moved, and no
// token falls.
func TestMigrate(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, func(_ *engine.Options, o *server.Options) { o.Addr = "127.0.0.1:0" })
	port, there := portOf(t)
	for _, m := range g.others(g.leader()) {
		require.Contains(t, m.ask("MIGRATE", "127.0.0.1", port, "k", "0", "10000").Str, "lead")
	}
	require.Equal(t, "OK", g.do("SET", "k", "v").Str)
	token := g.do("LOCK", "door", "alice", "PX", "1000000").Int
	eventually(t, "a transaction is refused", func() bool {
		m := g.leader()
		m.ask("MULTI")
		m.ask("MIGRATE", "127.0.0.1", port, "k", "0", "10000")
		v := m.ask("EXEC")
		return len(v.Elems) == 1 && v.Elems[0].String() == "-"+commands.ErrMigrateHeld.Error()
	})
	require.False(t, g.do("MIGRATE", "127.0.0.1", port, "", "0", "10000", "REPLACE", "KEYS", "k", "door").IsError())
	require.Equal(t, int64(0), g.do("EXISTS", "k", "door").Int)
	require.Equal(t, "v", there.Do("GET", "k").Str)
	require.Equal(t, int64(1), there.Do("RENEW", "door", "alice", "TOKEN", strconv.FormatInt(token, 10)).Int)
	require.Equal(t, int64(1), there.Do("UNLOCK", "door", "alice").Int)
	token = there.Do("LOCK", "door", "bob", "PX", "1000000").Int

	eventually(t, "all has moved back", func() bool {
		_, into, err := net.SplitHostPort(g.leader().srv.Addr().String())
		require.NoError(t, err)
		return !there.Do("MIGRATE", "127.0.0.1", into, "", "0", "10000", "REPLACE", "KEYS", "k", "door").IsError()
	})
	require.Equal(t, int64(0), there.Do("DBSIZE").Int)
	g.leader().stop()
	require.Equal(t, "v", g.do("GET", "k").Str)
	require.Equal(t, int64(1), g.do("UNLOCK", "door", "bob", "TOKEN", strconv.FormatInt(token, 10)).Int)
	require.Greater(t, g.do("LOCK", "door", "carol", "PX", "1000000").Int, token)
}

// TestMigrateOfADeposedLeader: a leader that is cut off sends nothing, because its data may be old.
func TestMigrateOfADeposedLeader(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	require.Equal(t, "OK", g.do("SET", "k", "old").Str)
	port, there := portOf(t)
	out := g.leader()
	c := out.dial()
	g.isolate(out, true)
	v, err := c.Call("MIGRATE", "127.0.0.1", port, "k", "0", "10000")
	require.True(t, err != nil || v.IsError(), "%s", v)
	require.Equal(t, "OK", g.leader(g.others(out)...).ask("SET", "k", "new").Str)
	require.Equal(t, int64(0), there.Do("DBSIZE").Int)
	g.isolate(out, false)
	eventually(t, "it follows", func() bool { return out.field("raft_role") == "follower" })
	require.Equal(t, int64(0), there.Do("DBSIZE").Int)
	require.Equal(t, "new", g.do("GET", "k").Str)
}
