//go:build race

package hash

const raceAllocs = 1.0
