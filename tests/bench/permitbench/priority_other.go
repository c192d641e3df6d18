//go:build !linux

package permitbench

import "errors"

// prefer does nothing on this system.
func prefer(int) (end func(), err error) { return func() {}, errors.ErrUnsupported }
