// Package effects tests that a server's effects are complete. Random clients change one server, while time
// runs and keys expire. Its journal is replayed into an empty server, which must then have the same data, to
// the millisecond of every deadline. A plain Redis must get the same data, too (build tag oracle).
//
// workload_test.go has the clients, effects_test.go the comparison, and form_test.go the closed list of
// effects from store/effects.go. shrink_test.go finds the few of thousands of commands that a failure needs.
// buffers_test.go checks that no stored value points into a connection's read buffer. A new command that
// writes needs a line in the workload.
package effects
