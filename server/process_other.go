//go:build !unix

package server

// processCPU and residentBytes are not known on this system.
func processCPU() (user, sys float64) { return 0, 0 }

func residentBytes() uint64 { return 0 }
