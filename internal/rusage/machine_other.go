//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package rusage

// MachineBytes returns 0: this system does not report it.
func MachineBytes() uint64 { return 0 }
