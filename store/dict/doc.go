// Package dict is the store's hash table: dense, copy-on-write, and without a
// pause at any size. The keyspace, hashes, sets and the members of sorted sets
// are all made of it.
//
// # Entries
//
// The entries lie densely in slots 0..Len-1. A new entry takes the slot at the end; a deletion moves the last
// entry into the hole. Hence a uniform random pick is a random slot. SCAN walks downward over slot numbers.
// Iteration is in memory order. The order depends only on the history of inserts and deletes, never on the
// hash seed.
//
//	Dict.pages -> page: up to 256 chunks -> chunk: up to 63 slots -> value, *Key
//
// A key is one piece of memory behind an address, its length before its bytes (Key). A dict may keep more
// bytes behind each key, its tail: fields of hashes have their values there. Keys and tails are never written
// to; another tail is another Key.
//
// An entry may have a number beside it, its side, which is stored apart from the slots. A chunk without such
// numbers takes no memory for them. The keyspace stores deadlines there.
//
// Pages and chunks carry the epoch at which they were made (package cow). A
// View copies the page pointers only, one for 16128 entries. A writer that
// meets a page or chunk from before the latest cut clones it first. Who drains a
// view tells chunk by chunk what it is done with: those are written in place
// again, which saves half of the copies. A dict is seen by snapshots through
// views, or through the header of a container that is cloned, never both.
//
// # Index
//
// The index maps 32 bits of a key's hash, the tag, to a slot. It is extendible hashing: a directory on the
// leading bits of the tag points to segments of at most 1023 cells. A cell holds both in six bytes. All tags
// of a segment have their first bits in common, so a cell leaves these out and uses their place for larger
// slot numbers. So an entry is touched only when all 32 bits agree, and splitting or resizing a segment
// touches no key. Within a segment the home cell of a tag grows with the tag, and cells are kept in tag
// order. This is linear probing with Robin Hood placement: a sorted array with gaps. So a lookup ends at the
// first larger tag, and rebuilding is one sequential copy. A segment grows by a quarter at a time and splits
// at its maximum. The index takes 8 to 9 bytes an entry at any size. A single operation rebuilds at most one
// segment or doubles the directory (a pointer for ~600 entries). Deleting undoes each step: segments shrink,
// buddies merge, the directory halves, chunks go.
//
// A dict of up to 8 entries has no index and is searched in slot order.
//
// Sources: R. Fagin et al., "Extendible Hashing", TODS 1979; P. Celis, "Robin
// Hood Hashing", 1986; O. Amble and D. Knuth, "Ordered hash tables", 1974.
//
// # Rules
//
// The package knows nothing of commands, expiry or the types of values. Only
// one goroutine may use a Dict; a View may be read anywhere. New operations
// reach entries through slot (to read) and own (to write), and keep check true,
// which the build tag invariants runs after mutations.
package dict
