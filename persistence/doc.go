// Package persistence moves the data between the store and files: snapshots, and the rules by which a file is
// replaced so that a crash at any instant leaves the old one or the new one.
//
// It knows the store and the file formats (rdb), not clients or commands. Package aof, the log, does not need
// it: a log's base is a snapshot that the server has written here. To make a new kind of value durable, add
// it to save.go and load.go, and its encodings to package rdb.
package persistence
