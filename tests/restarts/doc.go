// Package restarts kills servers under load and starts them again in the same directory. Fencing tokens must
// rise over all of it, whatever the clock does and whatever is left of the data.
//
// A server is a process of its own, so that kill -9 is what it says. Where the clock has to be set back
// between two runs, the process is this test itself, which embeds a server with a clock of the test's choice
// (child_test.go). Where not, it is the program that people run. It must not look at how the server makes
// tokens, but for the promise that no token is above the number in lockserver.token.
//
// To add something that must hold over a kill: a function that the load calls (load_test.go), and
// what is compared with what it saw.
package restarts
