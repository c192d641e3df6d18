package benchkit

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime is the user and system time of a process, over all threads, those that have ended
// included. The kernel's CPU clock of the process counts nanoseconds, where /proc/<pid>/stat counts
// hundredths of a second: a pipelined measurement takes the server some tenths only. The clock's
// number is made as clock_getcpuclockid(3) makes it: the complement of the process, shifted, with
// the clock that the scheduler keeps.
func CPUTime(pid int) (time.Duration, error) {
	const schedulerClock = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|schedulerClock, &ts); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// ResidentBytes is VmRSS: what the process holds in physical memory.
func ResidentBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseMemory(string(text), "VmRSS")
}

// PeakBytes is VmHWM: the most that the process has held in physical memory so far.
func PeakBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseMemory(string(text), "VmHWM")
}

func parseMemory(status, name string) (int64, error) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in %q", name, status)
}

// CPUModel is the name of the processor, as far as the kernel knows it.
func CPUModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range bytes.Lines(text) {
		if name, found, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(name)) == "model name" {
			return string(bytes.TrimSpace(found))
		}
	}
	return "unknown processor"
}

// LoadAverage is how many processes wanted to run lately; a machine that does other work spoils the figures.
func LoadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) == 0 {
		return "unknown"
	}
	return fields[0]
}
