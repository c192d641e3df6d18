package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// everyKind writes something of each kind, in two databases.
func everyKind(t testing.TB, c *testkit.Client) {
	t.Helper()
	for _, line := range []string{
		"SET s v", "SET t 1 PX 100000000", "APPEND s more", "INCR t", "HSET h a 1 b 2", "RPUSH l a b c", "LPOP l", "SADD set 1 2 x", "ZADD z 1 a 2.5 b",
		"XADD x 1-1 f v", "XADD x * f w", "XADD x IDMP me 1 * f v", "XADD x IDMP me 1 * f v", "XADD y 1 f v", "XCFGSET y IDMP-MAXSIZE 7", "XADD y IDMP me 1 * f v", "XGROUP CREATE x g 0", "XREADGROUP GROUP g me STREAMS x >", "PFADD p a b",
		"LOCK lock owner PX 100000000", "SETBIT bits 100 1", "GEOADD geo 13.3 38.1 place", "SELECT 5", "SET elsewhere 1", "MOVE elsewhere 0",
		"SET here 1", "EXPIRE here 10000", "SELECT 0", "DEL bits", "RENAME s u",
	} {
		v := c.Do(strings.Fields(line)...)
		require.False(t, v.IsError(), "%s: %s", line, v)
	}
	c.Do("MULTI")
	c.Do("SET", "tx1", "a")
	c.Do("SELECT", "5")
	c.Do("SET", "tx2", "b")
	c.Do("SELECT", "0")
	require.Len(t, c.Do("EXEC").Elems, 4)
}

// incr is the last incremental file of a log.
func incr(t testing.TB, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files[len(files)-1]
}

// appendTo adds bytes to a file.
func appendTo(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// The logged data is there after a restart, for each policy and form of the base, with and without a
// rewrite.
func TestLogSurvivesARestart(t *testing.T) {
	t.Parallel()
	for _, fsync := range []string{"always", "everysec", "no"} {
		for _, preamble := range []bool{true, false} {
			t.Run(fmt.Sprint(fsync, " snapshot=", preamble), func(t *testing.T) {
				dir := t.TempDir()
				cfg := logged(dir, fsync)
				cfg.AOFUseRDBPreamble, cfg.AOFTimestampEnabled = preamble, true
				var want testkit.Dataset
				for round := range 4 {
					srv := start(t, Options{Directives: cfg.Directives()})
					c := client(t, srv)
					if round > 0 {
						require.Empty(t, want.Diff(testkit.ReadDataset(c), 0), "round %d", round)
						require.Equal(t, "0", infoField(t, c, "rdb_changes_since_last_save"))
						c.Do("SELECT", "0")
						c.Do("FLUSHALL")
					}
					everyKind(t, c)
					if round%2 == 1 {
						rewrite(t, srv, c)
					}
					c.Do("SET", "round", strconv.Itoa(round))
					c.Do("HSET", "h", "round", strconv.Itoa(round))
					want = testkit.ReadDataset(c)
					require.NoError(t, srv.Close())
				}
			})
		}
	}
}

// rewrite rewrites the log and waits until that is done.
func rewrite(t testing.TB, srv *instance, c *testkit.Client) {
	t.Helper()
	before := infoField(t, c, "aof_rewrites")
	require.Equal(t, "+Background append only file rewriting started", c.Do("BGREWRITEAOF").String())
	awaitRewritten(t, srv)
	require.Equal(t, "ok", infoField(t, c, "aof_last_bgrewrite_status"))
	require.NotEqual(t, before, infoField(t, c, "aof_rewrites"))
}

func awaitRewritten(t testing.TB, srv *instance) {
	t.Helper()
	eventually(t, func() bool {
		srv.executor.Mu.Lock()
		defer srv.executor.Mu.Unlock()
		return !srv.executor.Durable.Rewriting()
	}, "the rewrite ends")
}

// A key that had expired when the base was read may have got more time since: time stands still while a log
// is read. A key that has expired while no server ran is removed then, and the log has the removal.
func TestLeasesAcrossARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := start(t, Options{Directives: logged(dir, "always").Directives(), Clock: clock})
	c := client(t, srv)
	token := c.Do("LOCK", "renewed", "o", "PX", "10000").Int
	c.Do("LOCK", "over", "o", "PX", "12000")
	c.Do("HSET", "fields", "dying", "1", "kept", "2")
	c.Do("HPEXPIRE", "fields", "10000", "FIELDS", "1", "dying")
	c.Do("SET", "k", "v", "PX", "10000")
	rewrite(t, srv, c)
	clock.Advance(8 * time.Second)
	require.Equal(t, int64(1), c.Do("RENEW", "renewed", "o", "PX", "60000").Int)
	c.Do("PERSIST", "k")
	c.Do("HPERSIST", "fields", "FIELDS", "1", "dying")
	require.NoError(t, srv.Close())

	clock.Advance(20 * time.Second)
	srv = start(t, Options{Directives: logged(dir, "always").Directives(), Clock: clock})
	c = client(t, srv)
	require.Equal(t, int64(40_000), c.Do("PTTL", "renewed").Int)
	require.True(t, c.Do("LOCK", "renewed", "other").IsNull(), "it is held still")
	require.Equal(t, "v", c.Do("GET", "k").Str)
	require.Equal(t, int64(2), c.Do("HLEN", "fields").Int)
	clock.Advance(0)
	require.Greater(t, c.Do("LOCK", "over", "next", "PX", "1000").Int, token, "tokens go on rising")
	require.NoError(t, srv.Close())
	text, err := os.ReadFile(incr(t, dir))
	require.NoError(t, err)
	require.Contains(t, string(text), "$3\r\nDEL\r\n$4\r\nover\r\n")

	clock.Advance(24 * time.Hour)
	srv = start(t, Options{Directives: logged(dir, "always").Directives(), Clock: clock})
	c = client(t, srv)
	clock.Advance(0)
	require.Equal(t, int64(2), c.Do("DBSIZE").Int)
}

