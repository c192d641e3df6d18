package server

import (
	"bytes"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server/audit"
	"lockserver/tests/testkit"
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

// take returns what was written since the last call, without the warnings that the machine is slow.
func (l *logText) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text strings.Builder
	for line := range strings.Lines(l.buf.String()) {
		if !strings.Contains(line, slowWarning) {
			text.WriteString(line)
		}
	}
	l.buf.Reset()
	return text.String()
}

// slowWarning is in a warning that a busy machine causes.
const slowWarning = "one client's commands have kept all others waiting"

func auditedServer(t *testing.T, level slog.Level) (*instance, *logText) {
	t.Helper()
	var text logText
	logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: level}))
	return startWith(t, Options{Log: logger}, func(c *config.Config) { c.EnableDebugCommand = config.AccessYes }), &text
}

// TestAudit: what an operator does is in the log, with who has done it and without a password.
func TestAudit(t *testing.T) {
	srv, log := auditedServer(t, slog.LevelInfo)
	c := client(t, srv)
	c.Do("ACL", "SETUSER", "ops", "on", ">hush1", "~*", "+@all")
	require.Contains(t, log.take(), `command="ACL SETUSER ops on >(redacted) ~* +@all" user=default`)
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

// TestAuditOfMigrate: a MIGRATE is logged when it is over, with its result.
func TestAuditOfMigrate(t *testing.T) {
	srv, log := auditedServer(t, slog.LevelInfo)
	target := startWith(t, Options{}, nil)
	c := client(t, srv)
	c.Do("SET", "x", "1")
	_, port, err := net.SplitHostPort(target.Addr().String())
	require.NoError(t, err)
	require.True(t, c.Do("MIGRATE", "127.0.0.1", testkit.FreePort(t), "x", "0", "1000").IsError())
	line := log.take()
	require.NotContains(t, line, "an operator's command was run")
	require.Contains(t, line, `msg="an operator's command has failed" command="MIGRATE 127.0.0.1`)
	require.Equal(t, "OK", c.Do("MIGRATE", "127.0.0.1", port, "x", "0", "1000").Str)
	require.Equal(t, 1, strings.Count(log.take(), `msg="an operator's command was run" command="MIGRATE 127.0.0.1`))
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
	require.LessOrEqual(t, lines, 10*10, "of 500 within a few seconds")
	require.Eventually(t, func() bool {
		c.Do("AUTH", "eve", "hush")
		return strings.Contains(log.take(), "not-logged-before=")
	}, time.Minute, 100*time.Millisecond)
}

// TestLineLimit: what is not written is counted once.
func TestLineLimit(t *testing.T) {
	var l audit.LineLimit
	now := time.Unix(100, 0)
	for i := range 30 {
		suppressed, ok := l.Allow(now, 10)
		require.Equal(t, i < 10, ok)
		require.Zero(t, suppressed)
	}
	suppressed, ok := l.Allow(now.Add(time.Second), 10)
	require.True(t, ok)
	require.Equal(t, 20, suppressed)
	suppressed, _ = l.Allow(now.Add(time.Second), 10)
	require.Zero(t, suppressed)
}

// TestAuditOfLeases: a lease that ends is in the log at verbose, and costs nothing at notice.
func TestAuditOfLeases(t *testing.T) {
	for level, logged := range map[slog.Level]bool{audit.LevelVerbose: true, slog.LevelInfo: false} {
		srv, log := auditedServer(t, level)
		c := client(t, srv)
		c.Do("LOCK", "door", "alice", "PX", "20")
		c.Do("LOCK", "shared", "alice", "SHARED", "PX", "20")
		c.Do("SET", "plain", "v", "PX", "20")
		require.Eventually(t, func() bool { return c.Do("DBSIZE").Int == 0 }, time.Minute, 10*time.Millisecond)
		text := log.take()
		require.Equal(t, logged, strings.Contains(text, `msg="the lease of a lock has ended" key=door db=0`), text)
		require.Equal(t, logged, strings.Contains(text, `msg="the lease of a lock has ended" key=shared db=0`), text)
		require.NotContains(t, text, "plain")
	}
}

// notAudited are the dangerous commands that are not logged. They read, are about their own connection or one
// key, or are refused. The log has replicas anyway.
var notAudited = "acl|dryrun acl|getuser acl|list acl|users client|list client|no-evict cluster|addslots cluster|addslotsrange cluster|bumpepoch " +
	"cluster|count-failure-reports cluster|delslots cluster|delslotsrange cluster|failover cluster|flushslots cluster|forget cluster|getslotmigrations cluster|meet " +
	"cluster|replicas cluster|replicate cluster|reset cluster|saveconfig cluster|set-config-epoch cluster|setslot cluster|slaves " +
	"commandlog|get commandlog|len config|get info keys lastsave latency|doctor latency|graph latency|histogram latency|history latency|latest " +
	"module|list pfdebug pfselftest psync raft|info raft|members raft|move raft|read replconf restore restore-asking role slowlog|get slowlog|len sort sort_ro sync"

// TestAuditIsWhole: a new dangerous command is logged, or is in the list above. Each name that is logged is
// that of a command.
func TestAuditIsWhole(t *testing.T) {
	srv, _ := auditedServer(t, slog.LevelInfo)
	c := client(t, srv)
	var not []string
	for _, name := range c.Do("ACL", "CAT", "dangerous").Elems {
		if !slices.Contains(audit.Commands(), name.Str) {
			not = append(not, name.Str)
		}
	}
	slices.Sort(not)
	require.Equal(t, notAudited, strings.Join(not, " "))
	for _, name := range audit.Commands() {
		require.Len(t, c.Do("COMMAND", "INFO", name).Elems[0].Elems, 10, name)
	}
}

// TestAuditOfMore: other actions of operators are logged. Commands that only read are not.
func TestAuditOfMore(t *testing.T) {
	srv, log := auditedServer(t, slog.LevelInfo)
	c, other := client(t, srv), client(t, srv)
	other.Do("CLIENT", "SETNAME", "victim")
	id := strconv.FormatInt(other.Do("CLIENT", "ID").Int, 10)
	c.Do("EVAL", "return 1", "0")
	log.take()
	for _, call := range []struct {
		words []string
		want  string
	}{
		{[]string{"FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 'hush' end)"}, `"FUNCTION LOAD #!lua name=lib"`},
		{[]string{"FUNCTION", "DELETE", "lib"}, `"FUNCTION DELETE lib"`},
		{[]string{"FUNCTION", "FLUSH"}, `"FUNCTION FLUSH"`},
		{[]string{"FUNCTION", "RESTORE", c.Do("FUNCTION", "DUMP").Str}, `"FUNCTION RESTORE"`},
		{[]string{"SCRIPT", "FLUSH"}, `"SCRIPT FLUSH"`},
		{[]string{"CLIENT", "PAUSE", "1", "WRITE"}, `"CLIENT PAUSE 1 WRITE"`},
		{[]string{"CLIENT", "UNPAUSE"}, `"CLIENT UNPAUSE"`},
		{[]string{"CLIENT", "UNBLOCK", id}, `"CLIENT UNBLOCK ` + id + `"`},
		{[]string{"CLIENT", "KILL", "ID", id}, `"CLIENT KILL ID ` + id + `"`},
		{[]string{"ACL", "LOG", "RESET"}, `"ACL LOG RESET"`},
		{[]string{"SLOWLOG", "RESET"}, `"SLOWLOG RESET"`},
		{[]string{"MIGRATE", "127.0.0.1", "1", "nokey", "0", "10", "AUTH", "hush"}, `"MIGRATE 127.0.0.1 1 nokey 0 10 AUTH (redacted)"`},
		{[]string{"MIGRATE", "127.0.0.1", "1", "nokey", "0", "10", "AUTH2", "ops", "hush"}, `"MIGRATE 127.0.0.1 1 nokey 0 10 AUTH2 (redacted) (redacted)"`},
		{[]string{"CONFIG", "SET", "tls-key-file-pass", "hush"}, `"CONFIG SET tls-key-file-pass (redacted)"`},
		{[]string{"CONFIG", "SET", "MasterUser", "hush"}, `"CONFIG SET MasterUser (redacted)"`},
		{[]string{"CONFIG", "SET", "requirepass", "hush"}, `"CONFIG SET requirepass (redacted)"`},
		{[]string{"CONFIG", "SET", "requirepass", ""}, `"CONFIG SET requirepass (redacted)"`},
		{[]string{"DEBUG", "SLEEP", "0"}, `"DEBUG SLEEP 0"`},
		{[]string{"MONITOR"}, "MONITOR"},
	} {
		require.False(t, c.Do(call.words...).IsError(), call.words)
		line := log.take()
		require.Contains(t, line, "an operator's command was run\" command="+call.want+" user=default", call.words)
		require.NotContains(t, line, "hush")
	}
	other = client(t, srv)
	// A command that opens a file may never return, so it is logged in any case.
	for _, call := range []string{"CONFIG SET masterauth hush requirepass-file /nosuch", "CONFIG SET tls-cert-file /nosuch maxclients x", "ACL LOAD", "CONFIG REWRITE"} {
		require.True(t, other.Do(strings.Fields(call)...).IsError(), call)
		require.Contains(t, log.take(), `command="`+strings.ReplaceAll(call, "hush", "(redacted)"), call)
	}
	require.True(t, other.Do("CONFIG", "SET", "maxclients", "x").IsError())
	require.Empty(t, log.take(), "it opens no file")
	reader := client(t, srv)
	for _, call := range []string{"ACL LOG", "SLOWLOG GET", "DEBUG DIGEST", "CLIENT LIST", "SCRIPT EXISTS x", "FUNCTION LIST"} {
		require.False(t, reader.Do(strings.Fields(call)...).IsError(), call)
	}
	require.Empty(t, log.take())
}
