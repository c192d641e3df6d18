// Package disk is what the log needs of a file system, as an interface: so that a test can own the disk as it
// owns the clock. OS is the real one; package lossy is one in memory that forgets what was not synced.
//
// It knows names, bytes and durability, but not the content of files. To add an operation, add it to FS, to
// OS, and to lossy with its effect after a crash before the next sync.
//
// A crash may undo an operation unless the caller keeps these rules. Bytes are durable once File.Sync has
// returned. A created, renamed or removed name is durable once SyncDir of its directory has returned. A
// rename is atomic, but not ordered against anything that was not synced before it.
package disk

import (
	"errors"
	"io"
)

// ErrLocked is returned by FS.Lock when another process holds the lock.
var ErrLocked = errors.New("disk: locked by another process")

// FS is a file system. Paths are those of the system it runs on (package filepath). A missing file gives an
// error that is fs.ErrNotExist. All methods may be called from any goroutine.
type FS interface {
	// Create opens an empty file for writing; what the name held before is gone.
	Create(path string) (File, error)
	// Append opens a file for writing at its end, and creates it if need be.
	Append(path string) (File, error)
	// Open opens a file for reading.
	Open(path string) (File, error)
	// Rename gives a file another name, in the place of whatever had that.
	Rename(from, to string) error
	// Remove removes a file.
	Remove(path string) error
	// MakeDir creates a directory in an existing parent; created is false if it existed.
	MakeDir(path string) (created bool, err error)
	// List gives the names in a directory, sorted.
	List(dir string) ([]string, error)
	// Size gives the size of a file in bytes.
	Size(path string) (int64, error)
	// SyncDir makes durable which names a directory has.
	SyncDir(dir string) error
	// Lock takes the exclusive lock of a file, until it is closed or the process ends, or returns ErrLocked.
	// The file is created, and stays.
	Lock(path string) (io.Closer, error)
}

// File is an open file. One goroutine writes; others may sync.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	// WriteAt writes at an offset, wherever the file is written to otherwise. The file must have been
	// opened for writing.
	io.WriterAt
	io.Closer
	// Size gives the file's size in bytes.
	Size() (int64, error)
	// Truncate cuts the file to size bytes; a file that was opened with Append is then written from there.
	Truncate(size int64) error
	// Allocate makes the file larger, up to size bytes, with zeros. The file system reserves the space. A
	// sync of what is written there later is faster, because it need not make a new size durable. The error
	// may be that the system has no such call; the file is as it was then.
	Allocate(size int64) error
	// Sync returns once all written bytes are durable. After an error it is unknown which bytes are. Calling
	// it again proves nothing, because the system may have dropped what it could not write.
	Sync() error
}
