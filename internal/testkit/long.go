package testkit

import (
	"math/rand/v2"
	"os"
)

// Long reports whether tests do the long form of generated work. The variable LOCKSERVER_LONG of the
// environment asks for it: make with LONG=1 sets it, and so does make ci-full.
func Long() bool { return os.Getenv("LOCKSERVER_LONG") != "" }

// Steps returns how much generated work a test does: short, or long if the long form is asked for.
func Steps(short, long int) int {
	if Long() {
		return long
	}
	return short
}

// Seed returns the seed of generated work: the given one, unless it is 0. Then it is 1, or a random one if
// the long form is asked for. The caller prints it.
func Seed(given uint64) uint64 {
	switch {
	case given != 0:
		return given
	case Long():
		return rand.Uint64()>>1 | 1
	}
	return 1
}
