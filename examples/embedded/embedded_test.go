package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestOncePerOutlivesTheProgram: a job that has run does not run again when the program restarts.
func TestOncePerOutlivesTheProgram(t *testing.T) {
	dir := t.TempDir()
	for life := range 3 {
		srv, client, err := open(dir)
		require.NoError(t, err)
		require.Nil(t, srv.Addr(), "it listens nowhere")
		ran, err := oncePer(t.Context(), client, "report", time.Hour, func() {})
		require.NoError(t, err)
		require.Equal(t, life == 0, ran, "life %d", life)
		require.NoError(t, client.Close())
		require.NoError(t, srv.Close())
	}
}

// TestOptionsFromAnotherModule: another module can set options and directives, and a wrong directive is an
// error.
func TestOptionsFromAnotherModule(t *testing.T) {
	o := server.Options{Dir: t.TempDir(), Save: "3600 1", RequirePass: "secret", MaxMemory: 64 << 20, Addr: "127.0.0.1:0",
		Directives: map[string]string{"maxmemory-policy": "allkeys-lru", "notify-keyspace-events": "KEA"}}
	srv, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	require.Equal(t, "allkeys-lru", srv.Directives()["maxmemory-policy"])
	require.NotNil(t, srv.Addr())
	require.NoError(t, srv.Shutdown(server.ShutdownOptions{}))

	o.Directives["maxmemory-policy"] = "no such"
	_, err = server.New(o)
	require.ErrorContains(t, err, "maxmemory-policy")
}

func TestTwoServersOnOneDirectory(t *testing.T) {
	dir := t.TempDir()
	srv, _, err := open(dir)
	require.NoError(t, err)
	defer func() { _ = srv.Close() }()
	_, _, err = open(dir)
	require.Error(t, err)
}
