// Package disk is what the log needs of a file system, as an interface: so that a test can own the disk as it
// owns the clock. OS is the real one; package lossy is one in memory that forgets what was not synced.
//
// It knows names, bytes and durability, not what is in a file. To add an operation, add it to FS, to OS, and
// to lossy with its answer to "what is left of it after a crash that comes before the next sync".
//
// The rules that a caller has to keep, because a crash may otherwise undo what it did: bytes
// stay only once File.Sync has returned; a name that was made, renamed or removed stays so only
// once SyncDir of its directory has returned; and a rename is atomic, but not ordered against
// anything that was not synced before it.
package disk

import (
	"errors"
	"io"
)

// ErrLocked is returned by FS.Lock when somebody else holds the lock.
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
	// MakeDir creates a directory whose parent exists; created is false if it was there.
	MakeDir(path string) (created bool, err error)
	// List gives the names in a directory, sorted.
	List(dir string) ([]string, error)
	// Size gives the size of a file in bytes.
	Size(path string) (int64, error)
	// SyncDir makes durable which names a directory has.
	SyncDir(dir string) error
	// Lock takes the exclusive lock that stands in a file until it is closed or the process ends, or returns
	// ErrLocked. The file is created, and stays.
	Lock(path string) (io.Closer, error)
}

// File is an open file. One goroutine writes; others may sync.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	// Size gives the file's size in bytes.
	Size() (int64, error)
	// Truncate cuts the file to size bytes; a file that was opened with Append is then written from there.
	Truncate(size int64) error
	// Sync returns once all that was written is durable. After an error nobody knows what of it is: calling
	// it again proves nothing, because the system may have given up what it could not write.
	Sync() error
}
