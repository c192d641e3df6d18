//go:build unix

package scenarios

import "golang.org/x/sys/unix"

// Now returns the time of the system's monotonic clock in microseconds. It is the same clock in all
// processes.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // the kernel does not have this clock
	}
	return t.Nano() / 1000
}
