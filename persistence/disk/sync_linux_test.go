package disk

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that is synced all the time goes another way, if there is one, with the same outcome.
func TestSyncOften(t *testing.T) {
	needAIO(t)
	before := openDescriptors(t)
	path := filepath.Join(t.TempDir(), "log")
	f, err := OS{}.Create(path)
	require.NoError(t, err)
	s := &f.(*osFile).syncer
	for i := range 10 * manySyncs {
		_, err := fmt.Fprintln(f, i)
		require.NoError(t, err)
		require.NoError(t, f.Sync())
		require.Equal(t, i < manySyncs, s.kernel == nil && !s.without, "sync %d", i)
	}
	require.NotNil(t, s.kernel)

	var syncs sync.WaitGroup // of several at once all but one find it in use
	for range 4 {
		syncs.Go(func() {
			for range 50 {
				if err := f.Sync(); err != nil {
					panic(err)
				}
			}
		})
	}
	syncs.Wait()
	require.NoError(t, f.Close())
	require.Error(t, f.Sync())
	require.Equal(t, before, openDescriptors(t))
}

// A sync that the kernel will not do its own way is done the common way, and so are all that follow.
func TestSyncOftenRefused(t *testing.T) {
	needAIO(t)
	f, err := open(filepath.Join(t.TempDir(), "log"), os.O_WRONLY|os.O_CREATE)
	require.NoError(t, err)
	for range manySyncs + 1 {
		require.NoError(t, f.Sync())
	}
	require.NotNil(t, f.syncer.kernel)
	f.syncer.kernel.destroy()
	_, err = io.WriteString(f, "x")
	require.NoError(t, err)
	require.NoError(t, f.Sync(), "there is no such context any more")
	require.Nil(t, f.syncer.kernel)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
}

// The error of a sync comes out either way.
func TestSyncOftenFails(t *testing.T) {
	f, err := open("/dev/full", os.O_WRONLY)
	require.NoError(t, err)
	for range 3 * manySyncs {
		require.ErrorContains(t, f.Sync(), "/dev/full: invalid argument")
	}
	require.NoError(t, f.Close())
}

// needAIO skips a test on systems, or in sandboxes, without Linux AIO.
func needAIO(t *testing.T) {
	t.Helper()
	a := newAIOSync()
	if a == nil {
		t.Skip("this system has no Linux AIO")
	}
	a.close()
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}
