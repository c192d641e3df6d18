package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

const (
	// fileBytes is the size of one of the log's files, raft-wal's default.
	fileBytes = 64 << 20
	// openAgainEvery is how often it is tried to open the log's files anew.
	openAgainEvery = time.Second
)

// files are those of a log. It is an hraft.LogStore and an hraft.StableStore.
//
// After a failed write the state in memory cannot be trusted:
//   - raft-wal takes a file to be sealed even if its seal could not be written. It would read the file by an
//     index that is not there.
//   - It tries to make a file that it made already.
//   - It syncs the directory of a new file once, whether that works or not.
//   - It does not report a disk that was too full for another file, and stays with the old one, which takes
//     nothing more.
//
// So the files are opened anew before anything else is written, as soon as the disk has space for another
// file.
type files struct {
	dir    string // has the directory of the files
	open   func() (*wal.WAL, error)
	size   int // of one of them, in bytes
	mu     sync.RWMutex
	log    *wal.WAL // under mu
	failed atomic.Bool
	closed atomic.Bool
	tried  time.Time // under mu; when it was last tried to open them anew
	// reached is up to which entry the log is kept; nil: it is not written down. Under writing.
	reached *reached
	writing sync.Mutex
	cause   error // under mu; why that did not work
}

var (
	_ hraft.MonotonicLogStore = (*files)(nil)
	_ hraft.StableStore       = (*files)(nil)
)

// openFiles opens the log's files in a directory, which has one for them.
func openFiles(dir string, on Disk) (*files, error) {
	if on == nil {
		on = system{fs.New()}
	}
	size := fileBytes
	if small, ok := on.(interface{ fileBytes() int }); ok {
		size = small.fileBytes()
	}
	return openFilesOn(dir, on, on.NewList, size)
}

// Disk is what the files of a log are on.
type Disk interface {
	types.VFS
	// NewList makes what keeps the list of the files, the term, and the vote.
	NewList() types.MetaStore
}

// system is the operating system's.
type system struct{ types.VFS }

// NewList implements Disk.
func (system) NewList() types.MetaStore { return &metadb.BoltMetaDB{} }

// openFilesOn opens files of a size on a file system. list makes what keeps the list of them.
func openFilesOn(dir string, on types.VFS, list func() types.MetaStore, size int) (f *files, err error) {
	in := filepath.Join(dir, "wal")
	f = &files{dir: dir, size: size, open: func() (*wal.WAL, error) {
		k, there, err := readKept(in)
		if err == nil && there {
			err = k.writeList(in)
		}
		if err != nil {
			return nil, fmt.Errorf("the list of the log's files in %s: %w", in, err)
		}
		// The list may have a value although its write had failed, so it is read again.
		meta, err := openVotes(dir, k, list())
		if err != nil {
			return nil, err
		}
		w, err := wal.Open(in, wal.WithSegmentFiler(segment.NewFiler(in, written{on})), wal.WithMetaStore(meta), wal.WithSegmentSize(size))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the group's log in %s: %w", dir, err), meta.Close())
		}
		return w, nil
	}}
	f.log, err = f.open()
	return f, err
}

// StoreLogs implements hraft.LogStore, as do the methods below.
func (f *files) StoreLogs(all []*hraft.Log) error {
	store := func(l *wal.WAL) error { return l.StoreLogs(all) }
	f.writing.Lock()
	defer f.writing.Unlock()
	err := f.write(store)
	if errors.Is(err, wal.ErrSealed) {
		err = f.write(store) // the disk was too full for another file; it may have space now
	}
	if err == nil && len(all) > 0 {
		err = f.reached.write(keep(all))
	}
	return err
}

// with calls do with the files, which are not opened anew meanwhile.
func (f *files) with(do func(l *wal.WAL) error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return do(f.log)
}

// write calls do, which writes to the files. It opens the files anew before that if the last write failed.
func (f *files) write(do func(l *wal.WAL) error) error {
	if f.failed.Load() {
		if err := f.openAgain(); err != nil {
			return fmt.Errorf("the log's files cannot be opened anew: %w", err)
		}
	}
	err := f.with(do)
	if err != nil {
		f.failed.Store(true)
	}
	return err
}

