//go:build raft && unix

package raft

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// readBundle returns the files of a bundle. What is packed once more is unpacked.
func readBundle(t *testing.T, path string) (files map[string]string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	packed, err := gzip.NewReader(f)
	require.NoError(t, err)
	files = map[string]string{}
	for in := tar.NewReader(packed); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		if again, err := gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = io.ReadAll(again)
			require.NoError(t, err, head.Name)
		}
		name, ok := strings.CutPrefix(head.Name, "lockserver-bundle/")
		require.True(t, ok, head.Name)
		files[name] = string(text)
	}
}

// TestBundleOfAGroup: a bundle has the state of all members and what each shows. It says why something of a
// member that is away, or of a server without profiles, is missing.
func TestBundleOfAGroup(t *testing.T) {
	program := testkit.Lockserver(t)
	g := fleet.Prepare(t, "", program, program, program)
	for i, p := range g.Members {
		lines := "admin-port " + testkit.FreePort(t) + "\nadmin-debug yes\n"
		if i == 1 {
			lines = ""
		}
		f, err := os.OpenFile(filepath.Join(p.Dir(), "members"), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(lines)
		require.NoError(t, errors.Join(err, f.Close()))
		p.Launch()
	}
	leader := g.AwaitLeader()
	require.Equal(t, "OK", leader.Try("CONFIG", "SET", "slowlog-log-slower-than", "0").Str)
	eventually(t, "it is written", func() bool { return g.Leader().Try("SET", "key", "1").Str == "OK" })
	to := filepath.Join(t.TempDir(), "bundle.tar.gz")
	out, ok := ran(t, "debug", "bundle", to, "--addr", leader.Addr(), "--seconds", "1")
	require.True(t, ok, out)
	files := readBundle(t, to)
	require.Contains(t, files["status.json"], `"role": "leader"`)
	require.Contains(t, files["status.txt"], "ROUND TRIP P99")
	for i, p := range g.Members {
		dir := g.ID(p) + "/"
		require.Contains(t, files[dir+"info.txt"], "\nraft_id:"+g.ID(p)+"\r\n")
		require.Contains(t, files[dir+"config.txt"], "\nraft-id \""+g.ID(p)+"\"\n")
		if i == 1 {
			require.Contains(t, files[dir+"metrics.txt.missing.txt"], "no admin port")
			require.Contains(t, files[dir+"heap.pprof.missing.txt"], "no admin port")
			continue
		}
		require.Contains(t, files[dir+"metrics.txt"], "lockserver_raft_log_sync_seconds_count")
		require.Contains(t, files[dir+"log.txt"], "Server initialized")
		for _, name := range []string{"heap.pprof", "cpu.pprof"} {
			require.NotEmpty(t, files[dir+name], name)
			require.NotContains(t, files, dir+name+".missing.txt")
		}
		require.Contains(t, files[dir+"goroutines.txt"], "goroutine profile: total")
	}
	require.Contains(t, files[g.ID(leader)+"/slowlog.txt"], `"SET" "key" "1"`)

	out, ok = ran(t, "debug", "bundle", to, "--addr", leader.Addr())
	require.False(t, ok)
	require.Contains(t, out, "exists already")
	gone := g.Members[2]
	if gone == leader {
		gone = g.Members[0]
	}
	gone.Kill()
	require.NoError(t, os.Remove(to))
	out, ok = ran(t, "debug", "bundle", to, "--addr", leader.Addr(), "--seconds", "1")
	require.True(t, ok, out)
	files = readBundle(t, to)
	require.Contains(t, files[g.ID(gone)+"/info.txt.missing.txt"], "refused")
	require.Contains(t, files[g.ID(gone)+"/cpu.pprof.missing.txt"], "refused")
	require.Contains(t, files[g.ID(leader)+"/info.txt"], "raft_id:")
}

// TestBundleHasNoSecret: every directive that may hold a secret has one, and users, calls and failed logins
// have more. None of them is in a bundle, nor its hash.
func TestBundleHasNoSecret(t *testing.T) {
	var secrets []string
	secret := func() string {
		s := "secret" + strings.ToLower(rand.Text())
		secrets = append(secrets, s)
		return s
	}
	program := testkit.Lockserver(t)
	var conf strings.Builder
	password := ""
	given := 0
	for _, name := range slices.Sorted(maps.Keys(config.Default().Directives())) {
		if !config.IsSecret(name) {
			continue
		}
		given++
		switch s := secret(); name {
		case "user":
			fmt.Fprintf(&conf, "user inconf on >%s ~* +@all\n", s)
		case "otlp-endpoint":
			fmt.Fprintf(&conf, "otlp-endpoint http://u:%s@127.0.0.1:%s\n", s, testkit.FreePort(t))
		case "requirepass":
			password = s
			fmt.Fprintf(&conf, "requirepass %s\n", s)
		default:
			fmt.Fprintf(&conf, "%s %s\n", name, s)
		}
	}
	require.Greater(t, given, 5)
	fmt.Fprintf(&conf, "admin-port %s\nadmin-debug yes\nslowlog-log-slower-than 0\nloglevel debug\n", testkit.FreePort(t))
	p := fleet.NewProcess(t, program, conf.String())
	p.Launch()
	var conn net.Conn
	eventually(t, "it listens", func() (ok bool) {
		var err error
		conn, err = net.Dial("tcp", p.Addr())
		return err == nil
	})
	c := testkit.NewClient(t, conn)
	defer c.Close()
	require.Equal(t, "OK", c.Do("AUTH", password).Str)
	require.Equal(t, "OK", c.Do("ACL", "SETUSER", "alice", "on", ">"+secret(), "~*", "+@all").Str)
	c.Do("AUTH", "alice", secret())
	c.Do("HELLO", "3", "AUTH", "alice", secret())
	c.Do("AUTH", secret())
	c.Do("MIGRATE", "127.0.0.1", testkit.FreePort(t), "nokey", "0", "10", "AUTH", secret())
	c.Do("MIGRATE", "127.0.0.1", testkit.FreePort(t), "nokey", "0", "10", "AUTH2", secret(), secret())
	require.Equal(t, "OK", c.Do("CONFIG", "SET", "masterauth", secret()).Str)
	c.Do("ACL", "SETUSER", "bad", "+nosuchcommand", secret())
	c.Do("CONFIG", "SET", "nosuchdirective", "1", "requirepass", secret())
	to := filepath.Join(t.TempDir(), "bundle.tar.gz")
	out, ok := ran(t, "debug", "bundle", to, "--addr", p.Addr(), "--password", password, "--seconds", "1")
	require.True(t, ok, out)
	files := readBundle(t, to)
	for _, name := range []string{"info.txt", "config.txt", "slowlog.txt", "metrics.txt", "log.txt", "heap.pprof", "cpu.pprof", "goroutines.txt"} {
		require.NotEmpty(t, files["server0/"+name], "%s: %s", name, files["server0/"+name+".missing.txt"])
	}
	require.Contains(t, files["server0/config.txt"], "\nrequirepass \"(hidden)\"\n")
	require.Contains(t, files["server0/slowlog.txt"], `"MIGRATE"`)
	for name, text := range files {
		for _, s := range secrets {
			require.NotContains(t, text, s, name)
			require.NotContains(t, text, fmt.Sprintf("%x", sha256.Sum256([]byte(s))), name)
		}
	}
}
