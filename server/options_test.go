package server

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is kept in Dir is there in the next life, whichever way it was kept.
func TestOptionsKeepFiles(t *testing.T) {
	for _, o := range []Options{
		{Save: "3600 1"},
		{AppendOnly: true, AppendFsync: "always"},
		{AppendOnly: true},
		{Directives: map[string]string{"save": "3600 1"}},
	} {
		o.Dir = t.TempDir()
		srv := start(t, o)
		require.Equal(t, "+OK", client(t, srv).Do("SET", "k", "v").String())
		require.NoError(t, srv.Shutdown(ShutdownOptions{}))
		again := start(t, o)
		require.Equal(t, "v", client(t, again).Do("GET", "k").Str, "%+v", o)
		require.NoError(t, again.Close())
	}
}

func TestOptionsFields(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := ln.Addr().String()
	require.NoError(t, ln.Close())
	srv := start(t, Options{Addr: addr, RequirePass: "secret", MaxMemory: 1 << 30,
		Directives: map[string]string{"maxmemory-policy": "allkeys-lru", "Databases": "3"}})
	require.Equal(t, addr, srv.Addr().String())
	c := client(t, srv)
	require.Equal(t, "-NOAUTH Authentication required.", c.Do("GET", "k").String())
	require.Equal(t, "+OK", c.Do("AUTH", "secret").String())
	require.Equal(t, `["maxmemory" "1073741824"]`, c.Do("CONFIG", "GET", "maxmemory").String())
	require.Equal(t, "allkeys-lru", srv.Directives()["maxmemory-policy"])
	require.Equal(t, "-ERR DB index is out of range", c.Do("SELECT", "3").String())
	for _, addr := range []string{":0", "0.0.0.0:0", "localhost:0"} {
		require.NotZero(t, start(t, Options{Addr: addr}).Addr().(*net.TCPAddr).Port)
	}
}

func TestOptionsRefuse(t *testing.T) {
	for _, tt := range []struct {
		options Options
		says    string
	}{
		{Options{AppendOnly: true}, "Dir"},
		{Options{Save: "60 1"}, "Dir"},
		{Options{Addr: "7000"}, "Addr"},
		{Options{Addr: "localhost:x"}, "port"},
		{Options{Dir: t.TempDir(), Save: "soon"}, "save"},
		{Options{Dir: t.TempDir(), AppendFsync: "often"}, "appendfsync"},
		{Options{MaxMemory: -1}, "maxmemory"},
		{Options{RequirePass: "a", Directives: map[string]string{"requirepass": "b"}}, "requirepass is given in Directives and in a field"},
		{Options{Directives: map[string]string{"no-such": "1"}}, "no-such"},
	} {
		_, err := newInstance(tt.options)
		require.ErrorContains(t, err, tt.says)
	}
	srv, err := newInstance(Options{Dir: filepath.Join(t.TempDir(), "missing"), AppendOnly: true})
	require.NoError(t, err)
	require.Error(t, srv.Start())
	require.NoError(t, srv.Close())
}
