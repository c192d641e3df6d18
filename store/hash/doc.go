// Package hash is the value of a hash key: fields with values, both strings of
// bytes.
//
// A small hash is one listpack, field, value, field, value, in one piece of memory (package piece): a lock
// with its owner and its token takes 80 bytes. A hash that outgrows its limits becomes a dict, for good, as
// in Redis.
//
// Fields may have deadlines, which stand beside either form; a hash without any pays nothing for them. Hash
// knows when its fields are to die, but kills none.
//
// Hash is to read, Edit to write: a piece that grows becomes another one, and the owner of the hash keeps
// that.
//
// The package owns the two forms and the change from one to the other. It knows
// nothing of keys, commands, the time or files. Methods that read write nothing,
// not even scratch memory, so a snapshot's goroutine may call them on a header
// that writers have replaced by its Clone.
//
// To add an operation, write its listpack form in small.go and branch in hash.go; deadlines are in
// deadline.go and times.go.
package hash
