// Package raft asks whether what a raft group has acknowledged survives its leader: three servers in one
// process, whose network and stores the tests own, and three processes.
package raft
