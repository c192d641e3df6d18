//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLockWithACopy: the lock ends when it is closed, even if another process still has a copy of the
// descriptor. A program that is just being started has a copy for a moment.
func TestLockWithACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := lockFile(path)
	require.NoError(t, err)
	dup, err := syscall.Dup(int(l.(*locked).file.Fd()))
	require.NoError(t, err)
	defer syscall.Close(dup)
	_, err = lockFile(path)
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, l.Close())
	again, err := lockFile(path)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}
