//go:build unix

package rusage

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// CPU returns the CPU seconds that the process has used; 0 if the system does not report them.
func CPU() (user, sys float64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return float64(u.Utime.Sec) + float64(u.Utime.Usec)/1e6, float64(u.Stime.Sec) + float64(u.Stime.Usec)/1e6
}

// ResidentBytes returns the memory that the process occupies; 0 if the system does not report it.
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

// OpenFiles tries to raise the limit of open descriptors to at least need, and returns the limit. err says
// why it is lower. ok is false if the system does not report the limit.
func OpenFiles(need uint64) (limit uint64, ok bool, err error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, false, err
	}
	cur, hard := uint64(l.Cur), uint64(l.Max)
	if cur >= need {
		return cur, true, nil
	}
	if err = setOpenFiles(need, max(need, hard)); err == nil { // root may exceed the hard limit
		return need, true, nil
	}
	if cur < hard && setOpenFiles(hard, hard) == nil {
		cur = hard
	}
	return cur, true, err
}

func setOpenFiles(cur, hard uint64) error {
	var l syscall.Rlimit
	assign(&l.Cur, cur)
	assign(&l.Max, hard)
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
}

// assign sets a field; its type depends on the system.
func assign[T int64 | uint64](field *T, value uint64) { *field = T(value) }
