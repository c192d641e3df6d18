package failing

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/types"
)

// What can fail: a write to a file of the log, its sync, making another file, and writing to the list of the
// files. The list has the term and the vote, too.
const (
	Write  = "write"
	Sync   = "sync"
	Create = "create"
	List   = "list"
)

// Err is what the disk says then.
var Err = errors.New("input/output error")

// Disk is where the files of a log are. It implements types.VFS. A write is only safe behind a sync that
// worked.
type Disk struct {
	types.VFS
	mu     sync.Mutex
	fails  func(op string) bool // nil: nothing does
	safe   map[string][]byte    // what is on the disk of each file, by its path
	failed map[string]int       // how often each did
}

var _ types.VFS = (*Disk)(nil)

// New makes a disk that works.
func New() *Disk { return &Disk{VFS: fs.New(), safe: map[string][]byte{}, failed: map[string]int{}} }

// Set says what fails from now on; nil: nothing.
func (d *Disk) Set(fails func(op string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails = fails
}

// Failed is how often something has failed.
func (d *Disk) Failed(op string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed[op]
}

// bad is the error of an operation that is to fail. Under mu.
func (d *Disk) bad(op string) error {
	if d.fails != nil && d.fails(op) {
		d.failed[op]++
		return fmt.Errorf("%s: %w", op, Err)
	}
	return nil
}

// CutPower leaves of all files what is on the disk. They must not be open.
func (d *Disk) CutPower() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, is := range d.safe {
		if _, err := os.Stat(path); err != nil {
			continue // it was deleted
		}
		if err := os.WriteFile(path, is, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Create implements types.VFS.
func (d *Disk) Create(dir, name string, size uint64) (types.WritableFile, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.bad(Create); err != nil {
		return nil, err
	}
	f, err := d.VFS.Create(dir, name, size)
	d.safe[filepath.Join(dir, name)] = make([]byte, size)
	return &file{WritableFile: f, disk: d, path: filepath.Join(dir, name)}, err
}

// OpenWriter implements types.VFS.
func (d *Disk) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := d.VFS.OpenWriter(dir, name)
	if err != nil {
		return nil, err
	}
	return &file{WritableFile: f, disk: d, path: filepath.Join(dir, name)}, nil
}

// file is one that is written to.
type file struct {
	types.WritableFile
	disk  *Disk
	path  string
	dirty [][2]int64 // under the disk's mu: from, to
}

// WriteAt implements types.WritableFile. Of a write that fails a part may be done.
func (f *file) WriteAt(b []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	err := f.disk.bad(Write)
	if err != nil {
		b = b[:len(b)/2]
	}
	n, bad := f.WritableFile.WriteAt(b, at)
	f.dirty = append(f.dirty, [2]int64{at, at + int64(n)})
	return n, errors.Join(err, bad)
}

// Sync implements types.WritableFile.
func (f *file) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	dirty := f.dirty
	f.dirty = nil
	if err := f.disk.bad(Sync); err != nil {
		return err
	}
	for _, r := range dirty {
		is := f.disk.safe[f.path]
		if short := r[1] - int64(len(is)); short > 0 {
			is = append(is, make([]byte, short)...)
		}
		if _, err := f.ReadAt(is[r[0]:r[1]], r[0]); err != nil {
			return err
		}
		f.disk.safe[f.path] = is
	}
	return f.WritableFile.Sync()
}

// NewList makes what keeps the list of the files, on this disk.
func (d *Disk) NewList() types.MetaStore { return &list{disk: d} }

// list is a list of files that cannot be written to while List fails.
type list struct {
	metadb.BoltMetaDB
	disk *Disk
}

func (l *list) may() error {
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	return l.disk.bad(List)
}

// CommitState implements types.MetaStore.
func (l *list) CommitState(s types.PersistentState) error {
	if err := l.may(); err != nil {
		return err
	}
	return l.BoltMetaDB.CommitState(s)
}

// SetStable implements types.MetaStore.
func (l *list) SetStable(key, val []byte) error {
	if err := l.may(); err != nil {
		return err
	}
	return l.BoltMetaDB.SetStable(key, val)
}
