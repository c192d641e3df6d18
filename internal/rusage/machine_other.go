//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package rusage

// MachineBytes is not known on this system.
func MachineBytes() uint64 { return 0 }
