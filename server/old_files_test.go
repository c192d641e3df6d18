package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/persistence/rdb"
)

// startOnFile starts a server on a file of testdata, as its snapshot or its log.
func startOnFile(t *testing.T, file string, log *bytes.Buffer) *instance {
	t.Helper()
	dir := t.TempDir()
	c, name := inDir(dir), "dump.rdb"
	if strings.HasSuffix(file, ".aof") {
		c, name = logged(dir, "always"), "appendonly.aof"
	}
	copyOf(t, filepath.Join("testdata", file), filepath.Join(dir, name))
	return startLogged(t, c, log)
}

func startLogged(t *testing.T, c *config.Config, log *bytes.Buffer) *instance {
	t.Helper()
	return start(t, Options{Directives: c.Directives(), Log: slog.New(slog.NewTextHandler(log, nil))})
}

// field is what a flat reply says of a name.
func fieldOf(t *testing.T, srv *instance, name string, args ...string) string {
	t.Helper()
	r := client(t, srv).Do(args...)
	if len(r.Elems) == 1 && len(r.Elems[0].Elems) > 0 {
		r = r.Elems[0]
	}
	for i := 0; i+1 < len(r.Elems); i += 2 {
		if r.Elems[i].Str == name {
			return r.Elems[i+1].String()
		}
	}
	require.Fail(t, "no "+name)
	return ""
}

// TestStreamThatClaimsTooMany: a stream of an old Redis says 120 and holds 118 entries. It loads from a
// snapshot and by RESTORE, with the real number.
func TestStreamThatClaimsTooMany(t *testing.T) {
	var log, report bytes.Buffer
	srv := startOnFile(t, "stream-count.rdb", &log)
	c := client(t, srv)
	require.EqualValues(t, 118, c.Do("XLEN", "s").Int)
	require.Len(t, c.Do("XRANGE", "s", "-", "+").Elems, 118)
	require.Equal(t, "118", fieldOf(t, srv, "length", "XINFO", "STREAM", "s"))
	require.Equal(t, "120", fieldOf(t, srv, "entries-added", "XINFO", "STREAM", "s"))
	require.Contains(t, log.String(), "claims 120 entries and holds 118")
	require.False(t, c.Do("XADD", "s", "*", "f", "v").IsError())
	require.EqualValues(t, 119, c.Do("XLEN", "s").Int)
	require.EqualValues(t, 119, c.Do("XTRIM", "s", "MAXLEN", "0").Int)

	require.NoError(t, Check(filepath.Join("testdata", "stream-count.rdb"), &report))
	require.Contains(t, report.String(), "warning: key \"s\" of database 0: the stream claims 120 entries and holds 118")

	log.Reset()
	payload := payloadOf(t, "stream-count.rdb", 21)
	require.Equal(t, "+OK", c.Do("RESTORE", "r", "0", payload).String())
	require.EqualValues(t, 118, c.Do("XLEN", "r").Int)
	require.Contains(t, log.String(), "RESTORE \\\"r\\\"")
	require.Equal(t, "+OK", c.Do("RESTORE", "r", "0", payload, "REPLACE").String())
	require.Equal(t, 1, strings.Count(log.String(), "RESTORE"), "one line a second")
}

// TestCheckOfOldFiles: what loads is reported as sound, and what a start passes over as a warning.
func TestCheckOfOldFiles(t *testing.T) {
	for file, want := range map[string]string{
		"stream-groups-6.2.rdb": "1 key in 1 database, 0 with a deadline: 1 stream\n",
		"script-load.aof":       "3 commands in 3 units: 1 EVALSHA, 1 SCRIPT, 1 SELECT\n",
		"passed-over.rdb":       "1 string\n  warning: keys without elements, passed over: 1\n  warning: data of the module \"J25DOi2xy\" that belongs to no key, passed over\n",
	} {
		var report bytes.Buffer
		require.NoError(t, Check(filepath.Join("testdata", file), &report), file)
		require.Contains(t, report.String(), want)
	}
	var log bytes.Buffer
	c := client(t, startOnFile(t, "passed-over.rdb", &log))
	require.EqualValues(t, 1, c.Do("DBSIZE").Int)
	require.Contains(t, log.String(), "keys without elements, passed over: 1")
	require.Contains(t, log.String(), "J25DOi2xy")
}

