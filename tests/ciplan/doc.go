// Command ciplan prints the commands that continuous integration runs for a change, one on a line.
//
// It owns the table of suites (table.go): which command runs a suite, which paths call for it, and how
// long it takes. A suite runs in the fast tier if the change touches one of its paths. The full tier runs
// every suite, every night. It must not know how a suite works: that is the Makefile's.
//
// To add a suite, add a target to the Makefile and an entry to the table. A test fails until both
// agree.
package main
