// Package disk is the part of a file system that the log needs, as an interface. A test can replace the disk
// as it can replace the clock. OS is the real disk; package lossy is a disk in memory that forgets unsynced
// data.
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

// FS is a file system. Paths are those of the operating system (package filepath). A missing file gives an
// error that is fs.ErrNotExist. All methods may be called from any goroutine.
type FS interface {
	// Create opens an empty file for writing. An existing file with that name is emptied.
	Create(path string) (File, error)
	// Append opens a file for writing at its end, and creates it if necessary.
	Append(path string) (File, error)
	// Open opens a file for reading.
	Open(path string) (File, error)
	// Rename renames a file, and replaces an existing file with the new name.
	Rename(from, to string) error
	// Remove removes a file.
	Remove(path string) error
	// MakeDir creates a directory in an existing parent; created is false if it existed.
	MakeDir(path string) (created bool, err error)
	// List returns the names in a directory, sorted.
	List(dir string) ([]string, error)
	// Size returns the size of a file in bytes.
	Size(path string) (int64, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
	// Lock takes the exclusive lock of a file until it is closed or the process ends, or returns ErrLocked.
	// The file is created if necessary, and never removed.
	Lock(path string) (io.Closer, error)
}

// File is an open file. One goroutine may write; others may sync.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	// WriteAt writes at an offset, and does not move the position of Write. The file must have been opened
	// for writing.
	io.WriterAt
	io.Closer
	// Size returns the file's size in bytes.
	Size() (int64, error)
	// Truncate cuts the file to size bytes. A file from Append is then written from there on.
	Truncate(size int64) error
	// Allocate fills the file with zeros up to size bytes, and reserves the space. A later sync of data
	// written there is faster, because it need not make a new size durable. If the system has no such call,
	// it returns an error, and the file is unchanged.
	Allocate(size int64) error
	// Sync returns once all written bytes are durable. After an error it is unknown which bytes are. Calling
	// it again proves nothing, because the system may have dropped what it could not write.
	Sync() error
}
