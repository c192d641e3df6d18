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

// A sync of many bytes uses fdatasync, however often it happens.
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

// A sync that the kernel will not do its own way is done the common way, and so are all that follow.
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

// The error of a sync comes out either way.
func TestSyncOftenFails(t *testing.T) {
	f, err := OS{}.open("/dev/full", os.O_WRONLY)
	require.NoError(t, err)
	for range 3 * manySyncs {
		require.ErrorContains(t, f.Sync(), "/dev/full: invalid argument")
	}
	require.NoError(t, f.Close())
}

// hasAIO says whether there is Linux AIO: some sandboxes have none.
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
