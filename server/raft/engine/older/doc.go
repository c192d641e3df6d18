// Package older reads the log of a member that a version of lockserver before 0.2 has written: with
// github.com/hashicorp/raft-wal 0.4 and bbolt. Directories are converted from it.
//
// It owns these formats, and verifies all of what it reads. It must not write. When no such version may be
// upgraded any more, delete it, and convert.go of package engine.
//
// The files of a directory:
//
//	wal/wal-meta.db   a file of bbolt: the list of the log's files, and the values of the stable store
//	wal/*.wal         entries, in batches with a checksum
//	reached           the last entry that was synced
//	votes             the last two states of wal-meta.db, with checksums
package older
