package commands

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/internal/testkit"
)

// oracle is a real Redis that a test asks how things should be.
type oracle struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// startOracle starts a redis-server for the length of the test, and fails the test where there is none. Only
// tests under the build tag oracle, or behind withOracle, call it.
func startOracle(t *testing.T) *oracle {
	t.Helper()
	dir, err := os.MkdirTemp("", "oracle") // t.TempDir may be too long for a socket's name
	require.NoError(t, err)
	socket := filepath.Join(dir, "s")
	// The shell ends the server when its input ends, which it does even if a test
	// panics and nothing is cleaned up.
	server := exec.Command("sh", "-c", `"$0" "$@" <&- & cat; kill $!; wait`,
		string(testkit.Oracle(t)), "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	leash, err := server.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		require.NoError(t, leash.Close())
		require.NoError(t, server.Wait())
		require.NoError(t, os.RemoveAll(dir))
	})
	o := &oracle{t: t}
	require.Eventually(t, func() bool {
		o.conn, err = net.Dial("unix", socket)
		return err == nil
	}, 5*time.Second, 5*time.Millisecond)
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
	require.NoError(o.t, o.conn.SetReadDeadline(time.Now().Add(10*time.Second)))
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
