package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// The log is switched on and off while the server runs: what is there then is its
// base, and what comes is logged.
func TestSwitchOnAndOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := inDir(dir)
	cfg.DBFilename, cfg.AppendFsync = "", "always"
	srv := start(t, Options{Directives: cfg.Directives()})
	c := client(t, srv)
	everyKind(t, c)
	require.Equal(t, "0", infoField(t, c, "aof_enabled"))
	for range 3 {
		require.Equal(t, "+OK", c.Do("CONFIG", "SET", "appendonly", "yes").String())
		require.Equal(t, "1", infoField(t, c, "aof_enabled"))
		require.Equal(t, "+OK", c.Do("SET", "while", "it begins").String())
		awaitRewritten(t, srv)
		require.Equal(t, "ok", infoField(t, c, "aof_last_bgrewrite_status"))
		require.Equal(t, "+OK", c.Do("SET", "then", "v").String())
		require.Equal(t, "[1 0]", c.Do("WAITAOF", "1", "0", "0").String())
		want := testkit.ReadDataset(c)
		require.Equal(t, "+OK", c.Do("CONFIG", "SET", "appendonly", "no").String())
		require.Equal(t, "+OK", c.Do("SET", "not", "logged").String())
		require.Empty(t, want.Diff(testkit.ReadDataset(client(t, startCopy(t, dir))), 0))
		c.Do("DEL", "not")
	}
	require.Equal(t, "-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.", c.Do("WAITAOF", "1", "0", "0").String())
}

// startCopy runs a server on a copy of a directory with a log.
func startCopy(t testing.TB, dir string) *instance {
	t.Helper()
	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
	return start(t, Options{Directives: logged(copied, "always").Directives()})
}

// A waiter gets its reply when the log is switched off, or to another policy.
func TestSwitchWhileAClientWaits(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"appendonly no", "appendfsync everysec", "appendfsync no"} {
		t.Run(words, func(t *testing.T) {
			d := newTestDisk()
			srv := startOn(t, d, Options{Directives: logged(t.TempDir(), "always").Directives()})
			c, admin, waits := client(t, srv), client(t, srv), client(t, srv)
			d.hold()
			c.Send("SET", "k", "v")
			eventually(t, d.held, "the write waits for the disk")
			waits.Send("WAITAOF", "0", "1", "0")
			awaitParked(t, srv, 1)
			admin.Send(append([]string{"CONFIG", "SET"}, strings.Fields(words)...)...)
			d.release()
			require.Equal(t, "+OK", c.Receive().String())
			require.Equal(t, "+OK", admin.Receive().String())
			if words == "appendonly no" {
				require.Equal(t, "[1 0]", waits.Receive().String(), "it wrote nothing that could be missing")
			}
			require.Equal(t, "+OK", c.Do("SET", "k", "w").String())
		})
	}
}

// Where the log cannot be opened the server goes on without.
func TestSwitchOnFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := start(t, Options{Directives: logged(dir, "everysec").Directives()})
	cfg := inDir(dir)
	cfg.DBFilename = ""
	srv := start(t, Options{Directives: cfg.Directives()})
	c := client(t, srv)
	require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'appendonly') - Another server writes to the directory "+dir,
		c.Do("CONFIG", "SET", "appendonly", "yes").String())
	require.Equal(t, "no", c.Do("CONFIG", "GET", "appendonly").Elems[1].Str)
	require.Equal(t, "+OK", c.Do("SET", "k", "v").String())
	require.Equal(t, "-ERR this server keeps no files (dbfilename is empty, and appendonly is off)", c.Do("BGREWRITEAOF").String())
	require.Equal(t, "-ERR Can't execute an AOF background rewriting. Please check the server logs for more information.",
		client(t, start(t, Options{Directives: inDir(dir).Directives()})).Do("BGREWRITEAOF").String())
	require.NoError(t, other.Close())
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "appendonly", "yes").String())
	awaitRewritten(t, srv)
	require.NoError(t, srv.Close())
	require.Equal(t, "v", client(t, start(t, Options{Directives: logged(dir, "always").Directives()})).Do("GET", "k").Str)
}

// BGREWRITEAOF without a log writes what a log would begin with, as in Redis.
func TestRewriteWithoutALog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := start(t, Options{Directives: inDir(dir).Directives()})
	c := client(t, srv)
	everyKind(t, c)
	rewrite(t, srv, c)
	want := testkit.ReadDataset(c)
	require.NoError(t, srv.Close())
	require.Empty(t, want.Diff(testkit.ReadDataset(client(t, start(t, Options{Directives: logged(dir, "no").Directives()}))), 0))
}

