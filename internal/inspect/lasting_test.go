package inspect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// startAt starts a server that listens at an address.
func startAt(t *testing.T, addr string) *server.Server {
	t.Helper()
	var srv *server.Server
	require.Eventually(t, func() bool { // the port may be in use for a moment
		var err error
		srv, err = server.New(server.Options{Addr: addr})
		require.NoError(t, err)
		return srv.Start() == nil
	}, 30*time.Second, 10*time.Millisecond)
	t.Cleanup(func() { _ = srv.Close() })
	return srv
}

// TestServerThatRestarts: while the server is away the reason is reported. When it is back the questions are
// answered, over a new connection.
func TestServerThatRestarts(t *testing.T) {
	srv := startAt(t, "127.0.0.1:0")
	addr := srv.Addr().String()
	first, err := Connect(t.Context(), Target{Addr: addr})
	require.NoError(t, err)
	l := first.Lasting(t.Context())
	defer l.Close()
	sample, err := l.Sample()
	require.NoError(t, err)
	require.Equal(t, addr, sample.Addr)
	require.NoError(t, srv.Close())
	for range 2 {
		_, err = l.Sample()
		require.ErrorContains(t, err, "refused")
		_, err = l.Why("door")
		require.Error(t, err)
	}
	c := client(t, startAt(t, addr))
	c.Do("LOCK", "door", "alice")
	sample, err = l.Sample()
	require.NoError(t, err)
	require.EqualValues(t, 1, sample.Stats.Held)
	reason, err := l.Why("door")
	require.NoError(t, err)
	require.Equal(t, "alice", reason.Lock.Owner)
}
