package testkit

import "os"

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
