package testkit

import "os"

// Long reports whether tests do the long form of generated work: make with LONG=1 asks for it, as make ci-full does.
// It reads the variable LOCKSERVER_LONG of the environment.
func Long() bool { return os.Getenv("LOCKSERVER_LONG") != "" }

// Steps returns how much generated work a test does: short, or long if the long form is asked for.
func Steps(short, long int) int {
	if Long() {
		return long
	}
	return short
}
