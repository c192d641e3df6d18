// Package set is the value of a set key: distinct members, strings of bytes.
//
// A set has one of three forms: an intset while all members are integers, a listpack while it is small, else
// a dict. It changes from one form to the next and never back, by the rules of Redis 7.2 and later.
//
// A compact set is one piece of memory (package piece). Set is for reading, Edit for writing: a piece that
// grows is replaced by another piece, and the owner of the set then keeps that piece.
//
// The package owns the forms and the changes. It knows nothing of keys, commands, expiry or files. Methods
// that read write nothing, so a snapshot's goroutine may call them on a header that writers have replaced by
// its Clone.
//
// To add an operation, give intset its part in intset.go and branch by form in set.go.
package set
