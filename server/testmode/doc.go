// Package testmode is the part of a server for tests of programs that use it (test-mode yes). It has a clock
// that the test owns, faults on its connections, and repeatable random numbers. Without test mode its
// commands do not exist.
//
// It owns the commands TEST.*, the faults, the choice of the next fault, and the faults that a seed draws
// (Chaos). It also owns the rules against test mode. It must not know the server: the clock is that of
// package clock, and server/testmode.go carries out a fault.
//
// To add a command, add its row to rows.go. To add a fault, add its Kind, its word in kinds, and its effect
// in the server.
package testmode
