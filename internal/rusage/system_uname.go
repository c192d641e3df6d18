//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package rusage

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// System names the operating system, its release and the kind of machine: "Linux 6.1.0 x86_64".
func System() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return runtime.GOOS + " " + runtime.GOARCH
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:]) + " " +
		unix.ByteSliceToString(u.Machine[:])
}
