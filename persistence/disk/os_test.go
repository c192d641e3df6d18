package disk

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOS(t *testing.T) {
	files, dir := OS{}, t.TempDir()
	sub := filepath.Join(dir, "sub")
	created, err := files.MakeDir(sub)
	require.NoError(t, err)
	require.True(t, created)
	created, err = files.MakeDir(sub)
	require.NoError(t, err)
	require.False(t, created)
	require.NoError(t, files.SyncDir(dir))

	a := filepath.Join(sub, "a")
	f, err := files.Create(a)
	require.NoError(t, err)
	_, err = io.WriteString(f, "hello world")
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	f, err = files.Append(a)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(5))
	_, err = io.WriteString(f, "!")
	require.NoError(t, err)
	n, err := f.Size()
	require.NoError(t, err)
	require.EqualValues(t, 6, n)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())

	b := filepath.Join(sub, "b")
	require.NoError(t, files.Rename(a, b))
	f, err = files.Open(b)
	require.NoError(t, err)
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, "hello!", string(text))
	require.NoError(t, f.Close())
	n, err = files.Size(b)
	require.NoError(t, err)
	require.EqualValues(t, 6, n)
	names, err := files.List(sub)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, names)
	require.NoError(t, files.Remove(b))
	_, err = files.Size(b)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = files.Open(b)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, files.Remove(b), fs.ErrNotExist)
	_, err = files.Size(sub)
	require.Error(t, err, "a directory is no file")
	_, err = files.MakeDir(filepath.Join(dir, "no", "such"))
	require.Error(t, err)
	require.NoError(t, os.WriteFile(a, nil, 0o600))
	_, err = files.MakeDir(a)
	require.Error(t, err, "a file is no directory")
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := OS{}.Lock(path)
	require.NoError(t, err)
	_, err = OS{}.Lock(path)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, path)
	require.NoError(t, held.Close())
	again, err := OS{}.Lock(path)
	require.NoError(t, err)
	require.NoError(t, again.Close())
	_, err = OS{}.Lock(filepath.Join(path, "below", "a", "file"))
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrLocked)
}
