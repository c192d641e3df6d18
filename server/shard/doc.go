// Package shard has the data of a server and all that happens to it: the lock, the clock, units, queues of
// waiters and timers. It also has the log, its gates, and the history that other servers follow.
//
// A unit is one command or one event that fell due (unit.go, due.go). The ticker finds what is due
// (ticker.go), pausing.go holds commands, acks.go waits for replicas. unit.go has the lock of a shard,
// too, and panic.go says what a panic costs.
//
// It knows clients as parties (package wait). It must not know sessions, users, listeners, or directives:
// it asks the server through the interface Server.
//
// To add something that happens to the data by itself, look at FireAlarms and Ticker.DueSlice. A new need
// of the server is one more method of Server.
package shard
