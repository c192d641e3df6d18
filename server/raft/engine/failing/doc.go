// Package failing is a disk for the log of a raft member that fails when a test says so.
//
// It owns what a disk does that returns EIO. A part of a write may be done. What a sync could not bring to
// the disk is no longer marked as unwritten, and can be read until the power is cut, as with Linux. The files
// are real ones. It must not know the users of the log: engine's tests have one log on it, those of
// tests/raft a whole member. To make something else fail, name it in disk.go, and ask Disk.bad before it is
// done.
package failing
