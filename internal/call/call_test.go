package call_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/call"
	"lockserver/server"
)

// dial returns a connection to a server of its own.
func dial(t *testing.T) *call.Conn {
	t.Helper()
	srv, err := server.New(server.Options{})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	nc, err := srv.Dial()
	require.NoError(t, err)
	c := call.New(nc, 10*time.Second)
	t.Cleanup(c.Close)
	return c
}

func TestCalls(t *testing.T) {
	c := dial(t)
	v, err := c.Do("PING")
	require.NoError(t, err)
	require.Equal(t, "PONG", v.Str)
	_, err = c.Do("GET")
	require.Equal(t, call.Error("ERR wrong number of arguments for 'get' command"), err)
	// The text is larger than the socket's buffers in both directions: neither side waits for the other.
	large := strings.Repeat("x", 4<<20)
	replies, err := c.All([]string{"ECHO", large}, []string{"NONSENSE"}, []string{"ECHO", large})
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, false}, []bool{replies[0].IsError(), replies[1].IsError(), replies[2].IsError()})
	require.ErrorContains(t, call.Failure(replies...), "unknown command")
	require.Equal(t, large, replies[2].Str)
	replies, err = c.All()
	require.NoError(t, err)
	require.Empty(t, replies)
}

func TestFields(t *testing.T) {
	c := dial(t)
	for _, version := range []string{"2", "3"} {
		_, err := c.Do("HELLO", version)
		require.NoError(t, err)
		_, err = c.Do("LOCK", "k", "me", "PX", "60000")
		require.NoError(t, err)
		v, err := c.Do("LOCK.INFO", "k")
		require.NoError(t, err)
		f := call.FieldsOf(v)
		require.Equal(t, "me", f.Text("owner"))
		require.Positive(t, f.Int("token"))
		require.WithinDuration(t, time.Now(), *f.Moment("held-since"), time.Minute)
		require.Nil(t, f.Moment("nothing"))
		require.Empty(t, f.List("waiters"))
		require.False(t, f.Flag("watchdog"))
		v, err = c.Do("LOCK.LIST", "CURSOR", "0")
		require.NoError(t, err)
		next, found := call.Piece(v)
		require.Equal(t, "0", next)
		require.Len(t, found, 1)
	}
}

// TestLost: a connection that breaks, answers too late or sends nonsense cannot be used any more.
func TestLost(t *testing.T) {
	for name, behave := range map[string]func(net.Conn){
		"it closes":    func(nc net.Conn) { _ = nc.Close() },
		"it is silent": func(net.Conn) {},
		"it babbles":   func(nc net.Conn) { _, _ = nc.Write([]byte("HTTP/1.1 400 Bad Request\r\n")) },
	} {
		near, far := net.Pipe()
		go behave(far)
		c := call.New(near, 50*time.Millisecond)
		_, err := c.Do("PING")
		require.ErrorIs(t, err, call.ErrLost, name)
		_, err = c.Do("PING")
		require.Equal(t, call.ErrLost, err, name)
		_ = far.Close()
	}
}
