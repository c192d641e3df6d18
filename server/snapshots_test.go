package server

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// infoField is one value of INFO.
func infoField(t testing.TB, c *testkit.Client, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(c.Do("INFO", "everything").Str, "\r\n"+name+":")
	require.True(t, ok, "INFO has no %s", name)
	val, _, _ := strings.Cut(rest, "\r\n")
	return val
}

func awaitSaved(t testing.TB, srv *instance) {
	t.Helper()
	eventually(t, func() bool {
		srv.executor.Mu.Lock()
		defer srv.executor.Mu.Unlock()
		return !srv.executor.Durable.Saving()
	}, "the background save ends")
}

func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := start(t, Options{Directives: inDir(dir).Directives(), Clock: clock})
	c := client(t, srv)
	c.Do("SET", "k", "v")
	c.Do("SET", "dying", "v", "PX", "5000")
	c.Do("HSET", "h", "f", "1")
	c.Do("SELECT", "7")
	c.Do("SADD", "s", "1", "2")
	c.Do("LOCK", "l", "o")
	require.Equal(t, "1750000000", c.Do("LASTSAVE").String())
	clock.Advance(2 * time.Second)
	require.Equal(t, "+OK", c.Do("SAVE").String())
	require.Equal(t, "1750000002", c.Do("LASTSAVE").String())
	require.Equal(t, "0", infoField(t, c, "rdb_changes_since_last_save"))
	want := testkit.ReadDataset(c)
	delete(want, testkit.Place{DB: 0, Key: "dying"})
	require.NoError(t, srv.Close())

	clock.Advance(3*time.Second + time.Millisecond) // the key's time has come while nothing ran
	srv = start(t, Options{Directives: inDir(dir).Directives(), Clock: clock})
	c = client(t, srv)
	require.Empty(t, want.Diff(testkit.ReadDataset(c), 0))
	require.Equal(t, "0", infoField(t, c, "rdb_changes_since_last_save"))
	clock.Advance(30 * time.Second) // watchdogs ended with their connections
	c.Do("SELECT", "7")
	require.Zero(t, c.Do("EXISTS", "l").Int)
}

func TestBackgroundSave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := start(t, Options{Directives: inDir(dir).Directives()})
	c := client(t, srv)
	c.Do("SET", "k", "v")
	require.Equal(t, "+Background saving started", c.Do("BGSAVE").String())
	awaitSaved(t, srv)
	require.Equal(t, "ok", infoField(t, c, "rdb_last_bgsave_status"))
	require.Equal(t, "0", infoField(t, c, "rdb_changes_since_last_save"))
	require.Equal(t, "1", infoField(t, c, "rdb_saves"))
	require.Equal(t, "-ERR syntax error", c.Do("BGSAVE", "NOW").String())
	require.NoError(t, srv.Close())
	require.Equal(t, "v", client(t, start(t, Options{Directives: inDir(dir).Directives()})).Do("GET", "k").Str)
}

// While one background save runs there is no other, and no SAVE.
func TestOneSaveAtATime(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{Directives: inDir(t.TempDir()).Directives()})
	c := client(t, srv)
	release := holdBackground(t, srv)
	require.Equal(t, "+Background saving started", c.Do("BGSAVE").String())
	require.Equal(t, "-ERR Background save already in progress", c.Do("BGSAVE").String())
	require.Equal(t, "-ERR Background save already in progress", c.Do("SAVE").String())
	require.Equal(t, "+Background saving scheduled", c.Do("BGSAVE", "SCHEDULE").String())
	require.Equal(t, "1", infoField(t, c, "rdb_bgsave_in_progress"))
	release()
	eventually(t, func() bool { return saves(srv) == 2 }, "the scheduled save begins")
	awaitSaved(t, srv)
}

// saves is how many snapshots have been begun.
func saves(srv *instance) int64 {
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	return srv.executor.Durable.Info().Saves.Count
}

// heldHost is a server that begins nothing in the background before it is released.
type heldHost struct {
	host
	released chan struct{}
}

func (h heldHost) background(f func()) {
	h.host.background(func() {
		<-h.released
		f()
	})
}

// holdBackground keeps what begins in the background from now on from going on before release is called.
func holdBackground(t testing.TB, srv *instance) (release func()) {
	t.Helper()
	held := heldHost{srv, make(chan struct{})}
	become := func(h host) {
		srv.executor.Mu.Lock()
		defer srv.executor.Mu.Unlock()
		srv.executor.host = h
	}
	release = sync.OnceFunc(func() {
		become(srv)
		close(held.released)
	})
	become(held)
	t.Cleanup(release)
	return release
}

