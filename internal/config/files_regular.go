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

// Bounds of the files that directives name, in bytes.
const (
	mostSecretBytes = 4096
	// MostPEMBytes bounds a file of certificates or keys. The certificates of all public authorities take
	// about 200 KB.
	MostPEMBytes = 4 << 20
	// MostACLBytes bounds an ACL file: about a million users.
	MostACLBytes = 256 << 20
)

// ErrNotRegular: the path is that of a directory, a device, a pipe or a socket.
var ErrNotRegular = errors.New("it is not a regular file")

// readWithin bounds a read of a file that is called regular and may have nothing to read yet, as some of
// /proc. The read of a file on a disk does not go by it.
const readWithin = time.Second

// ReadRegular reads a file whole, if it is a regular one of at most that many bytes. It neither waits for a
// writer nor opens a device: a client may have named the path. A link may lead to the file. The error is an
// *fs.PathError.
func ReadRegular(path string, most int64) ([]byte, error) {
	f, err := OpenRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_ = f.SetReadDeadline(time.Now().Add(readWithin)) // most files have none
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has more than %d bytes", most)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// OpenRegular is os.OpenFile of a regular file. It opens nothing else, and does not wait until a pipe has
// another end. The error is an *fs.PathError.
func OpenRegular(path string, flags int, mode fs.FileMode) (*os.File, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, mode)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat() // what was looked at before may have been replaced
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
