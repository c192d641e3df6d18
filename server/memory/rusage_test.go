package memory

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/rusage"
)

func TestCPUGrowsWithWork(t *testing.T) {
	user, sys := rusage.CPU()
	if runtime.GOOS == "windows" {
		require.Zero(t, user+sys)
		return
	}
	userAfter, sysAfter := rusage.CPU()
	for end := time.Now().Add(time.Minute); userAfter+sysAfter == user+sys && time.Now().Before(end); { // this is the work
		userAfter, sysAfter = rusage.CPU()
	}
	require.GreaterOrEqual(t, userAfter, user)
	require.GreaterOrEqual(t, sysAfter, sys)
	require.Greater(t, userAfter+sysAfter, user+sys)
}

func TestResidentBytes(t *testing.T) {
	if runtime.GOOS == "linux" {
		require.Greater(t, rusage.ResidentBytes(), uint64(1<<20))
	}
}

func TestMachineBytes(t *testing.T) {
	require.Greater(t, rusage.MachineBytes(), uint64(64<<20))
	require.GreaterOrEqual(t, rusage.MachineBytes(), rusage.ResidentBytes())
	if runtime.GOOS != "linux" {
		return
	}
	text, err := os.ReadFile("/proc/meminfo")
	require.NoError(t, err)
	var kilobytes uint64
	_, err = fmt.Sscanf(string(text), "MemTotal: %d kB", &kilobytes)
	require.NoError(t, err)
	require.Equal(t, kilobytes, rusage.MachineBytes()>>10)
}
