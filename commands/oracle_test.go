package commands

import (
	"bufio"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// oracle is a real Redis with which a test compares.
type oracle struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// startOracle starts a redis-server until the end of the test, and fails the test if there is none. Only
// tests with the build tag oracle, or under a check of withOracle, call it.
func startOracle(t *testing.T) *oracle {
	t.Helper()
	o := &oracle{t: t}
	var err error
	o.conn, err = testkit.StartRedis(t).Dial()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.conn.Close()) })
	o.in = bufio.NewReader(o.conn)
	info := o.do("INFO", "server")
	require.Contains(t, info.Str, "redis_version:7.4.", "the oracle must be a Redis 7.4")
	return o
}

// do sends one command and returns its reply.
func (o *oracle) do(args ...string) resp.Value {
	o.t.Helper()
	_, err := o.conn.Write(resp.AppendCommand(nil, words(args...)...))
	require.NoError(o.t, err)
	require.NoError(o.t, o.conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	v, err := resp.ReadValue(o.in)
	require.NoError(o.t, err)
	return v
}

func words(args ...string) [][]byte {
	var w [][]byte
	for _, a := range args {
		w = append(w, []byte(a))
	}
	return w
}
