// Package restarts kills servers under load and starts them again in the same directory. Fencing tokens must
// rise through all restarts, with any clock and any rest of the data.
//
// A server is a separate process, so that a real kill -9 ends it. If the clock must be set back between two
// runs, the process is this test itself, which embeds a server with a clock of the test's choice
// (child_test.go). Otherwise it is the server program. The tests must not look at how the server makes
// tokens. The only exception is the promise that no token is greater than the number in lockserver.token.
//
// To add something that must survive a kill: a function that the load calls (load_test.go), and a comparison
// with what it saw.
package restarts
