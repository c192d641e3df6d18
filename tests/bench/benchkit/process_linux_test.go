package benchkit

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func usage(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestCPUTimeIsWhatGetrusageSays(t *testing.T) {
	for begun := time.Now(); time.Since(begun) < 30*time.Millisecond; {
	}
	before := usage(t)
	got, err := CPUTime(os.Getpid())
	require.NoError(t, err)
	after := usage(t)
	require.Positive(t, got)
	// getrusage may be late by a tick of the scheduler.
	const tick = 10 * time.Millisecond
	require.GreaterOrEqual(t, got, before-tick)
	require.LessOrEqual(t, got, after+tick)
}

func TestCPUTimeOfNoProcess(t *testing.T) {
	_, err := CPUTime(1 << 22) // greater than pid_max
	require.Error(t, err)
	_, err = ResidentBytes(1 << 22)
	require.Error(t, err)
}

func TestResidentGrowsWithWhatIsTouched(t *testing.T) {
	before, err := ResidentBytes(os.Getpid())
	require.NoError(t, err)
	page, err := unix.Mmap(-1, 0, 32<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	for i := 0; i < len(page); i += 4096 {
		page[i] = 1
	}
	after, err := ResidentBytes(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, unix.Munmap(page))
	require.Greater(t, after-before, int64(24<<20))
	peak, err := PeakBytes(os.Getpid())
	require.NoError(t, err)
	require.GreaterOrEqual(t, peak, after-1<<20, "what was given back counts, too; the kernel counts in steps")
}

func TestParseMemory(t *testing.T) {
	n, err := parseMemory("Name:\tx\nVmHWM:\t  900 kB\nVmRSS:\t  512 kB\nThreads:\t1\n", "VmRSS")
	require.NoError(t, err)
	require.Equal(t, int64(512<<10), n)
	_, err = parseMemory("Name:\tx\n", "VmRSS")
	require.Error(t, err)
}
