package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
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

// TestHealthOfShards: a process is ready if all its shards are, whichever is asked and whatever ports they
// announce. It lives while the asked server lives.
func TestHealthOfShards(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	for _, announced := range []string{"0", "9"} {
		port := testkit.FreePorts(t, 3)
		startReady(t, t.TempDir(), "--shards", "3", "--save", "", "--port", fmt.Sprint(port), "--test-mode", "yes", "--cluster-announce-port", announced)
		at := func(shard int) string { return fmt.Sprint("127.0.0.1:", port+shard) }
		for shard := range 3 {
			code, out, errs := health("--addr", at(shard))
			require.Zero(t, code, errs)
			require.Equal(t, "ok\n", out)
		}
		require.Equal(t, []string{"+OK"}, ask(t, at(0), "TEST.SHARD KILL 3"))
		for shard := range 2 {
			code, _, errs := health("--addr", at(shard))
			require.Equal(t, 1, code)
			require.Contains(t, errs, "lockserver health: the shard at "+at(2)+": ")
			code, _, errs = health("--addr", at(shard), "--live")
			require.Zero(t, code, errs)
		}
	}
}

// TestBundleOfShards: a bundle has the facts of all shards of a process.
func TestBundleOfShards(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	port := testkit.FreePorts(t, 3)
	startReady(t, t.TempDir(), "--shards", "3", "--save", "", "--port", fmt.Sprint(port))
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"debug", "bundle", file, "--addr", fmt.Sprint("127.0.0.1:", port+1), "--seconds", "1"}, &stdout, &stderr), stderr.String())
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	unzipped, err := gzip.NewReader(f)
	require.NoError(t, err)
	found := map[string]string{}
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		text, err := io.ReadAll(files)
		require.NoError(t, err)
		found[filepath.Base(filepath.Dir(h.Name))+"/"+filepath.Base(h.Name)] = string(text)
	}
	for shard := range 3 {
		require.Contains(t, found[fmt.Sprintf("server0-shard%d/info.txt", shard+1)], fmt.Sprintf("tcp_port:%d\r\n", port+shard))
	}
}

// TestHealthOverTLS: a server is probed through an encrypted port. A client that does not know the server's
// authority, or has no certificate, says that it is not well.
func TestHealthOverTLS(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	authority := testkit.NewAuthority(t)
	own, me := authority.Issue("localhost", time.Now().Add(time.Hour)), authority.Issue("me", time.Now().Add(time.Hour))
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own.Certificate},
		ClientCAs: authority.Pool(), ClientAuth: tls.RequireAndVerifyClientCert})
	require.NoError(t, err)
	srv, err := server.New(server.Options{Listener: l})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	defer func() { _ = srv.Close() }()
	probe := []string{"--addr", l.Addr().String(), "--tls", "--cert", me.CertFile, "--key", me.KeyFile}
	for _, more := range [][]string{nil, {"--ready"}} {
		code, out, errs := health(append(append(probe, "--cacert", authority.File), more...)...)
		require.Zero(t, code, errs)
		require.Equal(t, "ok\n", out)
	}
	code, _, errs := health(probe...)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "unknown authority")
	code, _, _ = health("--addr", l.Addr().String(), "--tls", "--cacert", authority.File)
	require.Equal(t, 1, code, "without a certificate")
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

// member is a listener that answers as a member of a group that does not lead. data is its reply to a
// command on data. leader is the leader that it knows, by RAFT INFO.
func member(t *testing.T, data, leader string) string {
	t.Helper()
	return memberBehind(t, data, leader, 0)
}

// memberBehind is member for a member that is lagMS milliseconds behind.
func memberBehind(t *testing.T, data, leader string, lagMS int) string {
	t.Helper()
	return memberSays(t, data, fmt.Sprintf("raft_role:follower\r\nraft_leader_address:%s\r\nraft_lag_ms:%d\r\n", leader, lagMS))
}

