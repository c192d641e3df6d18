//go:build !unix

package rusage

// CPU returns 0: this system does not report it.
func CPU() (user, sys float64) { return 0, 0 }

// ResidentBytes returns 0: this system does not report it.
func ResidentBytes() uint64 { return 0 }

// OpenFiles returns false: this system does not report it.
func OpenFiles(uint64) (limit uint64, ok bool, err error) { return 0, false, nil }
