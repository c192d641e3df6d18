// Package failing is a disk for the log of a raft member that fails when a test says so.
//
// It owns what a disk does that returns EIO: a part of a write may be done; what a sync could not bring to
// the disk is forgotten as still to be written, and can be read until the power is cut, as with Linux. The
// files are real ones. It must not know who uses the log: engine's tests have one log on it, those of
// tests/raft a whole member. To have something else fail, name it in disk.go, and ask Disk.bad before it is
// done.
package failing
