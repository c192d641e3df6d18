package server

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/persistence/disk"
	"lockserver/tests/testkit"
)

// errDisk is the error of a test's disk that has to fail.
var errDisk = errors.New("no space left on this test")

// testDisk is the machine's file system, but that a test decides when a file is synced or read, and
// whether that and writing succeeds.
type testDisk struct {
	disk.OS
	mu    sync.Mutex
	moved sync.Cond
	// holding keeps syncs of the log from returning, writing keeps writes to it and reading reads from it;
	// failing makes syncs and writes fail.
	holding, writing, reading, failing bool

	waiting int // syncs, writes and reads that are held
	syncs   int
	writes  int
}

func newTestDisk() *testDisk {
	d := &testDisk{}
	d.moved.L = &d.mu
	return d
}

// set changes what the disk does.
func (d *testDisk) set(change func(d *testDisk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
	d.moved.Broadcast()
}

func (d *testDisk) hold() { d.set(func(d *testDisk) { d.holding = true }) }
func (d *testDisk) release() {
	d.set(func(d *testDisk) { d.holding, d.writing, d.reading = false, false, false })
}

// held reports whether an operation waits for the disk.
func (d *testDisk) held() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting > 0
}

// pass waits until the disk may go on, and returns its error.
func (d *testDisk) pass(keeps func(d *testDisk) bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting++
	for keeps(d) {
		d.moved.Wait()
	}
	d.waiting--
	if d.failing {
		return errDisk
	}
	return nil
}

func (d *testDisk) wrap(path string, f disk.File, err error) (disk.File, error) {
	if err != nil || !strings.Contains(path, ".aof") {
		return f, err
	}
	return &testFile{f, d, strings.HasSuffix(path, ".incr.aof")}, nil
}

// Create implements disk.FS.
func (d *testDisk) Create(path string) (disk.File, error) {
	f, err := d.OS.Create(path)
	return d.wrap(path, f, err)
}

// Append implements disk.FS.
func (d *testDisk) Append(path string) (disk.File, error) {
	f, err := d.OS.Append(path)
	return d.wrap(path, f, err)
}

// Open implements disk.FS.
func (d *testDisk) Open(path string) (disk.File, error) {
	f, err := d.OS.Open(path)
	return d.wrap(path, f, err)
}

type testFile struct {
	disk.File
	disk *testDisk
	incr bool
}

// Sync implements disk.File.
func (f *testFile) Sync() error {
	if err := f.disk.pass(func(d *testDisk) bool { return d.holding && f.incr }); err != nil {
		return err
	}
	f.disk.set(func(d *testDisk) { d.syncs++ })
	return f.File.Sync()
}

// Read implements disk.File.
func (f *testFile) Read(b []byte) (int, error) {
	_ = f.disk.pass(func(d *testDisk) bool { return d.reading })
	return f.File.Read(b)
}

// ReadAt implements disk.File.
func (f *testFile) ReadAt(b []byte, at int64) (int, error) {
	_ = f.disk.pass(func(d *testDisk) bool { return d.reading })
	return f.File.ReadAt(b, at)
}

// Write implements disk.File.
func (f *testFile) Write(b []byte) (int, error) {
	if err := f.disk.pass(func(d *testDisk) bool { return d.writing && f.incr }); err != nil {
		return 0, err
	}
	f.disk.set(func(d *testDisk) { d.writes++ })
	return f.File.Write(b)
}

// logged is a configuration with an append-only log in a directory.
func logged(dir, fsync string) *config.Config {
	c := inDir(dir)
	c.AppendOnly, c.AppendFsync, c.DBFilename = true, fsync, ""
	return c
}

// startOn runs a server that has its log on a test's disk.
func startOn(t testing.TB, d *testDisk, o Options) *instance {
	t.Helper()
	srv, err := newOn(d, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		d.release()
		_ = srv.Close()
	})
	require.NoError(t, srv.Start())
	return srv
}

// onEveryLog runs a test with appendfsync always on each transport, with a disk of its own.
func onEveryLog(t *testing.T, test func(t *testing.T, w *logWorld)) {
	onLogsWith(t, "always", test)
}

// onLogsWith is onEveryLog with another policy.
func onLogsWith(t *testing.T, fsync string, test func(t *testing.T, w *logWorld)) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			w := &logWorld{disk: newTestDisk(), dir: t.TempDir(), rounds: tr.options.EventLoops}
			c := logged(w.dir, fsync)
			c.IOThreads = max(tr.threads, 1)
			w.srv = startOn(t, w.disk, Options{Directives: c.Directives(), EventLoops: tr.options.EventLoops})
			w.dial = w.srv.Dial
			if !tr.pipe {
				w.dial = overPort(w.srv)
			}
			test(t, w)
		})
	}
}

// logWorld is a server with a disk that a test holds.
type logWorld struct {
	srv    *instance
	disk   *testDisk
	dir    string
	dial   func() (net.Conn, error)
	rounds bool // event loops serve
}

func (w *logWorld) client(t testing.TB) *testkit.Client { return testkit.Dial(t, w.dial) }

// awaitHeld waits until the log waits for the disk.
func (w *logWorld) awaitHeld(t testing.TB) {
	t.Helper()
	eventually(t, w.disk.held, "the log should wait for the disk")
}

// awaitPending waits until n sessions have pending output.
func (w *logWorld) awaitPending(t testing.TB, n int) {
	t.Helper()
	eventually(t, func() bool {
		return w.srv.executor.Gates.Log.Waiting() == n
	}, "%d sessions should wait for the log", n)
}

// nothingComes fails if anything is sent within a moment. It can only miss a mistake, not invent one.
func nothingComes(t testing.TB, clients ...*testkit.Client) {
	t.Helper()
	for i, c := range clients {
		_, came := c.ReceiveWithin(20 * time.Millisecond)
		require.False(t, came, "client %d has seen what is not on disk", i)
	}
}
