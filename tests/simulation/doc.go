// Package simulation lets whole raft groups live in virtual time, thousands of them, each as a seed says,
// and asks whether what they answered their clients can have been.
//
// A run is three or five real servers with the real engine in one process, in a bubble of testing/synctest.
// Twelve seconds of clients, elections and leases take a tenth of one. Between the members is a network
// (network_test.go) that is slow, loses messages, holds them back until long after their sender has given up,
// and is cut, in one direction or both. Their disks (disk_test.go) are slow and full, and a crash leaves of a
// write that was under way all or nothing. Their clocks (wrong) are set by up to weeks. Members crash and
// begin another life, hand the lead on, make snapshots (chaos_test.go). Clients do what clients do
// (client_test.go), and without an answer the result is unknown.
//
// Each thing that they used has its history checked by porcupine against a sequential model. There are
// models of locks alone, shared and upgraded, one or several at once, with leases, tokens and writes
// under GUARD; a wait that is cancelled is not granted (lock_test.go). There are some of registers,
// counters, sets and streams (data_test.go), of a sale, and of one with holds (sale_test.go). A lease or
// a hold lasts for as long as it says by the time of the run, whatever clocks show; how much longer is
// not said. When a run is over everything is mended, and all members must be at one place of the history
// with the same data (heal), within a minute of their time.
//
// What a seed owns: which members there are, what clients ask and when, what each message and each write
// takes, which member is affected by what and when, the times of elections, and all time. What it does not:
// which of several cases that are ready a select takes, the order of maps, and so which of two goroutines
// that are ready at the same moment goes first. A second run with the same seed is therefore much like the
// first one, but not the same. A failure prints its whole history, and -again tries its seed many times. Nor
// can a member be stopped in the middle of a computation: that processes are stopped and go on is shown by
// real ones (tests/raft).
//
//	go test -tags simulation ./tests/simulation                               some runs, a few seconds
//	go test -tags simulation ./tests/simulation -runs 10000 -timeout 0        many (make simulation)
//	go test -tags simulation ./tests/simulation -seed 7 -runs 1 -again 100    one, again and again
//
// That it finds something is shown by faults that are planted in the real sources (planted_test.go).
//
// To add a kind of data: a family and its model, beside those of data_test.go, in families. To add something
// that befalls a group: a method of chaos, in befall.
package simulation