func TestSavePoints(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	cfg := inDir(dir)
	cfg.Save = []config.SavePoint{{PeriodMS: 60_000, Changes: 3}, {PeriodMS: 10_000, Changes: 100}}
	srv := start(t, Options{Directives: cfg.Directives(), Clock: clock})
	c := client(t, srv)
	saves := func() int64 {
		awaitSaved(t, srv)
		return saves(srv)
	}
	c.Do("SET", "a", "1")
	c.Do("SET", "b", "1")
	clock.Advance(100 * time.Second)
	require.Zero(t, saves(), "two changes are too few")
	c.Do("SET", "c", "1")
	clock.Advance(2 * time.Second)
	require.EqualValues(t, 1, saves(), "three changes, and the last save is long ago")
	for i := range 100 {
		c.Do("SET", "k", strconv.Itoa(i))
	}
	clock.Advance(9 * time.Second)
	require.EqualValues(t, 1, saves())
	clock.Advance(3 * time.Second)
	require.EqualValues(t, 2, saves(), "a hundred changes in ten seconds")
	c.Do("CONFIG", "SET", "save", "")
	c.Do("SET", "k", "x")
	clock.Advance(1000 * time.Second)
	require.EqualValues(t, 2, saves())
}

// Saving fails: writes are refused as soon as a background save has, reads go on, and
// a save that succeeds ends it.
func TestSavingFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(dir, 0o755))
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	cfg := inDir(dir)
	cfg.Save = []config.SavePoint{{PeriodMS: 60_000, Changes: 1}}
	srv := start(t, Options{Directives: cfg.Directives(), Clock: clock})
	c := client(t, srv)
	c.Do("SET", "k", "v")
	require.NoError(t, os.RemoveAll(dir))

	require.Equal(t, "-ERR", c.Do("SAVE").String())
	require.Equal(t, "+OK", c.Do("SET", "k", "v").String(), "a SAVE that fails tells only who asked for it")
	require.Equal(t, "+Background saving started", c.Do("BGSAVE").String())
	awaitSaved(t, srv)
	misconf := c.Do("SET", "k", "w").String()
	require.True(t, strings.HasPrefix(misconf, "-MISCONF Redis is configured to save RDB snapshots, "), misconf)
	require.Equal(t, misconf, c.Do("LOCK", "l", "a").String())
	require.Equal(t, misconf, c.Do("PING").String())
	require.Equal(t, "v", c.Do("GET", "k").Str)
	require.Equal(t, "err", infoField(t, c, "rdb_last_bgsave_status"))
	require.Equal(t, "-ERR Errors trying to SHUTDOWN. Check logs.", c.Do("SHUTDOWN").String())
	require.Error(t, srv.Shutdown(ShutdownOptions{}))

	c.Do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
	require.Equal(t, "+OK", c.Do("SET", "k", "w").String())
	c.Do("CONFIG", "SET", "stop-writes-on-bgsave-error", "yes")
	require.Equal(t, misconf, c.Do("SET", "k", "x").String())

	clock.Advance(70 * time.Second) // a save point tries again, in vain
	awaitSaved(t, srv)
	require.Equal(t, misconf, c.Do("SET", "k", "x").String())
	require.NoError(t, os.Mkdir(dir, 0o755))
	clock.Advance(7 * time.Second)
	awaitSaved(t, srv)
	require.Equal(t, "+OK", c.Do("SET", "k", "x").String(), "a save point has tried again and succeeded")
	require.Equal(t, "ok", infoField(t, c, "rdb_last_bgsave_status"))
}

func TestShutdownCommand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		words string
		save  bool // there are save points
		saved bool
	}{
		{"SHUTDOWN", true, true}, {"SHUTDOWN", false, false}, {"SHUTDOWN SAVE", false, true},
		{"SHUTDOWN NOSAVE", true, false}, {"SHUTDOWN NOW FORCE SAVE", false, true},
	} {
		for _, tr := range transports {
			dir := t.TempDir()
			cfg := inDir(dir)
			if tt.save {
				cfg.Save = []config.SavePoint{{PeriodMS: 3_600_000, Changes: 1}}
			}
			srv := start(t, Options{Directives: cfg.Directives(), EventLoops: tr.options.EventLoops})
			dial := srv.Dial
			if !tr.pipe {
				dial = overPort(srv)
			}
			c := testkit.Dial(t, dial)
			c.Do("SET", "k", "v")
			require.Equal(t, "-ERR syntax error", c.Do("SHUTDOWN", "SAVE", "NOSAVE").String())
			require.Equal(t, "-ERR syntax error", c.Do("SHUTDOWN", "ABORT", "NOW").String())
			require.Equal(t, "-ERR No shutdown in progress.", c.Do("SHUTDOWN", "ABORT").String())
			c.Send(strings.Fields(tt.words)...)
			<-srv.Done()
			awaitClosed(t, c.Conn())
			require.Zero(t, srv.ExitCode())
			_, err := os.Stat(filepath.Join(dir, "dump.rdb"))
			require.Equal(t, tt.saved, err == nil, "%s with save points %v over %s", tt.words, tt.save, tr.name)
		}
	}
}

