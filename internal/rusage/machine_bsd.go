//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package rusage

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// MachineBytes returns the memory of the machine; 0 if the system does not report it.
func MachineBytes() uint64 {
	name := "hw.physmem"
	switch runtime.GOOS {
	case "darwin":
		name = "hw.memsize"
	case "netbsd":
		name = "hw.physmem64"
	}
	bytes, err := unix.SysctlUint64(name)
	if err != nil {
		return 0
	}
	return bytes
}
