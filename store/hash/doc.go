// Package hash is the value of a hash key: fields with values, both strings of bytes.
//
// A small hash is one listpack, field, value, field, value, in one piece of memory (package piece): a lock
// with its owner and its token takes 80 bytes. A hash that outgrows its limits becomes a dict permanently, as
// in Redis.
//
// Fields may have deadlines, which are stored beside either form; a hash without deadlines pays nothing for
// them. Hash stores the deadlines, but does not remove fields that are due.
//
// Hash is for reading, Edit for writing: a piece that grows is replaced by another piece, and the owner of
// the hash then keeps that piece.
//
// The package owns the two forms and the change from one to the other. It knows nothing of keys, commands,
// the time or files. Methods that read write nothing, not even scratch memory, so a snapshot's goroutine may
// call them on a header that writers have replaced by its Clone.
//
// To add an operation, write its listpack form in small.go and branch in hash.go; deadlines are in
// deadline.go and times.go.
package hash