// openAgain opens the files anew if the disk takes as much as one of them has.
func (f *files) openAgain() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed.Load():
		return wal.ErrClosed
	case !f.failed.Load(): // another goroutine has
		return nil
	case time.Since(f.tried) < openAgainEvery:
		return f.cause
	}
	f.cause = f.hasSpace()
	f.tried = time.Now() // more frequent calls must not put it off
	if f.cause != nil {
		return f.cause
	}
	// A file that is being made is waited for. Nothing is there to be deleted.
	f.cause = f.log.DeleteRange(math.MaxUint64, math.MaxUint64)
	opened, err := f.open()
	if err == nil {
		if err = agree(opened, f.log); err != nil {
			err = errors.Join(err, opened.Close())
		}
	}
	if err != nil {
		f.cause = err
		return err // entries are read from the old ones: that there is none would end the process
	}
	old := f.log
	f.log, f.cause = opened, errJustOpened
	f.failed.Store(false)
	if err := old.Close(); err != nil {
		return fmt.Errorf("the old ones: %w", err)
	}
	return nil
}

// agree makes a reopened log end where the old one did. The library goes on from the results that it got: a
// failed write may be there nevertheless, and so may a deletion.
func agree(opened, old *wal.WAL) error {
	last, err := opened.LastIndex()
	if err != nil {
		return err
	}
	to, err := old.LastIndex()
	if err != nil || last == to {
		return err
	}
	if last > to {
		first, err := opened.FirstIndex()
		if err != nil {
			return err
		}
		return opened.DeleteRange(max(first, to+1), last)
	}
	first, err := old.FirstIndex()
	if err != nil {
		return err
	}
	var missing []*hraft.Log
	for i := max(first, last+1); i <= to; i++ {
		l := &hraft.Log{}
		if err := old.GetLog(i, l); err != nil {
			return err
		}
		missing = append(missing, l)
	}
	return opened.StoreLogs(missing)
}

// errJustOpened is returned for a while when files could not be written to that had just been opened anew.
var errJustOpened = errors.New("they were, a moment ago, and could not be written to")

// hasSpace returns why the disk would not take another file.
func (f *files) hasSpace() (err error) {
	probe, err := os.CreateTemp(f.dir, "probe")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, probe.Close(), os.Remove(probe.Name())) }()
	block := make([]byte, 1<<20)
	for range f.size/len(block) + 1 {
		if _, err = probe.Write(block); err != nil {
			return err
		}
	}
	return probe.Sync() // a disk that is broken takes what the system keeps for it
}

// Close closes the files.
func (f *files) Close() error {
	f.closed.Store(true)
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.log.Close(), f.reached.close())
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
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := f.lower(from, to); err != nil {
		return err
	}
	return f.write(func(l *wal.WAL) error { return l.DeleteRange(from, to) })
}

// lower writes down that entries at the end of the log are to be deleted.
func (f *files) lower(from, to uint64) error {
	if f.reached == nil {
		return nil
	}
	first, err := f.FirstIndex()
	if err != nil {
		return err
	}
	last, err := f.LastIndex()
	if err != nil || to < last || last == 0 {
		return err
	}
	var l hraft.Log
	if from > first {
		if err := f.GetLog(from-1, &l); err != nil {
			return err
		}
	}
	return f.reached.lower(place{l.Index, l.Term})
}

// Set implements hraft.StableStore, as do the methods below.
func (f *files) Set(key, val []byte) error {
	return f.write(func(l *wal.WAL) error { return l.Set(key, val) })
}

func (f *files) Get(key []byte) (val []byte, err error) {
	err = f.with(func(l *wal.WAL) (err error) { val, err = l.Get(key); return err })
	return val, err
}

func (f *files) SetUint64(key []byte, val uint64) error {
	return f.Set(key, binary.LittleEndian.AppendUint64(nil, val)) // as the library does it
}

func (f *files) GetUint64(key []byte) (val uint64, err error) {
	err = f.with(func(l *wal.WAL) (err error) { val, err = l.GetUint64(key); return err })
	return val, err
}
