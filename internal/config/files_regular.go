package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Limits of the files that directives name, in bytes.
const (
	mostSecretBytes = 4096
	// MostPEMBytes limits a file of certificates or keys. The certificates of all public authorities take
	// about 200 KB.
	MostPEMBytes = 4 << 20
	// MostACLBytes limits an ACL file: about a million users.
	MostACLBytes = 256 << 20
)

// ErrNotRegular says that the path is a directory, a device, a pipe or a socket.
var ErrNotRegular = errors.New("it is not a regular file")

// readWithin limits the time of a read from a regular file that may have nothing to read yet, such as some
// files in /proc. It has no effect on a file on disk.
const readWithin = time.Second

// ReadRegular reads a whole file, if it is a regular file of at most most bytes. It neither waits for a
// writer nor opens a device, because a client may have named the path. A link may lead to the file. The error
// is an *fs.PathError.
func ReadRegular(path string, most int64) ([]byte, error) {
	f, err := OpenRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_ = f.SetReadDeadline(time.Now().Add(readWithin)) // most files have no deadline
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has more than %d bytes", most)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// OpenRegular opens a regular file, as os.OpenFile does. It opens no other kind of file, and does not wait
// for the other end of a pipe. The error is an *fs.PathError.
func OpenRegular(path string, flags int, mode fs.FileMode) (*os.File, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, mode)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat() // the file at the path may have been replaced since the first look
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
