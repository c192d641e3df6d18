// Package stream is the container behind a stream key: entries of field and value pairs, ordered by an ID
// that only grows.
//
// It owns the entries, their layout, trimming, and the numbers that Redis keeps beside them (last ID, entries
// ever added, highest deleted ID). It must not know keys, clients, commands, the clock or how an ID is
// spelled on the wire: callers choose IDs and check their input.
//
// # Layout
//
// Entries are stored in nodes, as in Redis 7: a node is a listpack, found in an ordered index by its master
// ID, the ID of its first entry. Approximate trimming removes whole nodes, XINFO STREAM shows their number
// and an RDB file contains them. So the end of a node is visible behaviour: node.go follows Redis to the
// byte. Format of a node, do not change:
//
//	master entry  count, deleted, number of fields, fields..., 0
//	entry         flags, ms - master, seq - master, [number, ] items..., lp-count
//
// "count" is the number of live entries, "deleted" the number of entries that are only marked as deleted
// (flag 1). Flag 2 says that the entry has the fields of the master entry, and its items are only the values;
// otherwise a number of pairs and field, value, ... follow. lp-count is the number of elements before it in
// the entry, for walking backward. Deleted entries keep their place; a node is removed when its last live
// entry is deleted. It stays without live entries if exact trimming by ID marked the others, and its last
// entry, deleted before, has an ID that is not below the limit.
//
// # Copy-on-write
//
// Header and nodes carry the epoch in which they were made (package cow). A writer clones a shared header
// (Stream.Clone) before it changes it; the nodes are cloned here when they are written. The index is copied
// lazily by its own means. Functions that read write nothing at all, so an old header can be read while the
// new header changes.
//
// # To add to it
//
// A new way to read is a function over eachNode and cursor. A new way to change entries calls own and keeps
// length, firstID and tail right (checked by check in the tests). Consumer groups are in group.go, each with
// its own stamp; they know only the IDs of the entries. So do the producers (producers.go), which belong to
// the header.
package stream