// memberSays is a member that answers commands on data with a reply, and has these fields in INFO.
func memberSays(t *testing.T, data, fields string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for {
					asked, err := resp.ReadValue(in)
					if err != nil {
						return
					}
					reply := "+OK"
					switch asked.Elems[0].Str {
					case "PING":
						reply = "+PONG"
					case "HELLO":
						reply = "%0"
					case "COMMAND":
						reply = "*1\r\n*1\r\n:1"
					case "EXISTS":
						reply = data
					case "RAFT", "INFO":
						info := "# Raft\r\n" + fields
						reply = fmt.Sprintf("$%d\r\n%s", len(info), info)
					}
					_, _ = conn.Write([]byte(reply + "\r\n"))
				}
			}()
		}
	}()
	return ln.Addr().String()
}

// TestHealthOfAMember: a member without a leader serves no client; a member that redirects clients is
// healthy.
func TestHealthOfAMember(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	code, _, errs := health("--addr", member(t, "-CLUSTERDOWN The cluster is down", ""))
	require.Equal(t, 1, code)
	require.Equal(t, "lockserver health: CLUSTERDOWN The cluster is down\n", errs)
	for _, data := range []string{"-MOVED 1 192.0.2.1:1", "-READONLY You can't write against a read only replica.", "-NOPERM no", ":0"} {
		code, _, errs = health("--addr", member(t, data, "192.0.2.1:1"))
		require.Zero(t, code, errs)
	}
}

// TestHealthOfAFollower: a follower that is too far behind is alive, and not ready.
func TestHealthOfAFollower(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	behind := memberBehind(t, "-MOVED 1 192.0.2.1:1", "192.0.2.1:1", 12_345)
	code, _, errs := health("--addr", behind)
	require.Equal(t, 1, code)
	require.Equal(t, "lockserver health: it does not have what was committed in the last 12.345s\n", errs)
	for _, args := range [][]string{{"--live"}, {"--ready", "--max-lag", "13s"}} {
		code, _, errs = health(append(args, "--addr", behind)...)
		require.Zero(t, code, errs)
	}
	down := member(t, "-CLUSTERDOWN The cluster is down", "")
	code, _, _ = health("--addr", down, "--ready")
	require.Equal(t, 1, code)
	code, _, errs = health("--addr", down, "--live")
	require.Zero(t, code, errs)
	t.Setenv("LOCKSERVER_HEALTH", "--addr "+behind+" --max-lag 20s")
	code, _, errs = health()
	require.Zero(t, code, errs)
	code, _, errs = health("--live", "--ready")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "--help")
}

// TestHealthTellsOfAlarms: what an operator has to look at is printed, and the server is well.
func TestHealthTellsOfAlarms(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	for _, data := range []string{"-MOVED 1 192.0.2.1:1", ":0"} {
		code, out, errs := health("--addr", memberSays(t, data, "raft_alarms:1\r\nraft_alarm:the clock of 'c' is 1m0s behind\r\n"))
		require.Zero(t, code)
		require.Equal(t, "ok\n", out)
		require.Equal(t, "lockserver health: alarms: the clock of 'c' is 1m0s behind\n", errs)
	}
}

// TestPasswordFile: the password is read from a file.
func TestPasswordFile(t *testing.T) {
	t.Setenv("REDISCLI_AUTH", "")
	dir := t.TempDir()
	path := filepath.Join(dir, "password")
	require.NoError(t, os.WriteFile(path, []byte("secret\n"), 0o600))
	_, addr := startReady(t, dir, "--save", "", "--requirepass-file", path)
	require.Equal(t, []string{"+OK"}, ask(t, addr, "AUTH secret"))
	code, _, errs := health("--addr", addr, "--pass-file", path)
	require.Zero(t, code, errs)
	code, out, errs := inspected(t, "locks", "--addr", addr, "--pass-file", path)
	require.Zero(t, code, errs)
	require.Contains(t, out, "no lock is held")
	require.NoError(t, os.WriteFile(path, []byte("wrong\n"), 0o600))
	code, _, errs = health("--addr", addr, "--pass-file", path)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "WRONGPASS")
	code, _, errs = health("--addr", addr, "--pass-file", path+"s")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "no such file")
	c := testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
	defer c.Close()
	require.Equal(t, "OK", c.Do("AUTH", "secret").Str)
	require.Equal(t, "OK", c.Do("CONFIG", "SET", "requirepass-file", path).Str)
	code, _, errs = health("--addr", addr, "--pass-file", path)
	require.Zero(t, code, "the server has read it again: %s", errs)
}

