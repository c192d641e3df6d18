// Package conversations has the tests of commands in which several clients talk with one server: locks,
// semaphores, latches, waits with NOTIFY, and attached owners.
//
// Most of them are texts for package tests/conversation. play_test.go starts the servers. The tests know a
// server by its connections and its public figures only. Tests of one command without a server stand in
// package commands.
package conversations