// The end of a write that a crash cut off is cut off the file, whole transactions at a
// time, and the log goes on behind.
func TestTornEnd(t *testing.T) {
	t.Parallel()
	for name, torn := range map[string]string{
		"command":     "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nha",
		"transaction": "*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nx\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			srv := start(t, Options{Directives: logged(dir, "always").Directives()})
			c := client(t, srv)
			everyKind(t, c)
			c.Do("SET", "k", "v")
			want := testkit.ReadDataset(c)
			require.NoError(t, srv.Close())
			appendTo(t, incr(t, dir), torn)
			cfg := logged(dir, "always")
			cfg.AOFLoadTruncated = false
			strict, err := newInstance(Options{Directives: cfg.Directives()})
			require.NoError(t, err)
			require.ErrorContains(t, strict.Start(), incr(t, dir)+": offset ")
			require.NoError(t, strict.Close())

			srv = start(t, Options{Directives: logged(dir, "always").Directives()})
			c = client(t, srv)
			require.Empty(t, want.Diff(testkit.ReadDataset(c), 0))
			c.Do("SELECT", "0")
			c.Do("SET", "k", "after")
			require.NoError(t, srv.Close())
			require.Equal(t, "after", client(t, start(t, Options{Directives: logged(dir, "always").Directives()})).Do("GET", "k").Str)
		})
	}
}

// TestLogWithCommandsThatFail: a command that fails because of the data, or that has no place in a log, is
// passed over with a line in the log. The rest is loaded.
func TestLogWithCommandsThatFail(t *testing.T) {
	for name, text := range map[string]string{
		"not in a log":     "*1\r\n$8\r\nSHUTDOWN\r\n",
		"not of this kind": "*3\r\n$4\r\nSADD\r\n$1\r\nk\r\n$1\r\nv\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			srv := start(t, Options{Directives: logged(dir, "always").Directives()})
			client(t, srv).Do("SET", "k", "v")
			require.NoError(t, srv.Close())
			appendTo(t, incr(t, dir), text+"*3\r\n$3\r\nSET\r\n$1\r\nz\r\n$1\r\nz\r\n")
			c := client(t, start(t, Options{Directives: logged(dir, "always").Directives()}))
			require.Equal(t, "v", c.Do("GET", "k").Str)
			require.Equal(t, "z", c.Do("GET", "z").Str)
		})
	}
}

