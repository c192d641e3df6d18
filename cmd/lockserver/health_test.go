package main

import (
	"bytes"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// health runs `lockserver health`.
func health(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"health"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestHealth(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	_, addr := startReady(t, t.TempDir(), "--save", "")
	code, out, errs := health("--addr", addr)
	require.Zero(t, code, errs)
	require.Equal(t, "ok\n", out)

	require.Equal(t, []string{"+OK"}, ask(t, addr, "CONFIG SET requirepass secret"))
	code, _, errs = health("--addr", addr)
	require.Zero(t, code, errs)
	code, _, _ = health("--addr", addr, "--password", "secret")
	require.Zero(t, code)
	code, _, _ = health("--addr", addr, "--user", "default", "--password", "secret")
	require.Zero(t, code)
	code, _, errs = health("--addr", addr, "--password", "wrong")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "lockserver health: WRONGPASS ")
}

// TestHealthOfNoServer: what is not a server, or is not ready, is not well.
func TestHealthOfNoServer(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 100))
			_, _ = conn.Write([]byte("-LOADING the data\r\n"))
			_ = conn.Close()
		}
	}()
	code, out, errs := health("--addr", ln.Addr().String())
	require.Equal(t, 1, code)
	require.Empty(t, out)
	require.Equal(t, "lockserver health: LOADING the data\n", errs)
	require.NoError(t, ln.Close())
	<-ended
	code, _, errs = health("--addr", ln.Addr().String())
	require.Equal(t, 1, code)
	require.Contains(t, errs, "connection refused")
	code, _, errs = health("more")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "--help")
	code, out, _ = health("--help")
	require.Zero(t, code)
	require.Equal(t, healthUsage, out)
}
