package persistence

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"lockserver/persistence/disk"
)

// fileBufferBytes is how much is gathered before a write to a file. A snapshot comes in
// larger pieces, which pass it by.
const fileBufferBytes = 32 << 10

// ReplaceFile writes a file so that its name always stands for whole content: into a temporary file
// beside it, which is synced and then renamed, and the directory is synced. When it returns an
// error, the old file is as it was.
func ReplaceFile(path string, write func(w io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, "temp-*-"+filepath.Base(path))
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
	if err = tmp.Chmod(0o644); err != nil {
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
