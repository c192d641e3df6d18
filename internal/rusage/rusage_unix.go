//go:build unix

package rusage

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// CPU returns the CPU seconds that the process has used; 0 where the system does not tell.
func CPU() (user, sys float64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return float64(u.Utime.Sec) + float64(u.Utime.Usec)/1e6, float64(u.Stime.Sec) + float64(u.Stime.Usec)/1e6
}

// ResidentBytes returns the memory that the process occupies; 0 where the system does not tell.
func ResidentBytes() uint64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return pages * uint64(os.Getpagesize())
}