// TestPasswordFileOutlivesConfigRewrite: the file stays the source of the password after a CONFIG REWRITE,
// which writes no hash of it, and a changed file counts at the next start.
func TestPasswordFileOutlivesConfigRewrite(t *testing.T) {
	dir := t.TempDir()
	path, conf := filepath.Join(dir, "password"), filepath.Join(dir, "lock.conf")
	put := func(file, text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	put(conf, "port 0\nsave \"\"\ndir "+dir+"\nrequirepass-file "+path+"\n")
	put(path, "first\n")
	restart := func(c *child) (*child, string) {
		if c != nil {
			code, err := c.Terminate()
			require.NoError(t, err)
			require.Zero(t, code)
		}
		c = start(t, dir, conf)
		return c, c.ready(t)
	}
	say := func(addr string, lines ...string) (said []string) {
		c := testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
		defer c.Close()
		for _, line := range lines {
			said = append(said, c.Do(strings.Fields(line)...).String())
		}
		return said
	}
	c, addr := restart(nil)
	require.Equal(t, []string{"+OK", "+OK", "+OK"}, say(addr, "AUTH first", "ACL SETUSER ann on >hers ~a", "CONFIG REWRITE"))
	text, err := os.ReadFile(conf)
	require.NoError(t, err)
	require.Contains(t, string(text), "requirepass-file "+path)
	require.Contains(t, string(text), "user ann ")
	require.NotContains(t, string(text), "user default", "nothing but its password was set")

	put(path, "second\n")
	c, addr = restart(c)
	require.Equal(t, []string{"+OK", "+OK"}, say(addr, "AUTH second", "AUTH ann hers"))
	require.Contains(t, say(addr, "AUTH first")[0], "WRONGPASS")
	require.Equal(t, []string{"+OK", "+OK", "+OK"}, say(addr, "AUTH second", "ACL SETUSER default -flushall", "CONFIG REWRITE"))

	put(path, "third\n")
	c, addr = restart(c)
	require.Contains(t, say(addr, "AUTH second")[0], "WRONGPASS")
	said := say(addr, "AUTH third", "FLUSHALL")
	require.Equal(t, "+OK", said[0])
	require.Contains(t, said[1], "NOPERM", "its other rules are kept")
	require.NotContains(t, c.Log(), "requirepass-file")

	for _, passwords := range []string{">old", "nopass"} { // as an earlier version, or an operator, has written it
		text, err = os.ReadFile(conf)
		require.NoError(t, err)
		put(conf, regexp.MustCompile(`(?m)^user default .*\n`).ReplaceAllString(string(text), "")+"user default on "+passwords+" ~* &* +@all\n")
		c, addr = restart(c)
		require.Contains(t, say(addr, "PING")[0], "NOAUTH")
		require.Contains(t, say(addr, "AUTH old")[0], "WRONGPASS")
		require.Equal(t, []string{"+OK"}, say(addr, "AUTH third"))
		require.Contains(t, c.Log(), "the passwords of the user default in the configuration do not count: requirepass-file has its password")
	}
}

// TestInspectionFollows: a member that does not lead sends on to the leader, and flags may stand behind the
// key.
func TestInspectionFollows(t *testing.T) {
	_, addr := startReady(t, t.TempDir(), "--save", "")
	ask(t, addr, "LOCK order:42 alice PX 60000")
	follower := member(t, "-MOVED 1 "+addr, "")
	bySentinels := member(t, "-READONLY You can't write against a read only replica.", addr)
	for _, args := range [][]string{{"why", "order:42", "--addr", follower}, {"why", "--addr", follower, "order:42"},
		{"why", "--addr", follower, "--", "order:42"}, {"locks", "--addr", follower},
		{"why", "order:42", "--addr", bySentinels}, {"locks", "--addr", bySentinels}} {
		code, out, errs := inspected(t, args...)
		require.Zero(t, code, errs)
		require.Contains(t, out, "alice", args)
	}
	code, _, errs := inspected(t, "why", "a", "b", "--addr", follower)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "--help")
}
