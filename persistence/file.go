package persistence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"lockserver/persistence/disk"
)

// fileBufferBytes is the number of bytes that are collected before a write to a file. A snapshot comes in
// larger pieces, which are written directly.
const fileBufferBytes = 32 << 10

// SnapshotMode is the mode of a snapshot before the umask of the process, as in Redis.
const SnapshotMode fs.FileMode = 0o666

// ReplaceFile writes a file in such a way that its name always refers to complete content. It writes a
// temporary file beside it, syncs it, renames it over the path, and syncs the directory. When it returns an
// error, the old file is unchanged. The umask of the process applies to mode.
func ReplaceFile(path string, mode fs.FileMode, write func(w io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	tmp, err := createBeside(path, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	w := bufio.NewWriterSize(tmp, fileBufferBytes)
	if err = write(w); err != nil {
		return err
	}
	if err = w.Flush(); err != nil {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", tmp.Name(), err)
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return disk.OS{}.SyncDir(dir)
}

// createBeside makes a new file temp-NUMBER-NAME beside a path.
func createBeside(path string, mode fs.FileMode) (*os.File, error) {
	dir, name := filepath.Split(path)
	for number := os.Getpid(); ; number++ {
		f, err := os.OpenFile(fmt.Sprintf("%stemp-%d-%s", dir, number, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
