// Package testmode is what a server does for tests of programs that use it (test-mode yes): a clock that the
// test owns, faults on its connections, and chance that repeats. Without it its commands do not exist.
//
// It owns the commands TEST.*, which faults exist, which of them strikes next, and which ones a seed draws
// (Chaos). It also owns the rules against test mode. It must not know the server: the clock is that of
// package clock, and server/testmode.go does what a fault is to do.
//
// To add a command: its row in rows.go. To add a fault: its Kind, its word in kinds, and what the server
// does.
package testmode
