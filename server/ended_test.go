package server

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/tests/testkit"
)

// TestConnectWhileEnding: a client that connects while the server ends on request finds its connection
// closed, as with Redis. It gets no error that it would take for that of its command. A server with data that
// may be damaged says so.
func TestConnectWhileEnding(t *testing.T) {
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		fail := func(err error) {
			srv.executor.Mu.Lock()
			srv.executor.Failed = err
			srv.executor.Mu.Unlock()
		}
		defer fail(nil)
		for _, tt := range []struct {
			failed error
			reply  string
		}{{errClosed, ""}, {errDamaged, "-" + string(commands.ErrInternal) + "\r\n"}} {
			fail(tt.failed)
			conn, err := dial()
			require.NoError(t, err)
			require.NoError(t, conn.SetDeadline(time.Now().Add(soon)))
			got, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, tt.reply, string(got))
			require.NoError(t, conn.Close())
		}
	})
}

// TestEndOfABusyScript: a script that has written nothing is stopped when the server ends on request. Its
// client gets no reply, neither alone nor in a transaction.
func TestEndOfABusyScript(t *testing.T) {
	t.Parallel()
	onEveryTransportBusy(t, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b := testkit.Dial(t, dial), testkit.Dial(t, dial)
		require.Equal(t, "+OK", a.Do("MULTI").String())
		a.Do("GET", "k")
		a.Do("EVAL", "while true do end", "0")
		a.Send("EXEC")
		awaitBusy(t, a, b, busyReply)
		require.NoError(t, srv.Shutdown(ShutdownOptions{NoSave: true}))
		got, err := a.Next()
		require.Error(t, err, "no command has failed: %v", got)
	})
}

// TestMigrateAtTheEnd: a MIGRATE that the end of the server cuts off is answered by no error of the other
// server.
func TestMigrateAtTheEnd(t *testing.T) {
	onSomeTransports(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = silent.Close() }()
		host, port, err := net.SplitHostPort(silent.Addr().String())
		require.NoError(t, err)
		c := testkit.Dial(t, dial)
		require.Equal(t, "+OK", c.Do("SET", "k", "v").String())
		c.Send("MIGRATE", host, port, "k", "0", "60000")
		other, err := silent.Accept()
		require.NoError(t, err)
		defer func() { _ = other.Close() }()
		require.NoError(t, srv.Close())
		got, err := c.Next()
		require.Error(t, err, "no command has failed: %v", got)
	})
}
