// Package persistence moves the data between the store and files. It owns snapshots, and the replacement of
// files so that a crash at any time leaves the old or the new file.
//
// It knows the store and the file formats (rdb), not clients or commands. Package aof, the log, does not need
// it: the base of a log is a snapshot that the server writes with this package. To make a new kind of value
// durable, add it to save.go and load.go, and its encodings to package rdb.
package persistence
