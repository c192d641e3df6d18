package server

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/persistence/disk"
)

// saving is a configuration with a save point that is never reached.
func saving(dir string) *config.Config {
	c := inDir(dir)
	c.Save = []config.SavePoint{{PeriodMS: 3_600_000, Changes: 1_000_000}}
	c.EnableProtectedConfigs = config.AccessLocal
	return c
}

func inUse(dir string) string { return "another server writes to the directory " + dir }

// One directory has one server that writes there, whatever it writes.
func TestADirectoryHasOneServer(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(dir string) *config.Config{
		"snapshots": saving,
		"log":       func(dir string) *config.Config { return logged(dir, "everysec") },
	}
	for a, first := range kinds {
		for b, second := range kinds {
			t.Run(a+" and "+b, func(t *testing.T) {
				dir := t.TempDir()
				srv := start(t, Options{Directives: first(dir).Directives()})
				client(t, srv).Do("SET", "k", "v")
				late, err := newInstance(Options{Directives: second(dir).Directives()})
				require.NoError(t, err)
				require.EqualError(t, late.Start(), inUse(dir))
				require.NoError(t, late.Close())
				require.NoError(t, srv.Shutdown(ShutdownOptions{}))
				require.NoError(t, start(t, Options{Directives: first(dir).Directives()}).Shutdown(ShutdownOptions{}))
			})
		}
	}
}

// A server that does not write by itself may be there, too, until a command makes it write.
func TestWhoDoesNotWriteMayStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, Options{Directives: saving(dir).Directives()})
	client(t, first).Do("SET", "k", "first")
	c := inDir(dir)
	c.EnableProtectedConfigs = config.AccessLocal
	second := start(t, Options{Directives: c.Directives()})
	other := client(t, second)
	require.Equal(t, "none", infoField(t, other, "lock_token_reservation"))
	require.Positive(t, takeToken(t, second, "l"))
	other.Do("SET", "k", "second")
	for _, words := range [][]string{{"SAVE"}, {"BGSAVE"}, {"BGSAVE", "SCHEDULE"}} {
		require.Equal(t, "-ERR cannot save: "+inUse(dir), other.Do(words...).String(), words)
	}
	require.Equal(t, "-ERR Can't execute an AOF background rewriting. Please check the server logs for more information.",
		other.Do("BGREWRITEAOF").String())
	require.Equal(t, "-ERR Errors trying to SHUTDOWN. Check logs.", other.Do("SHUTDOWN", "SAVE").String())
	for _, pair := range [][]string{{"save", "1 1"}, {"appendonly", "yes"}} {
		require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument '"+pair[0]+"') - Another server writes to the directory "+dir,
			other.Do("CONFIG", "SET", pair[0], pair[1]).String())
		require.NotEqual(t, pair[1], other.Do("CONFIG", "GET", pair[0]).Elems[1].Str)
	}
	require.NoDirExists(t, filepath.Join(dir, "appendonlydir"))
	require.NoFileExists(t, filepath.Join(dir, "dump.rdb"))

	require.NoError(t, first.Shutdown(ShutdownOptions{}))
	require.Equal(t, "+OK", other.Do("SAVE").String(), "now it is its own")
	require.Equal(t, "ok", infoField(t, other, "lock_token_reservation"))
	late, err := newInstance(Options{Directives: saving(dir).Directives()})
	require.NoError(t, err)
	require.EqualError(t, late.Start(), inUse(dir))
	require.NoError(t, late.Close())
	require.NoError(t, second.Close())
	require.Equal(t, "second", client(t, start(t, Options{Directives: saving(dir).Directives()})).Do("GET", "k").Str)
}

// CONFIG SET takes the lock of where it leads, and leaves the one behind.
func TestConfigSetTakesTheLock(t *testing.T) {
	t.Parallel()
	dir, taken, free := t.TempDir(), t.TempDir(), t.TempDir()
	start(t, Options{Directives: saving(taken).Directives()})
	srv := start(t, Options{Directives: saving(dir).Directives()})
	c := client(t, srv)
	require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'dir') - Another server writes to the directory "+taken,
		c.Do("CONFIG", "SET", "dir", taken).String())
	require.Equal(t, dir, c.Do("CONFIG", "GET", "dir").Elems[1].Str)
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "dir", free).String())
	again := start(t, Options{Directives: saving(dir).Directives()})
	require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'dir') - Another server writes to the directory "+free,
		client(t, again).Do("CONFIG", "SET", "dir", free).String())
	require.NoError(t, srv.Close())
	require.Equal(t, "+OK", client(t, again).Do("CONFIG", "SET", "dir", free).String())
}

// A server without files writes none until a command asks for it.
func TestEmbeddedServerTakesTheLockWhenItWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := startWith(t, Options{}, func(c *config.Config) { c.Dir, c.EnableProtectedConfigs = dir, config.AccessLocal })
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	require.Equal(t, "+OK", client(t, srv).Do("CONFIG", "SET", "dbfilename", "x.rdb", "save", "3600 1000000").String())
	late, err := newInstance(Options{Directives: saving(dir).Directives()})
	require.NoError(t, err)
	require.EqualError(t, late.Start(), inUse(dir))
	require.NoError(t, late.Close())
}

// readOnly is a file system on which nothing can be locked, because nothing can be written.
type readOnly struct{ disk.OS }

func (readOnly) Lock(path string) (io.Closer, error) {
	return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EROFS}
}

// A server that writes nothing starts where nothing can be written. Its tokens go on
// above the limit that it finds.
func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.UnixMilli(1_750_000_000_000)
	first := start(t, Options{Directives: inDir(dir).Directives(), Clock: NewManualClock(now)})
	token := takeToken(t, first, "k")
	client(t, first).Do("SET", "k", "v")
	require.NoError(t, first.Shutdown(ShutdownOptions{Save: true}))
	before, err := os.ReadDir(dir)
	require.NoError(t, err)
	run := func(c *config.Config) (*instance, error) {
		srv, err := newOn(readOnly{}, Options{Directives: c.Directives(), Clock: NewManualClock(now.Add(-24 * time.Hour))})
		require.NoError(t, err)
		t.Cleanup(func() { _ = srv.Close() })
		return srv, srv.Start()
	}
	srv, err := run(inDir(dir))
	require.NoError(t, err)
	require.Equal(t, "v", client(t, srv).Do("GET", "k").Str)
	require.Greater(t, takeToken(t, srv, "k2"), token)
	require.Contains(t, client(t, srv).Do("SAVE").String(), "-ERR cannot save: open "+dir)
	after, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, err = run(saving(dir))
	require.ErrorIs(t, err, syscall.EROFS)
	_, err = run(inDir(filepath.Join(dir, "none")))
	require.ErrorContains(t, err, "none: no such file or directory")
}
