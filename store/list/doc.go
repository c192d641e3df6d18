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
// A small list is one listpack in one piece of memory (package piece), so that
// List is to read and Edit to write: a piece that grows becomes another one, and
// the owner of the list keeps that. A list that outgrows the limit of
// a listpack has nodes, as Redis' quicklist: each is a listpack of its own within
// the same limit (which an element that takes the place of another may exceed, as
// there), or one plain element that is too large for any. A directory of
// segments, each with up to a hundred or so pointers to nodes, keeps them in
// order. So both ends are at hand; an index is found over the numbers of
// elements in segments and nodes, from the nearer end; and an insertion in the
// middle moves some pointers of one segment. When nodes have gone until one is
// left that fills at most half the limit, the list is small again; that it is not
// the whole limit keeps a list from going back and forth.
//
// # Copy-on-write
//
// Header, segments and nodes carry the epoch in which they were made (package
// cow). After a cut a writer replaces the header by its Clone, which copies the
// pointers to the segments (a gigabyte of elements has about a thousand), and
// here a segment and a node are cloned when first written to.
//
// # To add an operation
//
// Reading is a function over walk. Writing has a part for the small form and one
// for the nodes; the latter finds a place, calls own for the node there before it
// changes it, and count for how its length changed. The tests compare every
// operation with a slice and check the whole structure (check_test.go).
package list
