package testkit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
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

// Seed returns the seed of a generated test, and logs it. It is 1, so that go test does the same work each
// time; the long form has one by chance. The variable LOCKSERVER_SEED of the environment repeats a failure.
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

// SeedOr returns the seed that a flag gives. If that is 0, it returns 1, or a random one if the long form is
// asked for. The caller prints it.
func SeedOr(given uint64) uint64 {
	switch {
	case given != 0:
		return given
	case Long():
		return rand.Uint64()>>1 | 1
	}
	return 1
}
