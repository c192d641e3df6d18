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

// A file that is synced often uses aioSync, if it is available, with the same result.
func TestSyncOften(t *testing.T) {
	there := hasAIO()
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
	require.Equal(t, there, s.kernel != nil)

	var syncs sync.WaitGroup // of several syncs at once, all but one find aioSync in use
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

// A sync of many bytes always uses fdatasync.
func TestSyncOfMuch(t *testing.T) {
	f, err := OS{}.open(filepath.Join(t.TempDir(), "log"), os.O_WRONLY|os.O_CREATE)
	require.NoError(t, err)
	s := &f.syncer
	for range 2 * manySyncs {
		for range 2 {
			_, err := f.Write(make([]byte, fewBytes/2+1))
			require.NoError(t, err)
		}
		require.NoError(t, f.Sync())
		require.Zero(t, s.times)
	}
	for range manySyncs + 1 {
		_, err := f.Write(make([]byte, fewBytes))
		require.NoError(t, err)
		require.NoError(t, f.Sync())
	}
	require.Equal(t, hasAIO(), s.kernel != nil)
	require.NoError(t, f.Close())
}

// If the kernel refuses aioSync, that sync and all later syncs use fdatasync.
func TestSyncOftenRefused(t *testing.T) {
	f, err := OS{}.open(filepath.Join(t.TempDir(), "log"), os.O_WRONLY|os.O_CREATE)
	require.NoError(t, err)
	for range manySyncs + 1 {
		require.NoError(t, f.Sync())
	}
	require.Equal(t, hasAIO(), f.syncer.kernel != nil)
	if f.syncer.kernel != nil {
		f.syncer.kernel.destroy()
	}
	_, err = io.WriteString(f, "x")
	require.NoError(t, err)
	require.NoError(t, f.Sync(), "there is no such context any more")
	require.Nil(t, f.syncer.kernel)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
}

// Both ways report the error of a sync.
func TestSyncOftenFails(t *testing.T) {
	f, err := OS{}.open("/dev/full", os.O_WRONLY)
	require.NoError(t, err)
	for range 3 * manySyncs {
		require.ErrorContains(t, f.Sync(), "/dev/full: invalid argument")
	}
	require.NoError(t, f.Close())
}

// hasAIO reports whether Linux AIO is available: some sandboxes forbid it.
func hasAIO() bool {
	a := newAIOSync()
	if a != nil {
		a.close()
	}
	return a != nil
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}
