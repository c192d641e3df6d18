package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
)

// OS is the file system of the machine.
type OS struct {
	// Blocking says that each sync uses a thread of the process; it ends sooner while all processors are
	// busy. Otherwise a worker of the kernel does small syncs, if possible.
	Blocking bool
}

// fileMode is the mode of new files, as in Redis.
const fileMode = 0o644

// Create implements FS.
func (o OS) Create(path string) (File, error) {
	f, err := o.open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Append implements FS. It does not use O_APPEND, because Windows cannot truncate a file that was opened with
// it.
func (o OS) Append(path string) (File, error) {
	f, err := o.open(path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Open implements FS.
func (o OS) Open(path string) (File, error) {
	f, err := o.open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (o OS) open(path string, flags int) (*osFile, error) {
	f, err := os.OpenFile(path, flags, fileMode)
	if err != nil {
		return nil, err
	}
	return &osFile{File: f, blocking: o.Blocking}, nil
}

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(path string) error { return os.Remove(path) }

// MakeDir implements FS.
func (OS) MakeDir(path string) (created bool, err error) {
	err = os.Mkdir(path, 0o755)
	if err == nil {
		return true, nil
	}
	if st, statErr := os.Stat(path); errors.Is(err, fs.ErrExist) && statErr == nil && st.IsDir() {
		return false, nil
	}
	return false, err
}

// List implements FS.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Size implements FS. It returns an error for anything but a regular file.
func (OS) Size(path string) (int64, error) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if !st.Mode().IsRegular() {
		return 0, fmt.Errorf("%s: not a regular file", path)
	}
	return st.Size(), nil
}

// SyncDir implements FS. Windows has no such call and needs none. Some network file systems refuse it for
// directories; there is no alternative for them.
func (OS) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	err = d.Sync()
	if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EBADF) {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// Lock implements FS.
func (OS) Lock(path string) (io.Closer, error) {
	f, err := lockFile(path)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// osFile is a file of OS.
type osFile struct {
	*os.File
	syncer   syncer
	blocking bool
	fresh    atomic.Int64 // bytes written since the start of the last sync
}

// Write implements File.
func (f *osFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.fresh.Add(int64(n))
	return n, err
}

// WriteAt implements File.
func (f *osFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	f.fresh.Add(int64(n))
	return n, err
}

// Allocate implements File.
func (f *osFile) Allocate(size int64) error {
	if err := allocate(f.File, size); err != nil {
		return fmt.Errorf("allocate %s: %w", f.Name(), err)
	}
	return nil
}

// Size implements File.
func (f *osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// Sync implements File.
func (f *osFile) Sync() error {
	fresh := f.fresh.Swap(0)
	if f.blocking {
		fresh = math.MaxInt64
	}
	if err := f.syncer.sync(f.File, fresh); err != nil {
		return fmt.Errorf("sync %s: %w", f.Name(), err)
	}
	return nil
}

// Close implements File.
func (f *osFile) Close() error {
	f.syncer.close()
	return f.File.Close()
}

// Truncate implements File.
func (f *osFile) Truncate(size int64) error {
	if err := f.File.Truncate(size); err != nil {
		return err
	}
	_, err := f.Seek(size, io.SeekStart)
	return err
}
