package rusage

import "syscall"

// MachineBytes returns the memory of the machine; 0 if the system does not report it.
func MachineBytes() uint64 {
	var s syscall.Sysinfo_t
	if syscall.Sysinfo(&s) != nil {
		return 0
	}
	return uint64(s.Totalram) * uint64(s.Unit) // Totalram has 32 bits on some machines
}
