package debug_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
)

// place is a server with files, and a connection to it.
type place struct {
	t    *testing.T
	srv  *server.Server
	conn net.Conn
	r    *bufio.Reader
}

// openIn starts a server on the files of a directory.
func openIn(t *testing.T, dir string, directives map[string]string) *place {
	t.Helper()
	all := map[string]string{"enable-debug-command": "yes"}
	for name, value := range directives {
		all[name] = value
	}
	srv, err := server.New(server.Options{Dir: dir, Directives: all})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	p := &place{t: t, srv: srv}
	p.conn, p.r = p.dial()
	return p
}

func (p *place) dial() (net.Conn, *bufio.Reader) {
	conn, err := p.srv.Dial()
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(p.t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn, bufio.NewReader(conn)
}

// do runs a command and returns the first line of its reply, of a bulk the text.
func (p *place) do(words ...string) string {
	p.t.Helper()
	var args [][]byte
	for _, w := range words {
		args = append(args, []byte(w))
	}
	_, err := p.conn.Write(resp.AppendCommand(nil, args...))
	require.NoError(p.t, err)
	return readLine(p.t, p.r)
}

func readLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	if n := 0; line[0] == '$' && line != "$-1\r\n" {
		_, err = fmt.Sscanf(line, "$%d", &n)
		require.NoError(t, err)
		text := make([]byte, n+2)
		_, err = io.ReadFull(r, text)
		require.NoError(t, err)
		return string(text[:n])
	}
	return strings.TrimSuffix(line, "\r\n")
}

// fill makes a key of each type, and a library of functions.
func (p *place) fill() {
	p.t.Helper()
	for _, line := range []string{"SET s v", "SET t v EX 1000", "RPUSH l a b", "SADD st a b", "ZADD z 1 a 2 b", "HSET h f v",
		"XADD x 1-1 f v", "BF.ADD b a"} {
		require.NotContains(p.t, p.do(strings.Fields(line)...), "-ERR", line)
	}
	require.Equal(p.t, "lib", p.do("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 7 end)"))
}

const (
	noSnapshot = "-ERR Error trying to load the RDB dump, check server logs."
	noLog      = "-ERR Error trying to load the AOF files, check server logs."
)

// The replies, and what becomes of the data, are those of Redis 7.4.1.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	p := openIn(t, dir, nil)
	require.Equal(t, noSnapshot, p.do("DEBUG", "RELOAD", "NOSAVE"), "there is no file")
	p.fill()
	digest := p.do("DEBUG", "DIGEST")
	require.Equal(t, "+OK", p.do("DEBUG", "RELOAD"))
	require.Equal(t, digest, p.do("DEBUG", "DIGEST"))
	require.Equal(t, ":7", p.do("FCALL", "f", "0"))
	require.FileExists(t, filepath.Join(dir, "dump.rdb"))

	require.Equal(t, "+OK", p.do("SET", "s", "other"))
	require.Equal(t, "+OK", p.do("SET", "new", "1"))
	require.Equal(t, noSnapshot, p.do("DEBUG", "RELOAD", "NOSAVE", "NOFLUSH"), "the library is there")
	require.Equal(t, "other", p.do("GET", "s"))
	require.Equal(t, "+OK", p.do("DEBUG", "RELOAD", "nosave", "noflush", "merge"))
	require.Equal(t, "v", p.do("GET", "s"))
	require.Equal(t, "1", p.do("GET", "new"))
	require.Equal(t, "+OK", p.do("DEBUG", "RELOAD", "NOSAVE"))
	require.Equal(t, "$-1", p.do("GET", "new"))
	require.Equal(t, digest, p.do("DEBUG", "DIGEST"))
	require.Equal(t, "-ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.", p.do("DEBUG", "RELOAD", "all"))
	require.Equal(t, noLog, p.do("DEBUG", "LOADAOF"))
	require.Equal(t, ":0", p.do("DBSIZE"), "what there was is forgotten first")
}

// Half-loaded data is neither served nor saved. The server ends, as Redis does.
func TestReloadOfDamage(t *testing.T) {
	dir := t.TempDir()
	p := openIn(t, dir, nil)
	p.fill()
	require.Equal(t, "+OK", p.do("SAVE"))
	path := filepath.Join(dir, "dump.rdb")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	text[len(text)-1] ^= 1
	require.NoError(t, os.WriteFile(path, text, 0o600))
	require.Equal(t, "+OK", p.do("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", "1"))
	require.Equal(t, "+OK", p.do("DEBUG", "RELOAD", "NOSAVE"))
	require.Equal(t, "+OK", p.do("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", "0"))
	_, err = io.WriteString(p.conn, "DEBUG RELOAD NOSAVE\r\n")
	require.NoError(t, err)
	<-p.srv.Done()
	require.Equal(t, 1, p.srv.ExitCode())
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, left)
}