// A log that contradicts the format keeps the server from starting, and stays as it is.
func TestDamagedLogIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not a command":     "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n!1\r\nv\r\n*1\r\n$8\r\nFLUSHALL\r\n",
		"unknown command":   "*2\r\n$6\r\nNOSUCH\r\n$1\r\nk\r\n",
		"too few arguments": "*2\r\n$3\r\nSET\r\n$1\r\nk\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			srv := start(t, Options{Directives: logged(dir, "always").Directives()})
			client(t, srv).Do("SET", "k", "v")
			require.NoError(t, srv.Close())
			path := incr(t, dir)
			before, err := os.Stat(path)
			require.NoError(t, err)
			appendTo(t, path, text+"*3\r\n$3\r\nSET\r\n$1\r\nz\r\n$1\r\nz\r\n")
			srv, err = newInstance(Options{Directives: logged(dir, "always").Directives()})
			require.NoError(t, err)
			err = srv.Start()
			require.Error(t, err)
			require.Regexp(t, regexp.QuoteMeta(path)+`: offset \d+: `, err.Error())
			offset := 0
			_, behind, _ := strings.Cut(err.Error(), path)
			_, scanErr := fmt.Sscanf(behind, ": offset %d:", &offset)
			require.NoError(t, scanErr)
			require.True(t, before.Size() <= int64(offset) && int64(offset) < before.Size()+int64(len(text)), "%v", err)
			require.NoError(t, srv.Close())
			after, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, before.Size()+int64(len(text))+27, after.Size())
		})
	}
}

// Two servers do not write one log.
func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, Options{Directives: logged(dir, "everysec").Directives()})
	second, err := newInstance(Options{Directives: logged(dir, "everysec").Directives()})
	require.NoError(t, err)
	require.EqualError(t, second.Start(), "another server writes to the directory "+dir)
	require.NoError(t, second.Close())
	require.NoError(t, first.Close())
	start(t, Options{Directives: logged(dir, "everysec").Directives()})
}

// The first start with a log begins with the snapshot that is there, unlike Redis
// (D73); from then on the log counts.
func TestFirstLogBeginsWithTheSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := start(t, Options{Directives: inDir(dir).Directives()})
	c := client(t, srv)
	everyKind(t, c)
	require.Equal(t, "+OK", c.Do("SAVE").String())
	want := testkit.ReadDataset(c)
	require.NoError(t, srv.Close())
	cfg := logged(dir, "always")
	cfg.DBFilename = "dump.rdb"
	srv = start(t, Options{Directives: cfg.Directives()})
	require.Empty(t, want.Diff(testkit.ReadDataset(client(t, srv)), 0))
	require.NoError(t, srv.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dump.rdb"), []byte("damaged"), 0o644))
	srv = start(t, Options{Directives: cfg.Directives()})
	require.Empty(t, want.Diff(testkit.ReadDataset(client(t, srv)), 0))
}

// Clients can connect while the log is read, and are served afterwards. Their commands wait if the log is
// short.
func TestConnectWhileLoading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := start(t, Options{Directives: logged(dir, "always").Directives()})
	client(t, srv).Do("SET", "k", strings.Repeat("x", 300_000))
	require.NoError(t, srv.Close())
	for _, tr := range transports[1:] {
		t.Run(tr.name, func(t *testing.T) {
			d := newTestDisk()
			d.reading = true
			srv, err := newOn(d, Options{Directives: logged(dir, "always").Directives(), EventLoops: tr.options.EventLoops})
			require.NoError(t, err)
			started := make(chan error, 1)
			go func() { started <- srv.Start() }()
			eventually(t, d.held, "it reads")
			c := testkit.Dial(t, overPort(srv))
			c.Send("GET", "k")
			d.release()
			require.NoError(t, <-started)
			require.Len(t, c.Receive().Str, 300_000, "it waits, and gets no -LOADING")
			require.Equal(t, "0", infoField(t, c, "loading"))
			require.NoError(t, srv.Close())
		})
	}
}

