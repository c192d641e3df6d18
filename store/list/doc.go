// Package list is the value of a list key: byte strings in an order, with cheap
// access to both ends.
//
// It owns the elements and how they are packed. It knows nothing of keys,
// commands, waiting clients, expiry or files. Methods that read write nothing,
// so a snapshot's goroutine may call them on a header that writers have replaced
// by its Clone.
//
// # Layout
//
// A small list is one listpack in one piece of memory (package piece). List is for reading and Edit for
// writing: a piece that grows is replaced by another one, which the owner of the list then keeps. A list that
// outgrows the limit of a listpack has nodes, as Redis' quicklist. A node is a listpack within the same
// limit, or one plain element that is too large for a listpack. As in Redis, an element that replaces another
// may exceed the limit. A directory of segments, each with up to a hundred or so pointers to nodes, keeps
// them in order. So both ends are found at once. An index is found by the numbers of elements in segments and
// nodes, from the nearer end. An insertion in the middle moves some pointers of one segment. A list becomes
// small again when one node is left that fills at most half the limit; half, so that it does not change back
// and forth.
//
// # Copy-on-write
//
// Header, segments and nodes carry the epoch in which they were made (package cow). After a cut a writer
// replaces the header by its Clone, which copies the pointers to the segments (a gigabyte of elements has
// about a thousand). Segments and nodes are cloned at their first write.
//
// # To add an operation
//
// Reading is a function over walk. Writing has a part for the small form and one for the nodes. The latter
// finds a place, calls own before it changes the node there, and calls count with the change of its length.
// The tests compare every operation with a slice and check the whole structure (check_test.go).
package list
