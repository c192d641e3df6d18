package disk

import (
	"os"
	"syscall"
)

// allocate reserves space, filled with zeros.
func allocate(f *os.File, size int64) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for {
			if failed = syscall.Fallocate(int(fd), 0, 0, size); failed != syscall.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return failed
}
