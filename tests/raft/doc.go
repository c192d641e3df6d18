// Package raft tests that acknowledged writes of a raft group survive the loss of its leader. Most tests run
// three servers in one process, with a network and stores of the tests. Others run three processes.
package raft
