// Package raftlog keeps the log of a raft member, its term and its vote in files, on a [disk.FS].
//
// It owns the format of these files, and finds what is damaged in them: at the start all of it, and each
// entry again whenever it is read. It must not know the group, nor what entries mean. To change the format,
// give the segments a new magic number, and read the old one as long as a version that wrote it may be
// upgraded.
//
// # The files of a directory
//
//	state       the values of the stable store, twice
//	reached     the last entry that was synced, twice
//	N.log       a segment: entries that follow each other. N counts up, and has 16 digits
//
// Numbers are little endian. Checksums are CRC-32C. Each log has a random id. It is in each file, so that a
// file of another member is recognized.
//
// A segment begins with a head of 48 bytes:
//
//	 0  8  magic number
//	 8  8  id of the log
//	16  8  number of the segment
//	24  8  index of its first entry
//	32  8  zeros
//	40  4  checksum of the record before the first entry; 0: the log begins here
//	44  4  checksum of the bytes before, and the first in the chain of records
//
// Records follow, one for each entry: 56 bytes, and the data with zeros up to a multiple of 8:
//
//	 0  4  checksum of the next 52 bytes, begun with the checksum of id and number
//	 4  4  checksum of the data and its zeros
//	 8  4  offset of the record in the segment
//	12  4  bytes of data
//	16  4  up to which offset the segment was synced when the record was written
//	20  4  checksum of the record before, or of the head
//	24  4  type
//	28  4  zeros
//	32  8  index
//	40  8  term
//	48  8  time in nanoseconds since 1970; 0: none
//
// Zeros may follow the last record: space that is allocated ahead, because a sync that need not make a new
// size durable is faster.
//
// So a record is only valid at its place, in its segment, behind its predecessor. A part of an old write that
// a crash has left never passes for an entry.
//
// # Torn or damaged
//
// A process or a machine may end in the middle of a write. What it leaves was never acknowledged, and is cut
// off. It looks like a damaged end. Two things tell which it is. Behind each sync, reached is written. And
// each record states up to which offset the segment was synced before. So bytes are damaged if they are
// before the end of the entry that was reached, or if a later record says that they were synced. reached
// is not synced. After a loss of power it may say too little, and never too much: before entries at the end
// are deleted it is lowered and synced.
//
// state is written to both of its places, with a sync behind each, before a value counts. So any one of the
// two has everything that was promised.
//
// # After a failure
//
// After a failed sync the system may have dropped what it could not write, but still shows it until it ends,
// and reports success for the next sync. So after any failed write the segment is cut back to what was
// acknowledged, and synced, before anything else is written. A process that opens a log cannot know whether
// the one before had such a failure. It writes everything anew that no later record or reached says was
// synced, at its place, and syncs it.
package raftlog
