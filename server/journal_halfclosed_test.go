package server

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// A client that has said all it has to say, and closed its half, still gets the replies that wait.
func TestHalfClosedClientIsAnswered(t *testing.T) {
	t.Parallel()
	for _, tr := range transports {
		if !tr.sealed {
			t.Run(tr.name, func(t *testing.T) {
				d := newTestDisk()
				srv := startOn(t, d, Options{Directives: logged(t.TempDir(), "always").Directives(), EventLoops: tr.options.EventLoops})
				dial := overPort(srv)
				if tr.pipe {
					dial = srv.Dial
				}
				halfClose(t, d, srv, dial)
			})
		}
	}
	t.Run("TLS", func(t *testing.T) {
		pair, pool := selfSigned(t)
		ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
		require.NoError(t, err)
		d, c := newTestDisk(), logged(t.TempDir(), "always")
		c.Bind = nil
		srv := startOn(t, d, Options{Directives: c.Directives(), Listener: ln})
		halfClose(t, d, srv, func() (net.Conn, error) {
			return tls.Dial("tcp", srv.Addr().String(), &tls.Config{RootCAs: pool, ServerName: "localhost"})
		})
	})
}

// halfClose plays clients that close their sending half while their replies wait for the disk d.
func halfClose(t *testing.T, d *testDisk, srv *instance, dial func() (net.Conn, error)) {
	open := func() *testkit.Client { return testkit.Dial(t, dial) }
	shut := func(c *testkit.Client) {
		require.NoError(t, c.Conn().(interface{ CloseWrite() error }).CloseWrite())
	}
	watcher := open()
	watcher.Do("PING")
	gone := func() { eventually(t, func() bool { return srv.connected() == 1 }, "it is gone") }

	c := open()
	d.hold()
	c.Send("SET", "k", "v")
	c.Send("GET", "k")
	eventually(t, d.held, "it waits for the disk")
	shut(c)
	nothingComes(t, c)
	d.release()
	require.Equal(t, "+OK", c.Receive().String())
	require.Equal(t, "v", c.Receive().Str)
	awaitClosed(t, c.Conn())
	gone()

	// A waiter is gone at once, and what it waits for is not given to it; its replies from before it gets.
	c = open()
	d.hold()
	c.Send("SET", "k", "w")
	c.Send("BLPOP", "l", "0")
	c.Send("SET", "behind", "1")
	eventually(t, d.held, "it waits for the disk")
	awaitParked(t, srv, 1)
	shut(c)
	awaitParked(t, srv, 0)
	watcher.Send("RPUSH", "l", "a")
	d.release()
	require.Equal(t, int64(1), watcher.Receive().Int)
	require.Equal(t, "+OK", c.Receive().String())
	awaitClosed(t, c.Conn())
	gone()
	require.Equal(t, int64(1), watcher.Do("LLEN", "l").Int)
	require.Zero(t, watcher.Do("EXISTS", "behind").Int)

	// A client without waiting replies is gone at once.
	c = open()
	c.Send("LOCK", "lock", "a", "WAIT", "0", "PX", "60000")
	require.Positive(t, c.Receive().Int)
	c.Send("BLPOP", "m", "0")
	awaitParked(t, srv, 1)
	shut(c)
	awaitParked(t, srv, 0)
	gone()

	// The server does not wait for the disk before it ends such a connection.
	c = open()
	d.hold()
	c.Send("SET", "k", "x")
	eventually(t, d.held, "it waits for the disk")
	shut(c)
	closed := make(chan error, 1)
	go func() { closed <- srv.Close() }()
	awaitClosed(t, c.Conn())
	d.release()
	require.NoError(t, <-closed)
}
