//go:build unix

package engine

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// giveTo gives all files of a directory to the owner of another one. Only root can do that, and has to: a
// server that runs as another user could not read what root has written.
func giveTo(dir, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	is, err := os.Stat(like)
	if err != nil {
		return err
	}
	owner, ok := is.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
}
