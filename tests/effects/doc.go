// Package effects tests that a server's effects say everything. Random clients change one server, with time
// running and keys dying. When its journal is replayed into an empty server, it must have the same data, to
// the millisecond of every deadline. A plain Redis must come to the
// same data, too (build tag oracle).
//
// workload_test.go is what the clients do, effects_test.go the comparison, form_test.go the closed list of
// effects that store/effects.go states. shrink_test.go finds the few commands of thousands that a failure
// takes. buffers_test.go checks that nothing that is kept points into a connection's read buffer. A new
// command that writes needs a line in the workload.
package effects