// Only one of BGSAVE and BGREWRITEAOF runs at a time.
func TestSaveAndRewriteExcludeEachOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := logged(dir, "everysec")
	cfg.DBFilename = "dump.rdb"
	srv := start(t, Options{Directives: cfg.Directives()})
	c := client(t, srv)
	release := holdBackground(t, srv)
	require.Equal(t, "+Background append only file rewriting started", c.Do("BGREWRITEAOF").String())
	require.Equal(t, "-ERR Background append only file rewriting already in progress", c.Do("BGREWRITEAOF").String())
	require.Equal(t, "-ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to schedule "+
		"a BGSAVE whenever possible.", c.Do("BGSAVE").String())
	require.Equal(t, "+Background saving scheduled", c.Do("BGSAVE", "SCHEDULE").String())
	require.Equal(t, "1", infoField(t, c, "aof_rewrite_in_progress"))
	release()
	eventually(t, func() bool { return saves(srv) == 1 }, "the save that was scheduled")
	awaitSaved(t, srv)
	require.Equal(t, "1", infoField(t, c, "aof_rewrites"))
	release = holdBackground(t, srv)
	require.Equal(t, "+Background saving started", c.Do("BGSAVE").String())
	require.Equal(t, "+Background append only file rewriting scheduled", c.Do("BGREWRITEAOF").String())
	require.Equal(t, "1", infoField(t, c, "aof_rewrite_scheduled"))
	release()
	eventually(t, func() bool { return infoField(t, c, "aof_rewrites") == "2" }, "the rewrite that was scheduled")
	c.Do("MULTI")
	c.Do("BGREWRITEAOF")
	require.Equal(t, "[+Background append only file rewriting scheduled]", c.Do("EXEC").String())
	eventually(t, func() bool { return infoField(t, c, "aof_rewrites") == "3" }, "after the transaction")
}

// The log is rewritten by itself when it has grown enough.
func TestRewriteBySize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	cfg := logged(dir, "no")
	cfg.AutoAOFRewriteMinSize = 20_000
	srv := start(t, Options{Directives: cfg.Directives(), Clock: clock})
	c := client(t, srv)
	for range 40 {
		c.Do("SET", "k", strings.Repeat("x", 400))
	}
	clock.Advance(2 * time.Second)
	require.Equal(t, "0", infoField(t, c, "aof_rewrites"), "too small")
	for range 40 {
		c.Do("SET", "k", strings.Repeat("x", 400))
	}
	clock.Advance(2 * time.Second)
	eventually(t, func() bool { return infoField(t, c, "aof_rewrites") == "1" }, "it has grown")
	require.Equal(t, infoField(t, c, "aof_base_size"), infoField(t, c, "aof_current_size"))
	c.Do("CONFIG", "SET", "auto-aof-rewrite-percentage", "0")
	for range 80 {
		c.Do("SET", "k", strings.Repeat("x", 400))
	}
	clock.Advance(2 * time.Second)
	require.Equal(t, "0", infoField(t, c, "aof_rewrite_in_progress"), "switched off")
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*"))
	require.NoError(t, err)
	require.Len(t, files, 4, "the manifest, the lock, a base and an incremental file: %v", files)
}

// A rewrite that runs when the server ends is called off and leaves nothing behind.
func TestEndInARewrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := start(t, Options{Directives: logged(dir, "everysec").Directives()})
	c := client(t, srv)
	for i := range 3000 {
		c.Send("SET", "k"+strings.Repeat("x", i%500), strings.Repeat("v", 1000))
	}
	for range 3000 {
		c.Receive()
	}
	want := testkit.ReadDataset(c)
	require.Equal(t, "+Background append only file rewriting started", c.Do("BGREWRITEAOF").String())
	require.NoError(t, srv.Shutdown(ShutdownOptions{}))
	srv = start(t, Options{Directives: logged(dir, "everysec").Directives()})
	require.Empty(t, want.Diff(testkit.ReadDataset(client(t, srv)), 0))
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "temp-*"))
	require.NoError(t, err)
	require.Empty(t, files)
}

// With no-appendfsync-on-rewrite nothing waits for the disk while a rewrite runs.
func TestNoSyncInARewrite(t *testing.T) {
	t.Parallel()
	d := newTestDisk()
	cfg := logged(t.TempDir(), "always")
	cfg.NoAppendFsyncOnRewrite = true
	srv := startOn(t, d, Options{Directives: cfg.Directives()})
	c := client(t, srv)
	release := holdBackground(t, srv)
	require.Equal(t, "+Background append only file rewriting started", c.Do("BGREWRITEAOF").String())
	require.Equal(t, "+OK", c.Do("SET", "k", "u").String(), "the log has gone on to the next file")
	d.hold()
	require.Equal(t, "+OK", c.Do("SET", "k", "v").String())
	d.release()
	release()
	awaitRewritten(t, srv)
	d.hold()
	c.Send("SET", "k", "w")
	eventually(t, d.held, "it waits again")
	nothingComes(t, c)
	d.release()
	require.Equal(t, "+OK", c.Receive().String())
}

// A server with a broken log has data that only memory has: it does not end unless that is meant.
func TestEndWithABrokenLog(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"NOSAVE", "FORCE"} {
		t.Run(word, func(t *testing.T) {
			d := newTestDisk()
			srv := startOn(t, d, Options{Directives: logged(t.TempDir(), "everysec").Directives()})
			c, writer := client(t, srv), client(t, srv)
			d.set(func(d *testDisk) { d.failing = true })
			writer.Send("SET", "k", "v")
			awaitClosed(t, writer.Conn())
			eventually(t, func() bool { return infoField(t, c, "aof_last_write_status") == "err" }, "it breaks")
			require.Contains(t, c.Do("SET", "j", "v").String(), "-MISCONF")
			require.Equal(t, "-ERR Errors trying to SHUTDOWN. Check logs.", c.Do("SHUTDOWN").String())
			require.Error(t, srv.Shutdown(ShutdownOptions{}))
			require.Equal(t, "v", c.Do("GET", "k").Str)
			c.Send("SHUTDOWN", word)
			<-srv.Done()
		})
	}
}