func TestReloadOfTheLog(t *testing.T) {
	for _, preamble := range []string{"yes", "no"} {
		dir := t.TempDir()
		directives := map[string]string{"appendonly": "yes", "aof-use-rdb-preamble": preamble}
		p := openIn(t, dir, directives)
		p.fill()
		require.Equal(t, "+OK", p.do("SELECT", "3"))
		require.Equal(t, "+OK", p.do("SET", "a", "1"))
		digest := p.do("DEBUG", "DIGEST")
		require.Equal(t, "+OK", p.do("DEBUG", "LOADAOF"))
		require.Equal(t, digest, p.do("DEBUG", "DIGEST"))
		require.Equal(t, "1", p.do("GET", "a"))
		require.Equal(t, ":7", p.do("FCALL", "f", "0"))

		// A snapshot of another time becomes what the log leads to.
		require.Equal(t, "+OK", p.do("SAVE"))
		require.Equal(t, "+OK", p.do("FLUSHALL"))
		require.Equal(t, "+OK", p.do("DEBUG", "RELOAD", "NOSAVE"))
		require.Equal(t, ":3", p.do("INCRBY", "a", "2"))
		require.Equal(t, ":3", p.do("RPUSH", "q", "a", "b", "c"))
		digest = p.do("DEBUG", "DIGEST")
		require.Equal(t, "+OK", p.do("DEBUG", "LOADAOF"))
		require.Equal(t, digest, p.do("DEBUG", "DIGEST"))
		require.NoError(t, p.srv.Close())
		again := openIn(t, dir, directives)
		require.Equal(t, digest, again.do("DEBUG", "DIGEST"))
		require.Equal(t, ":7", again.do("FCALL", "f", "0"))
	}
}

// TestReloadInATransaction: what stands before and behind it is in the log once.
func TestReloadInATransaction(t *testing.T) {
	dir, directives := t.TempDir(), map[string]string{"appendonly": "yes"}
	p := openIn(t, dir, directives)
	for _, line := range []string{"MULTI", "RPUSH q a", "DEBUG RELOAD", "RPUSH q b", "DEBUG LOADAOF", "RPUSH q c"} {
		require.Contains(t, []string{"+OK", "+QUEUED"}, p.do(strings.Fields(line)...))
	}
	require.Equal(t, "*5", p.do("EXEC"))
	for _, want := range []string{":1", "+OK", ":2", "+OK", ":3"} {
		require.Equal(t, want, readLine(t, p.r))
	}
	require.NoError(t, p.srv.Close())
	require.Equal(t, ":3", openIn(t, dir, directives).do("LLEN", "q"))
}

// TestWhoWaitsOverAReload: a lock stays its holder's, and its waiter's turn comes when it is given back.
func TestWhoWaitsOverAReload(t *testing.T) {
	for _, how := range []string{"RELOAD", "LOADAOF"} {
		p := openIn(t, t.TempDir(), map[string]string{"appendonly": "yes"})
		require.Regexp(t, `^:\d+$`, p.do("LOCK", "door", "alice"))
		other, r := p.dial()
		_, err := io.WriteString(other, "LOCK door bob WAIT 20000\r\n")
		require.NoError(t, err)
		require.Eventually(t, func() bool { return strings.Contains(p.do("INFO", "locks"), "lock_waiters:1") }, 30*time.Second, time.Millisecond)
		require.Equal(t, "+OK", p.do("DEBUG", how))
		info := p.do("INFO", "locks")
		require.Contains(t, info, "lock_waiters:1")
		require.Contains(t, info, "lock_watchdogs:1")
		require.Equal(t, ":1", p.do("UNLOCK", "door", "alice"))
		require.Regexp(t, `^:\d+$`, readLine(t, r))
	}
}

func TestReplicationID(t *testing.T) {
	p := openIn(t, t.TempDir(), nil)
	id := func() string {
		_, after, _ := strings.Cut(p.do("INFO", "replication"), "master_replid:")
		line, _, _ := strings.Cut(after, "\r\n")
		require.Len(t, line, 40)
		return line
	}
	before := id()
	require.Equal(t, before, id())
	require.Equal(t, "+OK", p.do("DEBUG", "CHANGE-REPL-ID"))
	require.NotEqual(t, before, id())
}

// TestDelays: time passes where the directives say so.
func TestDelays(t *testing.T) {
	p := openIn(t, t.TempDir(), map[string]string{"appendonly": "yes", "appendfsync": "always"})
	took := func(words ...string) time.Duration {
		begun := time.Now()
		require.Equal(t, "+OK", p.do(words...), words)
		return time.Since(begun)
	}
	require.Equal(t, "+OK", p.do("DEBUG", "POPULATE", "5"))
	for _, c := range []struct {
		directive string
		words     []string
	}{
		{"key-load-delay", []string{"DEBUG", "RELOAD", "NOSAVE"}},
		{"key-load-delay", []string{"DEBUG", "LOADAOF"}},
		{"rdb-key-save-delay", []string{"SAVE"}},
	} {
		require.Equal(t, "+OK", p.do("SAVE"))
		require.Equal(t, "+OK", p.do("CONFIG", "SET", c.directive, "4000"))
		require.GreaterOrEqual(t, took(c.words...), 20*time.Millisecond, c.words)
		require.Equal(t, "+OK", p.do("CONFIG", "SET", c.directive, "-2"))
		took(c.words...)
		require.Equal(t, "+OK", p.do("CONFIG", "SET", c.directive, "0"))
	}
	require.Equal(t, "+OK", p.do("DEBUG", "AOF-FLUSH-SLEEP", "20000"))
	require.GreaterOrEqual(t, took("SET", "a", "1"), 20*time.Millisecond)
	require.Equal(t, "+OK", p.do("DEBUG", "AOF-FLUSH-SLEEP", "0"))
}
