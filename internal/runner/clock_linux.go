package runner

import (
	"os"

	"golang.org/x/sys/unix"
)

// now returns the time since the start of the machine, in nanoseconds. It is the same in all processes, does
// not step, and continues while the machine is suspended.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // happens only with a kernel before 2.6.39
	}
	return t.Nano()
}

// alarm sends on C when now reaches its time, also right after the machine was suspended.
type alarm struct {
	C    chan struct{}
	file *os.File // a timerfd
	fd   int
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	a := &alarm{C: make(chan struct{}, 1), file: os.NewFile(uintptr(fd), "alarm"), fd: fd}
	go func() {
		var count [8]byte
		for {
			if _, err := a.file.Read(count[:]); err != nil {
				return
			}
			select {
			case a.C <- struct{}{}:
			default:
			}
		}
	}()
	return a, nil
}

// set replaces the time of the alarm.
func (a *alarm) set(at int64) {
	value := unix.NsecToTimespec(max(at, 1)) // 0 would disarm the timer
	_ = unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &unix.ItimerSpec{Value: value}, nil)
}

func (a *alarm) close() { _ = a.file.Close() }
