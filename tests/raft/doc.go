// Package raft asks whether what a raft group has acknowledged survives its leader: three servers in one
// process, with a network and stores that the tests own, and three processes.
package raft
