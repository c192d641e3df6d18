package rusage

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCPUGrowsWithWork(t *testing.T) {
	user, sys := CPU()
	if runtime.GOOS == "windows" {
		require.Zero(t, user+sys)
		return
	}
	for begun := time.Now(); time.Since(begun) < 100*time.Millisecond; {
	}
	userAfter, sysAfter := CPU()
	require.GreaterOrEqual(t, userAfter, user)
	require.GreaterOrEqual(t, sysAfter, sys)
	require.Greater(t, userAfter+sysAfter, user+sys)
}

func TestResidentBytes(t *testing.T) {
	if runtime.GOOS == "linux" {
		require.Greater(t, ResidentBytes(), uint64(1<<20))
	}
}
