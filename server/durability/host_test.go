package durability

import (
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/persistence"
	"lockserver/persistence/disk"
	"lockserver/server/gate"
	"lockserver/store"
)

// atUS is when the tests begin.
const atUS = 1_750_000_000_000_000

// testHost is a server that consists of the data alone. The goroutine that has its lock executes.
type testHost struct {
	t          *testing.T
	mu         sync.Mutex
	storage    Storage
	gate       gate.Gate
	store      *store.Store
	config     *config.Config
	disk       heldDisk
	background sync.WaitGroup
	ends       bool // the server is to end
	closed     int  // calls of LogClosed
	rests      int  // calls of Rest
	replayed   int  // commands of a log
}

// newHost returns a server with a directory; it has read nothing from it.
func newHost(t *testing.T, dir string, change func(c *config.Config)) *testHost {
	h := &testHost{t: t, store: store.New(1, store.Limits{}), config: config.Default()}
	h.config.Dir, h.config.Save = dir, nil
	if change != nil {
		change(h.config)
	}
	h.store.SetNow(atUS)
	h.storage.Init(Options{Host: h, Program: h, Store: h.store, Gate: &h.gate, Config: h.config, Files: &h.disk, Clock: h,
		Log: slog.New(slog.DiscardHandler), Version: "7.4.0"})
	return h
}

// heldDisk is the machine's disk, with two exceptions: nothing is written to a log while a test has its lock,
// nor when the disk is full.
type heldDisk struct {
	disk.OS
	mu   sync.RWMutex
	full bool
}

// hold keeps the log from being written until release is called.
func (h *testHost) hold() (release func()) {
	h.disk.mu.Lock()
	release = sync.OnceFunc(h.disk.mu.Unlock)
	h.t.Cleanup(release)
	return release
}

// fill makes writing fail, or not any more.
func (h *testHost) fill(full bool) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.disk.full = full
}

// Create implements disk.FS.
func (d *heldDisk) Create(path string) (disk.File, error) {
	f, err := d.OS.Create(path)
	return heldFile{f, d}, err
}

// Append implements disk.FS.
func (d *heldDisk) Append(path string) (disk.File, error) {
	f, err := d.OS.Append(path)
	return heldFile{f, d}, err
}

type heldFile struct {
	disk.File
	disk *heldDisk
}

// Write implements disk.File.
func (f heldFile) Write(b []byte) (int, error) {
	f.disk.mu.RLock()
	defer f.disk.mu.RUnlock()
	if f.disk.full {
		return 0, errFull
	}
	return f.File.Write(b)
}

// errFull is the error of a full disk.
var errFull = errors.New("no space left on this test")

// startHost is a server that has read what is in its directory.
func startHost(t *testing.T, dir string, change func(c *config.Config)) *testHost {
	t.Helper()
	h := newHost(t, dir, change)
	require.NoError(t, h.load())
	t.Cleanup(h.close)
	return h
}

func (h *testHost) load() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.storage.BeginLoad(atUS)
	if err := h.storage.Load(); err != nil {
		return err
	}
	return h.storage.EndLoad()
}

// close ends the server. It may be called more than once.
func (h *testHost) close() {
	h.mu.Lock()
	h.storage.CallOff()
	h.mu.Unlock()
	h.background.Wait()
	h.mu.Lock()
	end := h.storage.Close()
	h.mu.Unlock()
	end()
}

// set writes a string as a unit of its own, for a client.
func (h *testHost) set(m *gate.Mark, key, val string) {
	h.Do(func() {
		h.store.DB(0).EditString([]byte(key)).Set([]byte(val), store.NoTTL)
		h.HandOn()
		if log := h.storage.Log(); log != nil {
			log.Credit(m)
		}
	})
}

// get is the string at a key; empty: there is none.
func (h *testHost) get(key string) (val string) {
	h.Do(func() { val = string(h.store.DB(0).Peek([]byte(key)).Bytes()) })
	return val
}

// info is Info, in a unit.
func (h *testHost) info() (i Info) {
	h.Do(func() { i = h.storage.Info() })
	return i
}

// NowUS implements clock.Clock.
func (h *testHost) NowUS() int64 { return atUS }

// Do implements Executor.
func (h *testHost) Do(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.HandOn()
}

// Background implements Executor.
func (h *testHost) Background(f func()) { h.background.Go(f) }

// HandOn implements Executor.
func (h *testHost) HandOn() { h.storage.EndUnit(true) }

// errEnds is the error of Rest when the server is about to end.
var errEnds = errors.New("it ends")

// Rest implements Executor.
func (h *testHost) Rest(time.Duration) error {
	if h.rests++; h.ends {
		return errEnds
	}
	return nil
}

// Synced implements Executor.
func (h *testHost) Synced() {}

// LogClosed implements Executor.
func (h *testHost) LogClosed() { h.closed++ }

// NewReplayer implements Executor.
func (h *testHost) NewReplayer() Replayer { return h }

// Begin implements Replayer.
func (h *testHost) Begin() {}

// Command implements Replayer: the tests write nothing but strings.
func (h *testHost) Command(argv [][]byte) error {
	if h.replayed++; string(argv[0]) == "SET" {
		h.store.DB(0).EditString(argv[1]).Set(argv[2], store.NoTTL)
	}
	return nil
}

// Libraries implements Executor.
func (h *testHost) Libraries() [][]byte { return nil }

// LoadLibraries implements Executor.
func (h *testHost) LoadLibraries([][]byte, bool) error { return nil }

// ReplaceLibraries implements Executor.
func (h *testHost) ReplaceLibraries([][]byte) error { return nil }

// AwaitIdle implements Executor.
func (h *testHost) AwaitIdle() {}

// DropLibraries implements Executor.
func (h *testHost) DropLibraries() {}

// Wait implements Executor.
func (h *testHost) Wait(f func()) error {
	h.mu.Unlock()
	defer h.mu.Lock()
	f()
	return nil
}

// Placed implements Executor.
func (h *testHost) Placed(persistence.History, []store.Effect) {}
