//go:build unix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what the process has used of its processors so far; false if nobody can tell.
func processorTime() (time.Duration, bool) {
	var use unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &use) != nil {
		return 0, false
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), true
}
