//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package rusage

import "runtime"

// System names the operating system and the kind of machine.
func System() string { return runtime.GOOS + " " + runtime.GOARCH }
