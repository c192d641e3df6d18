package testkit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Long reports whether tests do the long form of generated work. The environment variable LOCKSERVER_LONG
// asks for it: make with LONG=1 sets it, and so does make ci-full.
func Long() bool { return os.Getenv("LOCKSERVER_LONG") != "" }

// Steps returns the amount of generated work for a test: short, or long in the long form.
func Steps(short, long int) int {
	if Long() {
		return long
	}
	return short
}

// Seed returns the seed of a generated test, and logs it. It is 1, so that go test does the same work each
// time; in the long form it is random. The environment variable LOCKSERVER_SEED repeats a failure.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv("LOCKSERVER_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "LOCKSERVER_SEED")
		seed = given
	} else if Long() {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return seed
}

// SeedOr returns the value of a flag. If that is 0, it returns 1, or a random seed in the long form. The
// caller prints it.
func SeedOr(given uint64) uint64 {
	switch {
	case given != 0:
		return given
	case Long():
		return rand.Uint64()>>1 | 1
	}
	return 1
}
