//go:build !linux && !darwin && !freebsd

package engine

// spaceOf returns that the space is not known.
func spaceOf(string) (free, size int64) { return -1, -1 }
