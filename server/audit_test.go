package server

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

// logText is a log that a test reads.
type logText struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// take returns what was written since the last call.
func (l *logText) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.buf.String()
	l.buf.Reset()
	return text
}

func auditedServer(t *testing.T, level slog.Level) (*Server, *logText) {
	t.Helper()
	var text logText
	logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: level}))
	return startWith(t, Options{Log: logger}, func(*config.Config) {}), &text
}

// TestAudit: what an operator does is in the log, with who has done it and without a password.
func TestAudit(t *testing.T) {
	srv, log := auditedServer(t, slog.LevelInfo)
	c := client(t, srv)
	c.Do("ACL", "SETUSER", "ops", "on", ">hush1", "~*", "+@all")
	require.Contains(t, log.take(), `command="ACL SETUSER ops (redacted)" user=default`)
	c.Do("AUTH", "ops", "hush1")
	c.Do("CLIENT", "SETNAME", "console")
	c.Do("LOCK", "door", "alice", "PX", "60000")
	log.take()
	for call, want := range map[string]string{
		"LOCK.FORCE door":                          "LOCK.FORCE door",
		"ACL DELUSER nosuch":                       "ACL DELUSER nosuch",
		"CONFIG SET maxclients 50 masterauth hush": "CONFIG SET maxclients 50 masterauth (redacted)",
		"FLUSHALL":                                 "FLUSHALL",
		"flushdb":                                  "flushdb",
		"SWAPDB 0 1":                               "SWAPDB 0 1",
	} {
		reply := c.Do(strings.Fields(call)...)
		require.False(t, reply.IsError(), "%s: %s", call, reply)
		line := log.take()
		require.Regexp(t, `level=INFO msg="an operator's command was run" command="?`+regexp.QuoteMeta(want)+`"? user=ops address=\S+ client=console\n$`, line, call)
		require.NotContains(t, line, "hush")
	}
	require.True(t, c.Do("SWAPDB", "0", "nosuch").IsError())
	c.Do("GET", "x")
	c.Do("CONFIG", "GET", "maxclients")
	require.Empty(t, log.take(), "what fails or only reads")
	c.Do("MULTI")
	c.Do("FLUSHALL")
	c.Do("EXEC")
	c.Do("EVAL", "return redis.call('FLUSHDB')", "0")
	require.Equal(t, 2, strings.Count(log.take(), "an operator's command"))
}

// TestAuditOfLogins: failed logins are logged, a few a second, and the rest is counted.
func TestAuditOfLogins(t *testing.T) {
	srv, log := auditedServer(t, slog.LevelInfo)
	c := client(t, srv)
	c.Do("AUTH", "eve\nforged line", "hush")
	line := log.take()
	require.Contains(t, line, `msg="a client could not log in: wrong name or password, or the user is off" user="eve\nforged line"`)
	require.NotContains(t, line, "hush")
	c.Do("HELLO", "3", "AUTH", "eve", strings.Repeat("hush", 1000))
	require.NotContains(t, log.take(), "hush")
	for range 500 {
		c.Do("AUTH", "eve", "hush")
	}
	lines := strings.Count(log.take(), "could not log in")
	require.LessOrEqual(t, lines, mostLoginLines*10, "of 500 within a few seconds")
	require.Eventually(t, func() bool {
		c.Do("AUTH", "eve", "hush")
		return strings.Contains(log.take(), "not-logged-before=")
	}, 10*time.Second, 100*time.Millisecond)
}

// TestLineLimit: what is not written is counted once.
func TestLineLimit(t *testing.T) {
	var l lineLimit
	now := time.Unix(100, 0)
	for i := range 30 {
		suppressed, ok := l.allow(now, 10)
		require.Equal(t, i < 10, ok)
		require.Zero(t, suppressed)
	}
	suppressed, ok := l.allow(now.Add(time.Second), 10)
	require.True(t, ok)
	require.Equal(t, 20, suppressed)
	suppressed, _ = l.allow(now.Add(time.Second), 10)
	require.Zero(t, suppressed)
}

// TestAuditOfLeases: a lease that ends is in the log at verbose, and costs nothing at notice.
func TestAuditOfLeases(t *testing.T) {
	for level, logged := range map[slog.Level]bool{levelVerbose: true, slog.LevelInfo: false} {
		srv, log := auditedServer(t, level)
		c := client(t, srv)
		c.Do("LOCK", "door", "alice", "PX", "20")
		c.Do("LOCK", "shared", "alice", "SHARED", "PX", "20")
		c.Do("SET", "plain", "v", "PX", "20")
		require.Eventually(t, func() bool { return c.Do("DBSIZE").Int == 0 }, 10*time.Second, 10*time.Millisecond)
		text := log.take()
		require.Equal(t, logged, strings.Contains(text, `msg="the lease of a lock has ended" key=door db=0`), text)
		require.Equal(t, logged, strings.Contains(text, `msg="the lease of a lock has ended" key=shared db=0`), text)
		require.NotContains(t, text, "plain")
	}
}