func TestShutdownForce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(dir, 0o755))
	srv := start(t, Options{Directives: inDir(dir).Directives()})
	require.NoError(t, os.RemoveAll(dir))
	c := client(t, srv)
	require.Equal(t, "-ERR Errors trying to SHUTDOWN. Check logs.", c.Do("SHUTDOWN", "SAVE").String())
	require.Equal(t, "+PONG", c.Do("PING").String(), "it goes on")
	c.Send("SHUTDOWN", "SAVE", "FORCE")
	<-srv.Done()
}

func TestDamagedSnapshotIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "dump.rdb")
	srv := start(t, Options{Directives: inDir(dir).Directives()})
	c := client(t, srv)
	for i := range 100 {
		c.Do("SET", fmt.Sprint("key", i), strings.Repeat("v", i))
	}
	require.Equal(t, "+OK", c.Do("SAVE").String())
	require.NoError(t, srv.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for name, bad := range map[string][]byte{
		"truncated": whole[:len(whole)/2], "without its end": whole[:len(whole)-1], "empty": {}, "flipped": flipped,
		"another file": []byte("this is no snapshot at all"),
	} {
		require.NoError(t, os.WriteFile(path, bad, 0o644))
		srv, err := newInstance(Options{Directives: inDir(dir).Directives()})
		require.NoError(t, err)
		require.ErrorContains(t, srv.Start(), path, name)
		_, err = srv.Dial()
		require.Error(t, err, "what is half loaded is not served")
		require.NoError(t, srv.Shutdown(ShutdownOptions{Save: true}), "nor saved")
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(bad, left), "%s: it is left as it was", name)
	}
}

// A writer keeps two keys equal in one command, over many keys; whatever a
// background save catches is one moment.
func TestBackgroundSaveIsOneMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := start(t, Options{Directives: inDir(dir).Directives()})
	c := client(t, srv)
	const pairs = 2000
	var fill, read [][]string
	for i := range pairs {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		fill, read = append(fill, []string{"MSET", a, "0", b, "0"}), append(read, []string{"MGET", a, b})
	}
	c.Pipeline(fill)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 2 {
		own := client(t, srv)
		writers.Go(func() {
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				i := (n*7 + w) % pairs
				val := fmt.Sprint(w, "-", n)
				if v, err := own.Call("MSET", fmt.Sprint("a", i), val, fmt.Sprint("b", i), val); !noError(t, err) || !equal(t, "+OK", v.String()) {
					return
				}
			}
		})
	}
	for range testkit.Steps(3, 5) {
		require.Equal(t, "+Background saving started", c.Do("BGSAVE").String())
		awaitSaved(t, srv)
		copied := t.TempDir()
		snapshot, err := os.ReadFile(filepath.Join(dir, "dump.rdb"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(copied, "dump.rdb"), snapshot, 0o644))
		loaded := client(t, start(t, Options{Directives: inDir(copied).Directives()}))
		require.EqualValues(t, 2*pairs, loaded.Do("DBSIZE").Int)
		for i, both := range loaded.Pipeline(read) {
			require.Equal(t, both.Elems[0].Str, both.Elems[1].Str, "pair %d", i)
		}
	}
	close(stop)
	writers.Wait()
}

// A background save that began earlier must not put its file over that of the shutdown.
func TestShutdownOverridesARunningSave(t *testing.T) {
	t.Parallel()
	for range 10 {
		dir := t.TempDir()
		srv := start(t, Options{Directives: inDir(dir).Directives()})
		c := client(t, srv)
		c.Do("SET", "filler", strings.Repeat("0123456789", 1<<17))
		c.Do("SET", "k", "old")
		require.Equal(t, "+Background saving started", c.Do("BGSAVE").String())
		c.Do("SET", "k", "new")
		require.NoError(t, srv.Shutdown(ShutdownOptions{Save: true}))
		left, err := filepath.Glob(filepath.Join(dir, "temp-*"))
		require.NoError(t, err)
		require.Empty(t, left)
		require.Equal(t, "new", client(t, start(t, Options{Directives: inDir(dir).Directives()})).Do("GET", "k").Str)
	}
}

func TestStaleTemporaryFilesAreRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a[b]*c")
	require.NoError(t, os.Mkdir(dir, 0o755))
	stale := []string{"temp-123-dump.rdb", "temp-9-" + tokenFile, "temp-sync-" + strings.Repeat("0a", 20) + ".rdb"}
	kept := []string{"temp-x-dump.rdb", "temp-1-other.rdb", "temp--dump.rdb", "mine.rdb", "temp-sync-mine.rdb"}
	for _, name := range append(stale, kept...) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644))
	}
	start(t, Options{Directives: inDir(dir).Directives()})
	for _, name := range stale {
		require.NoFileExists(t, filepath.Join(dir, name))
	}
	for _, name := range kept {
		require.FileExists(t, filepath.Join(dir, name))
	}
}

func TestServerWithoutSnapshots(t *testing.T) {
	t.Parallel()
	c := client(t, startWith(t, Options{}, nil))
	const none = "-ERR this server keeps no snapshots (dbfilename is empty)"
	require.Equal(t, none, c.Do("SAVE").String())
	require.Equal(t, none, c.Do("BGSAVE").String())
}
