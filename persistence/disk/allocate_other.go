//go:build !linux

package disk

import (
	"errors"
	"os"
)

// allocate is not known here.
func allocate(*os.File, int64) error { return errors.ErrUnsupported }
