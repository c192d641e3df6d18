package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// OSFiles returns the Files of the operating system, with standard input.
func OSFiles() Files {
	return Files{
		Read:  os.ReadFile,
		Glob:  filepath.Glob,
		Stdin: func() ([]byte, error) { return io.ReadAll(os.Stdin) },
	}
}

// RewriteFile runs CONFIG REWRITE on the file at path, which need not exist. The new text is written to a
// file beside it, synced and renamed over it, so that after a crash either the old or the new file is there.
// The mode is kept.
func (c *Config) RewriteFile(path string) error { return c.rewriteFile(path, false) }

// RewriteFileWhole does what RewriteFile does, and also adds the directives that have their defaults.
func (c *Config) RewriteFileWhole(path string) error { return c.rewriteFile(path, true) }

func (c *Config) rewriteFile(path string, all bool) error {
	keep := false
	mode := fs.FileMode(newFileMode)
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		mode, keep = info.Mode().Perm(), true
	}
	// If path is a link, replace the file that it points to, so that the link stays.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return replaceFile(path, c.rewrite(old, all), mode, keep)
}

// newFileMode is the mode of a new file, before the umask of the process.
const newFileMode = 0o644

// ReplaceFile writes a new file beside the file at path, with the given mode, and renames it over path. A
// reader finds the old file or the new file, even after a crash.
func ReplaceFile(path string, data []byte, mode fs.FileMode) error {
	return replaceFile(path, data, mode, false)
}

// replaceFile replaces the file at path. keep sets the mode exactly, without regard to the umask.
func replaceFile(path string, data []byte, mode fs.FileMode, keep bool) (err error) {
	name := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	_ = os.Remove(name) // left by a killed process with the same number
	tmp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	if keep {
		err = errors.Join(err, tmp.Chmod(mode))
	}
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
