package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// OSFiles reads the real files and standard input.
func OSFiles() Files {
	return Files{
		Read:  os.ReadFile,
		Glob:  filepath.Glob,
		Stdin: func() ([]byte, error) { return io.ReadAll(os.Stdin) },
	}
}

// RewriteFile is CONFIG REWRITE on the file at path, which need not exist. The new text is written beside it,
// synced and renamed over it, so that a crash leaves the old or the new one; its mode is kept.
func (c *Config) RewriteFile(path string) error { return c.rewriteFile(path, false) }

// RewriteFileWhole is RewriteFile that adds what has its default, too.
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
	// Through a link, so that the link stays one.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return replaceFile(path, c.rewrite(old, all), mode, keep)
}

// newFileMode is the mode of a file that was not there, less what the process' mask takes away.
const newFileMode = 0o644

// ReplaceFile writes a file beside the one at path, with that mode, and renames it over the old one. A reader
// finds the old file or the new one, also after a crash.
func ReplaceFile(path string, data []byte, mode fs.FileMode) error {
	return replaceFile(path, data, mode, false)
}

// replaceFile puts a file in the place of another. keep says that it has this mode whatever the process'
// mask.
func replaceFile(path string, data []byte, mode fs.FileMode, keep bool) (err error) {
	name := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	_ = os.Remove(name) // of a process of this number that was killed
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
