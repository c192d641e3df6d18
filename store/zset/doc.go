// Package zset is the value of a sorted-set key: distinct members, strings of
// bytes, each with a score, in ascending order of score and, among equal scores,
// of bytes.
//
// A small sorted set is one listpack, member, score, member, score, in order, in Redis' own bytes. One that
// outgrows its limits becomes a table for good, as in Redis: a dict from member to score, and a tree of the
// same members in order. Both point to the same bytes of a member. A small one is one piece of memory
// (package piece). ZSet is for reading and Edit for writing: a piece that grows is replaced by another one,
// which the owner of the sorted set then keeps.
//
// # The tree
//
// All items are in leaves, at most 63 in each. An inner node has for each of its children the number of items
// below it and a lower bound of them. So a rank, and the item at a rank, are found in O(log n). Therefore
// every range here is a range of ranks: ByScore and ByLex turn bounds into ranks. Counting, skipping (LIMIT)
// and walking in either direction need nothing else. A full leaf first moves items to a neighbour that has
// space. A full node splits in two, but a node that is filled by ascending inserts stays full. Neighbours
// merge if they fill three quarters of a node. A bound may outlive the item that it was taken from.
//
// Source: D. Comer, "The Ubiquitous B-Tree", 1979 (the variant with all items in
// the leaves), with counts as in the order statistic trees of Cormen et al. That
// neighbours share before they split is from the B*-tree of the same paper.
//
// # Copy-on-write
//
// Header, nodes and the dict's chunks carry the epoch in which they were made
// (package cow). A writer replaces a shared header by its Clone, and the tree
// clones the shared nodes from the root to the leaf that it writes to. Methods
// that read write nothing, so a snapshot's goroutine may call those that do not
// look up a member (see ZSet.Clone).
//
// # Rules
//
// The package knows nothing of keys, commands, expiry or files. To add an
// operation, write its listpack form in small.go, and branch in zset.go or
// range.go; the tree's invariants stand in check.go.
package zset