// payloadOf is the stream s of a file as DUMP would give it. typ is the byte of its form.
func payloadOf(t *testing.T, file string, typ byte) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	_, value, found := bytes.Cut(b[:len(b)-9], []byte{typ, 1, 's'})
	require.True(t, found)
	value, _, _ = bytes.Cut(value, []byte("\xfa\x03lua")) // scripts stand behind the keys
	body := append([]byte{typ}, value...)
	return string(rdb.Reseal(append(body, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
}

// TestGroupsOfOldStreams: groups of Redis 6.2 have no counter of what they have read. The replies are those
// of Redis 7.4.1.
func TestGroupsOfOldStreams(t *testing.T) {
	var log bytes.Buffer
	srv := startOnFile(t, "stream-groups-6.2.rdb", &log)
	c := client(t, srv)
	require.Equal(t, "+OK", c.Do("RESTORE", "r", "0", payloadOf(t, "stream-groups-6.2.rdb", 15)).String())
	for _, key := range []string{"s", "r"} {
		groups := c.Do("XINFO", "GROUPS", key)
		require.Len(t, groups.Elems, 2)
		require.Equal(t, `["name" "g0" "consumers" 0 "pending" 0 "last-delivered-id" "0-0" "entries-read" 0 "lag" 3]`, groups.Elems[0].String())
		require.Equal(t, `["name" "gend" "consumers" 0 "pending" 0 "last-delivered-id" "3-0" "entries-read" 3 "lag" 0]`, groups.Elems[1].String())
		c.Do("XADD", key, "4-0", "f", "v")
		require.Contains(t, c.Do("XINFO", "GROUPS", key).Elems[1].String(), `"entries-read" 3 "lag" 1`)
	}
}

// TestLogsOfOldVersions: SCRIPT LOAD and SCRIPT FLUSH stand in the logs of Redis 6. What fails or changes
// nothing is passed over, as in Redis; what is not known stops the start. min-replicas-to-write refuses no
// write of a script in the log.
func TestLogsOfOldVersions(t *testing.T) {
	var log bytes.Buffer
	srv := startOnFile(t, "script-load.aof", &log)
	require.Equal(t, "bar", client(t, srv).Do("GET", "foo").Str)
	require.NotContains(t, log.String(), "passed over")

	const code = "return redis.call('set', 'foo', 'bar')"
	for _, c := range []struct {
		log    string
		passed int
		want   string // "": the start fails
	}{
		{"SCRIPT FLUSH|SET foo bar", 0, "bar"},
		{"MULTI|SCRIPT LOAD " + strings.ReplaceAll(code, " ", "_") + "|SET foo bar|EXEC", 0, "bar"},
		{"SET foo bar|LPUSH foo x|GET foo|PING|SET foo baz", 3, "baz"},
		{"SET foo bar|INCR foo|EVAL return_redis.call('incr','foo') 0", 2, "bar"},
		{"EVAL redis.call('set','foo','bar')return_redis.call('incr','foo') 0", 1, "bar"},
		{"EVAL redis.call('set','foo','bar')return_redis.pcall('incr','foo') 0", 0, "bar"},
		{"SET foo bar|EVAL return_redis.call('newcommand','foo') 0", 0, ""},
		{"SET foo bar|FUNCTION LOAD LUA lib code", 1, "bar"},
		{"SET foo bar|EVALSHA 2fa2b029f72572e803ff55a09b1282699aecae6a 0", 0, ""},
		{"SET foo bar NEWWORD", 0, ""},
		{"SET foo bar|RESTORE foo 0 payload REPLACE", 0, ""},
		{"SET foo bar|SELECT 16|FLUSHDB", 0, ""},
		{"SET foo bar|SWAPDB 0 16", 0, ""},
		{"SET foo bar|COPY foo foo DB 16", 0, ""},
		{"SET foo bar|NEWCOMMAND foo", 0, ""},
	} {
		dir := t.TempDir()
		var file bytes.Buffer
		for line := range strings.SplitSeq(c.log, "|") {
			args := strings.Fields(line)
			fmt.Fprintf(&file, "*%d\r\n", len(args))
			for _, a := range args {
				a = strings.ReplaceAll(a, "_", " ")
				fmt.Fprintf(&file, "$%d\r\n%s\r\n", len(a), a)
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "appendonly.aof"), file.Bytes(), 0o644))
		if c.want == "" {
			srv, err := newInstance(Options{Directives: logged(dir, "always").Directives()})
			require.NoError(t, err)
			require.Error(t, srv.Start(), c.log)
			require.NoError(t, srv.Close())
			continue
		}
		log.Reset()
		settings := logged(dir, "always")
		settings.Replication.MinToWrite = 1
		srv := startLogged(t, settings, &log)
		require.Equal(t, c.want, client(t, srv).Do("GET", "foo").Str, c.log)
		require.Equal(t, c.passed, strings.Count(log.String(), "a command was passed over"), "%s\n%s", c.log, log.String())
		require.Equal(t, strings.Contains(c.log, "pcall"), strings.Contains(log.String(), "a script has replied an error"), "%s\n%s", c.log, log.String())
	}
}

// TestFilesOfValkey: a snapshot in Valkey's own format is refused with what to do, alone and in a log.
func TestFilesOfValkey(t *testing.T) {
	const text = "VALKEY080\xfe\x00\xff\x00\x00\x00\x00\x00\x00\x00\x00"
	for _, name := range []string{"dump.rdb", "appendonly.aof"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		c := inDir(dir)
		if name != "dump.rdb" {
			c = logged(dir, "always")
		}
		srv, err := newInstance(Options{Directives: c.Directives()})
		require.NoError(t, err)
		require.ErrorContains(t, srv.Start(), "Valkey 9 or later wrote it")
		require.NoError(t, srv.Close())
		require.ErrorContains(t, Check(dir, new(bytes.Buffer)), "Valkey 9 or later wrote it", name)
	}
}
