//go:build !linux

package disk

import (
	"errors"
	"os"
)

// allocate is not available on this system.
func allocate(*os.File, int64) error { return errors.ErrUnsupported }
