//go:build !unix

package rusage

// CPU is not known on this system.
func CPU() (user, sys float64) { return 0, 0 }

// ResidentBytes is not known on this system.
func ResidentBytes() uint64 { return 0 }

// OpenFiles is not known on this system.
func OpenFiles(uint64) (limit uint64, ok bool, err error) { return 0, false, nil }
