package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

const (
	// fileBytes is the size of one of the log's files, raft-wal's default.
	fileBytes = 64 << 20
	// openAgainEvery is how often it is tried to open the log's files anew.
	openAgainEvery = time.Second
)

// files are those of a log. It is an hraft.LogStore and an hraft.StableStore.
//
// The library begins another file when one has enough entries. If there is no room for that it says so to
// nobody, stays with the old one, which takes nothing more, and refuses all entries for good. Here the files
// are then opened anew, as soon as there is room for another one.
type files struct {
	dir    string // has the directory of the files
	mu     sync.RWMutex
	log    *wal.WAL // under mu
	closed atomic.Bool
	tried  time.Time // under mu; when it was last tried to open them anew
}

var (
	_ hraft.MonotonicLogStore = (*files)(nil)
	_ hraft.StableStore       = (*files)(nil)
)

// openFiles opens the log's files in a directory, which has one for them.
func openFiles(dir string) (*files, error) {
	f := &files{dir: dir}
	return f, f.open()
}

func (f *files) open() (err error) {
	if f.log, err = wal.Open(filepath.Join(f.dir, "wal")); err != nil {
		return fmt.Errorf("the group's log in %s: %w", f.dir, err)
	}
	return nil
}

// StoreLogs implements hraft.LogStore, as do the methods below.
func (f *files) StoreLogs(all []*hraft.Log) error {
	err := f.with(func(l *wal.WAL) error { return l.StoreLogs(all) })
	if !errors.Is(err, wal.ErrSealed) {
		return err
	}
	if bad := f.openAgain(); bad != nil {
		return fmt.Errorf("there is no other file for the log: %w", bad)
	}
	return f.with(func(l *wal.WAL) error { return l.StoreLogs(all) })
}

// with has do use the files, which are not opened anew meanwhile.
func (f *files) with(do func(l *wal.WAL) error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return do(f.log)
}

// openAgain opens the files anew if there is room for another one.
func (f *files) openAgain() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.tried) < openAgainEvery {
		return wal.ErrSealed
	}
	f.tried = time.Now() // only then: who asks more often than that must not put it off
	if err := f.hasRoom(); err != nil {
		return err
	}
	if err := f.log.Close(); err != nil {
		return err
	}
	for {
		err := f.open()
		if err == nil || f.closed.Load() {
			return err
		}
		time.Sleep(openAgainEvery) // who reads an entry has to wait: that there is none would end the process
	}
}

// hasRoom is why there is no room for another file.
func (f *files) hasRoom() (err error) {
	probe, err := os.CreateTemp(f.dir, "room")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, probe.Close(), os.Remove(probe.Name())) }()
	block := make([]byte, 1<<20)
	for range fileBytes/len(block) + 1 {
		if _, err = probe.Write(block); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the files.
func (f *files) Close() error {
	f.closed.Store(true)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Close()
}

// IsMonotonic implements hraft.MonotonicLogStore.
func (f *files) IsMonotonic() bool { return true }

func (f *files) FirstIndex() (index uint64, err error) {
	err = f.with(func(l *wal.WAL) (err error) { index, err = l.FirstIndex(); return err })
	return index, err
}

func (f *files) LastIndex() (index uint64, err error) {
	err = f.with(func(l *wal.WAL) (err error) { index, err = l.LastIndex(); return err })
	return index, err
}

func (f *files) GetLog(index uint64, to *hraft.Log) error {
	return f.with(func(l *wal.WAL) error { return l.GetLog(index, to) })
}

func (f *files) StoreLog(l *hraft.Log) error { return f.StoreLogs([]*hraft.Log{l}) }

func (f *files) DeleteRange(from, to uint64) error {
	return f.with(func(l *wal.WAL) error { return l.DeleteRange(from, to) })
}

// Set implements hraft.StableStore, as do the methods below.
func (f *files) Set(key, val []byte) error {
	return f.with(func(l *wal.WAL) error { return l.Set(key, val) })
}

func (f *files) Get(key []byte) (val []byte, err error) {
	err = f.with(func(l *wal.WAL) (err error) { val, err = l.Get(key); return err })
	return val, err
}

func (f *files) SetUint64(key []byte, val uint64) error {
	return f.with(func(l *wal.WAL) error { return l.SetUint64(key, val) })
}

func (f *files) GetUint64(key []byte) (val uint64, err error) {
	err = f.with(func(l *wal.WAL) (err error) { val, err = l.GetUint64(key); return err })
	return val, err
}
