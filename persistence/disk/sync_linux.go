package disk

import (
	"os"
	"syscall"
)

// syncData leaves out what fsync writes beyond the data and the size: the time of the last change.
func syncData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var synced error
	err = conn.Control(func(fd uintptr) {
		for {
			if synced = syscall.Fdatasync(int(fd)); synced != syscall.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return synced
}
