//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockFile takes the lock with flock, which ends with the process, however that ends.
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
		_ = f.Close() // the previous holder has removed the file: others would lock another file of that name
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

// Close ends the lock. A process that is being started at this moment may have a copy of the file until it
// runs its program. It would keep the lock if the file were only closed.
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
