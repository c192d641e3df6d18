//go:build !linux

package lockbench

import (
	"errors"
	"io"
)

func probeBoth([]string, io.Writer) error { return errors.New("it needs Linux") }
