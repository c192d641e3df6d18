//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockFile takes the lock with flock, which ends with the process in any case.
func lockFile(path string) (io.Closer, error) {
	for {
		f, err := lockOnce(path)
		if err != nil {
			return nil, err
		}
		held, err := f.Stat()
		named, nameErr := os.Stat(path)
		if err == nil && nameErr == nil && os.SameFile(held, named) {
			return &locked{f}, nil
		}
		_ = f.Close() // the previous holder has removed the file: other processes would lock a new file with that name
		if err == nil && !errors.Is(nameErr, os.ErrNotExist) {
			err = nameErr
		}
		if err != nil {
			return nil, err
		}
	}
}

// locked is a file with the lock.
type locked struct{ file *os.File }

// Close ends the lock. A process that is just being started may have a copy of the descriptor until it runs
// its program. Closing the file alone would leave the lock with that copy.
func (l *locked) Close() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}

func lockOnce(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	return nil, err
}
