package permitbench

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"
)

// Values of sched.h, and a real-time priority. Any such priority will do, because no other program has one.
const (
	schedOther = 0
	schedRR    = 2
	urgent     = 10
)

// prefer gives all threads of a process a real-time priority, so that it does not wait for other programs.
// The returned function takes that back, and should be called within a second. After that the kernel lets
// other programs run for 50 ms.
func prefer(pid int) (end func(), err error) {
	if err := schedule(pid, schedRR, urgent); err != nil {
		return func() {}, err
	}
	return func() { _ = schedule(pid, schedOther, 0) }, nil
}

// schedule sets the policy of a process' threads. Threads that they start inherit it.
func schedule(pid, policy int, priority int32) error {
	threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		return err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, uintptr(id), uintptr(policy), uintptr(unsafe.Pointer(&priority)))
		if errno != 0 && !errors.Is(errno, syscall.ESRCH) { // unless the thread has ended
			return errno
		}
	}
	return nil
}