// Until the data is there only what needs none of it is answered.
func TestLoading(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	c := client(t, srv)
	srv.executor.Mu.Lock()
	srv.executor.Durable.BeginLoad(srv.executor.Store.NowUS())
	srv.executor.Mu.Unlock()
	for _, line := range []string{"GET k", "SET k v", "PING", "LOCK l o", "DBSIZE", "SAVE", "KEYS *"} {
		require.Equal(t, "-LOADING Redis is loading the dataset in memory", c.Do(strings.Fields(line)...).String(), line)
	}
	require.Equal(t, "1", infoField(t, c, "loading"))
	require.Equal(t, "0", infoField(t, c, "loading_total_bytes"), "it has not looked yet")
	require.False(t, c.Do("CONFIG", "GET", "port").IsError())
	require.Contains(t, c.Do("CONFIG", "SET", "appendonly", "yes").String(), "LOADING")
	c.Do("MULTI")
	require.Equal(t, "-LOADING Redis is loading the dataset in memory", c.Do("SET", "k", "v").String())
	require.Equal(t, "-EXECABORT", strings.Fields(c.Do("EXEC").String())[0])
	srv.executor.Mu.Lock()
	require.NoError(t, srv.executor.Durable.EndLoad())
	srv.executor.Mu.Unlock()
	require.Equal(t, "+PONG", c.Do("PING").String())
}

// slowClock lets a second pass whenever it is looked at: every load takes long.
type slowClock struct{ us atomic.Int64 }

func (c *slowClock) NowUS() int64 { return 1_750_000_000_000_000 + c.us.Add(1_000_000) }

// A load that takes long tells how far it is: what it reads, keys, bytes, percent and rate.
func TestLoadProgress(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`^loading (\S+): (\d+) keys, (\d+) of (\d+) bytes, (\d+) %, (\d+) bytes/s\n`)
	for _, appendOnly := range []bool{false, true} {
		t.Run(fmt.Sprint("log=", appendOnly), func(t *testing.T) {
			dir := t.TempDir()
			cfg := inDir(dir)
			cfg.AppendOnly, cfg.RDBCompression = appendOnly, false
			srv := start(t, Options{Directives: cfg.Directives()})
			c := client(t, srv)
			for i := range 10 {
				c.Do("SET", strconv.Itoa(i), strings.Repeat("x", 100_000))
			}
			if !appendOnly {
				c.Do("SAVE")
			}
			require.NoError(t, srv.Close())

			var progress, log bytes.Buffer
			srv = start(t, Options{Directives: cfg.Directives(), Clock: &slowClock{}, Progress: &progress, Log: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, srv.Close()) // nothing more is logged
			require.NotContains(t, log.String(), "percent")
			lines := strings.SplitAfter(progress.String(), "\n")
			require.Greater(t, len(lines), 2)
			bytes := 0
			for _, got := range lines[:len(lines)-1] {
				m := line.FindStringSubmatch(got)
				require.NotNil(t, m, "%q", got)
				require.True(t, strings.HasPrefix(m[1], dir), m[1])
				n := make([]int, 5)
				for i := range n {
					n[i], _ = strconv.Atoi(m[2+i])
				}
				require.LessOrEqual(t, n[0], 10)
				require.GreaterOrEqual(t, n[1], bytes, "it goes on")
				bytes = n[1]
				require.Equal(t, n[3], bytes*100/n[2])
				require.Equal(t, n[1] > 0, n[4] > 0, got)
			}
			require.Greater(t, bytes, 500_000)

			start(t, Options{Directives: cfg.Directives(), Clock: &slowClock{}, Log: slog.New(slog.NewTextHandler(&log, nil))})
			require.Regexp(t, `msg=Loading file=\S+ keys=\d+ bytes=\d+ percent=\d+ bytes/s=\d+\n`, log.String())
		})
	}
}

// A server that has to end while it loads ends.
func TestEndWhileLoading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := start(t, Options{Directives: logged(dir, "always").Directives()})
	client(t, srv).Do("SET", "k", strings.Repeat("x", 3_000_000))
	require.NoError(t, srv.Close())
	d := newTestDisk()
	d.reading = true
	srv, err := newOn(d, Options{Directives: logged(dir, "always").Directives(), EventLoops: true})
	require.NoError(t, err)
	started := make(chan error, 1)
	go func() { started <- srv.Start() }()
	eventually(t, d.held, "it reads")
	closed := make(chan error, 1)
	go func() { closed <- srv.Close() }()
	eventually(t, func() bool {
		srv.life.Lock()
		defer srv.life.Unlock()
		return srv.state == stateClosed
	}, "it is being closed")
	d.release()
	require.Error(t, <-started)
	require.NoError(t, <-closed)
	start(t, Options{Directives: logged(dir, "always").Directives()})
}
