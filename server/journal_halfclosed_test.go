//go:build linux && !gnet

package server

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

// A client that has said all it has to say, and closed its half, still gets the replies that wait.
func TestHalfClosedClientIsAnswered(t *testing.T) {
	d := newTestDisk()
	srv := startOn(t, d, Options{Config: logged(t.TempDir(), "always"), EventLoops: true})
	conn, err := overPort(srv)()
	require.NoError(t, err)
	c := testkit.NewClient(t, conn)
	d.hold()
	c.Send("SET", "k", "v")
	c.Send("GET", "k")
	eventually(t, d.held, "it waits for the disk")
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	nothingComes(t, c)
	d.release()
	require.Equal(t, "+OK", c.Receive().String())
	require.Equal(t, "v", c.Receive().Str)
	awaitClosed(t, conn)
	eventually(t, func() bool { return srv.connected() == 0 }, "it is gone")
}
