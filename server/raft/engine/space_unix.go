//go:build linux || darwin || freebsd

package engine

import "golang.org/x/sys/unix"

// spaceOf returns how many bytes a file system has for new files, and how many in all; -1: not known.
func spaceOf(dir string) (free, size int64) {
	var is unix.Statfs_t
	if err := unix.Statfs(dir, &is); err != nil {
		return -1, -1
	}
	return int64(is.Bavail) * int64(is.Bsize), int64(is.Blocks) * int64(is.Bsize)
}
