package disk

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// aioSync syncs without a blocked thread in this process. A worker of the kernel syncs (Linux AIO,
// io_submit(2) with IOCB_CMD_FDSYNC) and signals an eventfd, which Go's poller watches as it watches sockets.
// A thread in fdatasync would occupy a processor of the Go scheduler until the runtime's monitor, which
// checks every 20 microseconds, takes it away.
type aioSync struct {
	context uintptr // aio_context_t
	bell    *os.File
	fd      int // of bell
}

// iocb and ioEvent are the structures of linux/aio_abi.h. Their unnamed fields are 0 here.
type iocb struct {
	_      [2]uint64 // aio_data; aio_key and aio_rw_flags
	opcode uint16
	_      int16 // aio_reqprio
	fd     uint32
	_      [4]uint64 // aio_buf, aio_nbytes, aio_offset, aio_reserved2
	flags  uint32
	resFD  uint32
}

type ioEvent struct {
	_      [2]uint64 // data, obj
	result int64
	_      int64 // res2
}

const (
	iocbFdsync = 3 // IOCB_CMD_FDSYNC
	iocbResFD  = 1 // IOCB_FLAG_RESFD: the kernel signals resFD
)

// newAIOSync returns nil if Linux AIO is not available: the kernel was built without it, a sandbox forbids
// it, or too many processes use it.
func newAIOSync() *aioSync {
	a := &aioSync{}
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&a.context)), 0); errno != 0 {
		return nil
	}
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		a.destroy()
		return nil
	}
	a.fd, a.bell = fd, os.NewFile(uintptr(fd), "eventfd")
	return a
}

// sync syncs a file's data. done is false if the kernel refuses, and has not begun to sync. It is for one
// goroutine at a time.
func (a *aioSync) sync(fd int) (err error, done bool) {
	request := &iocb{opcode: iocbFdsync, fd: uint32(fd), flags: iocbResFD, resFD: uint32(a.fd)}
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_IO_SUBMIT, a.context, 1, uintptr(unsafe.Pointer(&request)))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || n != 1 {
			return nil, false
		}
		break
	}
	var rung [8]byte
	_, _ = a.bell.Read(rung[:]) // if the read fails, the next call waits
	var event ioEvent
	for {
		n, _, errno := unix.Syscall6(unix.SYS_IO_GETEVENTS, a.context, 1, 1, uintptr(unsafe.Pointer(&event)), 0, 0)
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return errno, true
		case n == 1 && event.result != 0:
			return syscall.Errno(-event.result), true
		case n == 1:
			return nil, true
		}
	}
}

func (a *aioSync) destroy() { _, _, _ = unix.Syscall(unix.SYS_IO_DESTROY, a.context, 0, 0) }

func (a *aioSync) close() {
	a.destroy()
	_ = a.bell.Close()
}
