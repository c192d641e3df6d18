package lossy

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"lockserver/persistence/disk"
)

// Kind is a kind of operation.
type Kind int

// The operations that a crash can follow, and that can fail.
const (
	Create Kind = iota + 1 // a new, empty file with its name
	Write
	Truncate
	Sync
	Rename
	Remove
	MakeDir
	SyncDir
	// Open is for reading, or for appending to an existing file. It changes nothing, but may fail.
	Open
)

// String gives the kind's name.
func (k Kind) String() string {
	return [...]string{"?", "create", "write", "truncate", "sync", "rename", "remove", "mkdir", "syncdir", "open"}[k]
}

// Op is one operation.
type Op struct {
	Kind Kind
	Path string
	To   string // for Rename
	Data []byte // for Write
	Size int64  // for Truncate
	At   int64  // for Write: the offset
	node int    // the file
	lost bool   // for Sync: it failed
}

// String gives the operation in one line.
func (o Op) String() string {
	switch o.Kind {
	case Write:
		return fmt.Sprintf("%s %s %d bytes", o.Kind, o.Path, len(o.Data))
	case Rename:
		return fmt.Sprintf("%s %s to %s", o.Kind, o.Path, o.To)
	case Sync:
		if o.lost {
			return fmt.Sprintf("%s %s failed", o.Kind, o.Path)
		}
	}
	return fmt.Sprintf("%s %s", o.Kind, o.Path)
}

// Short is an error that Faults may return for a Write: only the first bytes are written.
type Short struct {
	Bytes int
	Err   error
}

// Error gives the reason.
func (s *Short) Error() string { return fmt.Sprintf("only %d bytes: %v", s.Bytes, s.Err) }

// Unwrap gives the reason.
func (s *Short) Unwrap() error { return s.Err }

// Disk is a disk in memory. Paths are relative to its root, which is ".".
type Disk struct {
	mu    sync.Mutex
	start *world // state before the first operation
	world *world
	ops   []Op
	locks map[string]bool
	// faults is asked before each operation whether it fails.
	faults func(Op) error
	failed int
}

// New gives an empty disk.
func New() *Disk { return newDisk(newWorld()) }

func newDisk(w *world) *Disk {
	return &Disk{start: w.clone(), world: w, locks: map[string]bool{}}
}

// SetFaults makes f decide which operations fail: each with the error that f returns; nil means success. f is
// called with the disk locked. A failed operation does nothing, with two exceptions: a Write that is Short,
// and a Sync, after which unsynced data stays unsynced.
func (d *Disk) SetFaults(f func(Op) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = f
}

// Ops returns the number of operations so far.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.ops)
}

// Failed returns the number of operations that failed because of SetFaults.
func (d *Disk) Failed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// History returns the operations so far.
func (d *Disk) History() []Op {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.ops)
}

// do performs an operation, unless it fails; under mu.
func (d *Disk) do(op Op) error {
	var failed error
	if d.faults != nil {
		failed = d.faults(op)
	}
	if failed != nil {
		d.failed++
		short, _ := failed.(*Short)
		switch {
		case op.Kind == Sync:
			op.lost = true
		case op.Kind == Write && short != nil:
			op.Data = op.Data[:min(short.Bytes, len(op.Data))]
		default:
			return failed
		}
	}
	if op.Kind == Open {
		return nil
	}
	if err := d.world.apply(op); err != nil {
		return err
	}
	d.ops = append(d.ops, op)
	return failed
}

// pathError is the error of an operation on a path.
func pathError(op, path string, err error) error { return &fs.PathError{Op: op, Path: path, Err: err} }

// open opens a file for writing at its end.
func (d *Disk) open(path string, empty bool) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path = filepath.Clean(path)
	id, ok := d.world.find(path)
	var err error
	switch {
	case !ok:
		id = d.world.nextNode
		err = d.do(Op{Kind: Create, Path: path, node: id})
	case empty:
		err = d.do(Op{Kind: Truncate, Path: path, node: id})
	default:
		err = d.do(Op{Kind: Open, Path: path, node: id})
	}
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return &file{d: d, path: path, node: id}, nil
}

// Create implements disk.FS.
func (d *Disk) Create(path string) (disk.File, error) { return d.open(path, true) }

// Append implements disk.FS.
func (d *Disk) Append(path string) (disk.File, error) { return d.open(path, false) }

// Open implements disk.FS.
func (d *Disk) Open(path string) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path = filepath.Clean(path)
	id, ok := d.world.find(path)
	if !ok {
		return nil, pathError("open", path, fs.ErrNotExist)
	}
	if err := d.do(Op{Kind: Open, Path: path, node: id}); err != nil {
		return nil, pathError("open", path, err)
	}
	return &file{d: d, path: path, node: id, readOnly: true}, nil
}

// Rename implements disk.FS.
func (d *Disk) Rename(from, to string) error {
	return d.named(Op{Kind: Rename, Path: filepath.Clean(from), To: filepath.Clean(to)})
}

// Remove implements disk.FS.
func (d *Disk) Remove(path string) error {
	return d.named(Op{Kind: Remove, Path: filepath.Clean(path)})
}

// named performs an operation on a name.
func (d *Disk) named(op Op) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.do(op); err != nil {
		return pathError(op.Kind.String(), op.Path, err)
	}
	return nil
}

// MakeDir implements disk.FS.
func (d *Disk) MakeDir(path string) (created bool, err error) {
	path = filepath.Clean(path)
	d.mu.Lock()
	_, there := d.world.dirs[path]
	d.mu.Unlock()
	if there {
		return false, nil
	}
	err = d.named(Op{Kind: MakeDir, Path: path})
	return err == nil, err
}

// SyncDir implements disk.FS.
func (d *Disk) SyncDir(dir string) error {
	return d.named(Op{Kind: SyncDir, Path: filepath.Clean(dir)})
}

// List implements disk.FS.
func (d *Disk) List(dir string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := d.world.dirs[filepath.Clean(dir)]
	if !ok {
		return nil, pathError("list", dir, fs.ErrNotExist)
	}
	var names []string
	for name := range f.now {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// Size implements disk.FS.
func (d *Disk) Size(path string) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.world.find(filepath.Clean(path))
	if !ok {
		return 0, pathError("stat", path, fs.ErrNotExist)
	}
	return int64(len(d.world.nodes[id].now)), nil
}

// Lock implements disk.FS.
func (d *Disk) Lock(path string) (io.Closer, error) {
	f, err := d.open(path, false)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	path = filepath.Clean(path)
	if d.locks[path] {
		return nil, disk.ErrLocked
	}
	d.locks[path] = true
	return &lock{f, d, path}, nil
}

// lock is a held lock.
type lock struct {
	disk.File
	d    *Disk
	path string
}

// Close releases the lock.
func (l *lock) Close() error {
	l.d.mu.Lock()
	delete(l.d.locks, l.path)
	l.d.mu.Unlock()
	return l.File.Close()
}
