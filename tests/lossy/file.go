package lossy

import (
	"errors"
	"io"
	"io/fs"
)

// errReadOnly is returned for a change through a file that was opened for reading.
var errReadOnly = errors.New("opened for reading")

// file is an open file. It stays the same file when its name is given to another file.
type file struct {
	d        *Disk
	path     string
	node     int
	at       int64 // position of Read
	readOnly bool
	closed   bool
}

// change performs an operation that requires the file to be open.
func (f *file) change(op Op) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	op.Path, op.node = f.path, f.node
	if n := f.d.world.nodes[f.node]; op.Kind == Write && op.At == atEnd {
		op.At = int64(len(n.now))
	}
	err := fs.ErrClosed
	switch {
	case f.closed:
	case f.readOnly && op.Kind != Sync:
		err = errReadOnly
	default:
		err = f.d.do(op)
	}
	if err != nil {
		return pathError(op.Kind.String(), f.path, err)
	}
	return nil
}

// atEnd is the offset that means the end of the file.
const atEnd = -1

// Write implements disk.File.
func (f *file) Write(b []byte) (int, error) { return f.WriteAt(b, atEnd) }

// WriteAt implements disk.File.
func (f *file) WriteAt(b []byte, at int64) (int, error) {
	err := f.change(Op{Kind: Write, Data: append([]byte(nil), b...), At: at})
	var short *Short
	switch {
	case err == nil:
		return len(b), nil
	case errors.As(err, &short):
		return min(short.Bytes, len(b)), err
	}
	return 0, err
}

// Truncate implements disk.File.
func (f *file) Truncate(size int64) error { return f.change(Op{Kind: Truncate, Size: size}) }

// Allocate implements disk.File. A crash may undo it, as it may undo a Truncate.
func (f *file) Allocate(size int64) error {
	if is, err := f.Size(); err != nil || is >= size {
		return err
	}
	return f.Truncate(size)
}

// Sync implements disk.File.
func (f *file) Sync() error { return f.change(Op{Kind: Sync}) }

// Read implements disk.File.
func (f *file) Read(b []byte) (int, error) {
	n, err := f.ReadAt(b, f.at)
	f.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// ReadAt implements disk.File.
func (f *file) ReadAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.closed {
		return 0, pathError("read", f.path, fs.ErrClosed)
	}
	data := f.d.world.nodes[f.node].now
	if at >= int64(len(data)) {
		return 0, io.EOF
	}
	n := copy(b, data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Size implements disk.File.
func (f *file) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return int64(len(f.d.world.nodes[f.node].now)), nil
}

// Close implements disk.File.
func (f *file) Close() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.closed {
		return pathError("close", f.path, fs.ErrClosed)
	}
	f.closed = true
	return nil
}
