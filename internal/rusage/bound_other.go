//go:build !linux

package rusage

// BoundBytes returns the memory that the machine has; 0 where the system does not tell.
func BoundBytes() uint64 { return MachineBytes() }
