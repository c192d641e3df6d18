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

// CPUTime returns the user and system time of a process, over all its threads, including those that have
// ended. The kernel's CPU clock of the process counts nanoseconds, and /proc/<pid>/stat only hundredths of a
// second. That is too coarse, because a pipelined measurement takes the server only some tenths. The number
// of the clock is computed like in clock_getcpuclockid(3): the complement of the process id, shifted, and the
// clock of the scheduler.
func CPUTime(pid int) (time.Duration, error) {
	const schedulerClock = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|schedulerClock, &ts); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// ResidentBytes returns VmRSS: the physical memory of the process.
func ResidentBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseMemory(string(text), "VmRSS")
}

// PeakBytes returns VmHWM: the largest physical memory of the process so far.
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

// CPUModel returns the name of the processor, as far as the kernel knows it.
func CPUModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range bytes.Lines(text) {
		if name, found, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(name)) == "model name" {
			return string(bytes.TrimSpace(found))
		}
	}
	return "unknown processor"
}

// LoadAverage returns how many processes wanted to run lately. Other work on the machine spoils the figures.
func LoadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) == 0 {
		return "unknown"
	}
	return fields[0]
}
