// Package testmode is what a server does for tests of programs that use it (test-mode yes): a clock that the
// test owns, faults on its connections, and chance that repeats. Without it its commands do not exist.
//
// It owns the commands TEST.*, which faults there are and which of them strikes next, and what speaks against
// test mode. It must not know the server: the clock is package clock's, and what is done with a fault is the
// server's (server/testmode.go).
//
// To add a command: its row in rows.go. To add a fault: its Kind, its word in kinds, and what the server
// does.
package testmode
