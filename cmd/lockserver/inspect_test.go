package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/call"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// inspected runs one of the commands that look into a server to its end.
func inspected(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	c := start(t, t.TempDir(), args...)
	code = c.exit(t)
	return code, c.Stdout.String(), c.Stderr.String()
}

// TestInspection looks at a server that runs, by each of the commands.
func TestInspection(t *testing.T) {
	t.Parallel()
	_, addr := startReady(t, t.TempDir(), "--save", "")
	require.Len(t, ask(t, addr, "LOCK order:1 alice PX 60000", "LOCK order:2 bob PX 60000"), 2)
	code, out, _ := inspected(t, "locks", "--addr", addr, "--owner", "alice")
	require.Zero(t, code)
	require.Regexp(t, `^KEY .*\norder:1  alice  1 .*\n$`, out)
	code, out, _ = inspected(t, "why", "--addr", addr, "order:2")
	require.Zero(t, code)
	require.Contains(t, out, "order:2 is held by bob\n")
	code, out, _ = inspected(t, "why", "--addr", addr, "--json", "free")
	require.Zero(t, code)
	require.JSONEq(t, `{"key": "free", "lock": null}`, out)
	code, out, _ = inspected(t, "top", "--addr", addr, "--interval", "100ms")
	require.Zero(t, code)
	require.Contains(t, out, "order:1")
	require.NotContains(t, out, "\x1b", "a pipe is no terminal")
}

// TestInspectionOverTLS logs in as a user, over TLS.
func TestInspectionOverTLS(t *testing.T) {
	authority := testkit.NewAuthority(t)
	own, me := authority.Issue("localhost", time.Now().Add(time.Hour)), authority.Issue("me", time.Now().Add(time.Hour))
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own.Certificate},
		ClientCAs: authority.Pool(), ClientAuth: tls.RequireAndVerifyClientCert})
	require.NoError(t, err)
	srv, err := server.New(server.Options{Listener: l, Directives: map[string]string{"user": "ops on >pw +@all ~order:*"}})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	defer func() { _ = srv.Close() }()
	c := testkit.Dial(t, srv.Dial)
	defer c.Close()
	c.Do("LOCK", "order:1", "alice", "PX", "60000")
	c.Do("LOCK", "other", "bob", "PX", "60000")
	locks := func(args ...string) (int, string, string) {
		var out, stderr strings.Builder
		code := run(append([]string{"locks", "--addr", l.Addr().String(), "--user", "ops"}, args...), &out, &stderr)
		return code, out.String(), stderr.String()
	}
	safe := []string{"--password", "pw", "--tls", "--cacert", authority.File, "--cert", me.CertFile, "--key", me.KeyFile}
	code, out, _ := locks(safe...)
	require.Zero(t, code)
	require.Contains(t, out, "order:1")
	require.NotContains(t, out, "other", "that user may not see it")
	code, _, stderr := locks(append(safe, "--sni", "elsewhere")...)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "elsewhere")
	code, _, stderr = locks("--password", "pw", "--tls")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "unknown authority")
	code, _, _ = locks("--password", "pw", "--tls", "--insecure", "--cert", me.CertFile, "--key", me.KeyFile)
	require.Zero(t, code)
}

// TestInspectionOfShards: each command has what all shards have, over TLS and as a user with a password.
func TestInspectionOfShards(t *testing.T) {
	t.Parallel()
	authority := testkit.NewAuthority(t)
	own, me := authority.Issue("127.0.0.1", time.Now().Add(time.Hour)), authority.Issue("me", time.Now().Add(time.Hour))
	port := testkit.FreePorts(t, 6)
	_, addr := startReady(t, t.TempDir(), "--shards", "3", "--save", "", "--requirepass", "pw", "--port", fmt.Sprint(port+3), "--tls-port", fmt.Sprint(port),
		"--tls-cert-file", own.CertFile, "--tls-key-file", own.KeyFile, "--tls-ca-cert-file", authority.File)
	keys := []string{"{b}", "{c}", "{a}"} // in the order of the shards
	slots, err := dialed(t, addr).Do("CLUSTER", "SLOTS")
	require.NoError(t, err)
	for i, of := range slots.Elems {
		v, err := dialed(t, fmt.Sprint("127.0.0.1:", of.Elems[2].Elems[1].Int)).Do("LOCK", keys[i], fmt.Sprint("owner-", i+1), "PX", "600000")
		require.NoError(t, err)
		require.Positive(t, v.Int)
	}
	look := func(name string, args ...string) string {
		code, out, stderr := inspected(t, append([]string{name, "--addr", fmt.Sprint("127.0.0.1:", port+1), "--password", "pw", "--tls", "--cacert", authority.File,
			"--cert", me.CertFile, "--key", me.KeyFile}, args...)...)
		require.Zero(t, code, stderr)
		return out
	}
	out, top, history := look("locks"), look("top", "--interval", "100ms"), look("history")
	for i, key := range keys {
		shard := fmt.Sprint(i + 1)
		require.Regexp(t, `(?m)^`+shard+` +`+regexp.QuoteMeta(key)+` +owner-`+shard, out)
		require.Regexp(t, `(?m)^ +`+shard+` +`+regexp.QuoteMeta(key)+` +owner-`+shard, top)
		require.Regexp(t, `shard `+shard+`  granted +`+regexp.QuoteMeta(key), history)
		require.Regexp(t, `is held by owner-`+shard+`\n  shard     `+shard, look("why", key))
		require.NotContains(t, look("history", "--lock", key), "shard "+fmt.Sprint((i+1)%3+1))
	}
}

// TestInspectionRefuses what it cannot do, in one line.
func TestInspectionRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"why", "lockserver why: try: lockserver why --help\n"},
		{"why a b", "lockserver why: try: lockserver why --help\n"},
		{"locks --owners x", "lockserver locks: unknown flag --owners; try: lockserver locks --help\n"},
		{"top --addr here", "lockserver top: the address is host:port, or the path of a unix socket: address here: missing port in address\n"},
		{"locks --cacert ca.pem", "lockserver locks: --insecure, --cacert, --cert, --key and --sni need --tls\n"},
		{"locks --tls --cacert missing.pem", "lockserver locks: open missing.pem: no such file or directory\n"},
	} {
		code, out, stderr := inspected(t, strings.Fields(c.args)...)
		require.Equal(t, 1, code, c.args)
		require.Empty(t, out)
		require.Equal(t, c.want, stderr)
	}
	for _, name := range []string{"top", "locks", "why"} {
		code, out, _ := inspected(t, name, "--help")
		require.Zero(t, code)
		require.Contains(t, out, "Usage: lockserver "+name)
		require.Contains(t, out, "--addr host:port")
	}
}

// dialed returns a connection to a server with the password pw.
func dialed(t *testing.T, addr string) *call.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	c := call.New(nc, time.Minute)
	t.Cleanup(c.Close)
	_, err = c.Do("AUTH", "pw")
	require.NoError(t, err)
	return c
}
