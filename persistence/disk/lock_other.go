//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package disk

import (
	"io"
	"os"
)

// lockFile only opens the file: this system has no lock that ends with its holder.
func lockFile(path string) (io.Closer, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
}
