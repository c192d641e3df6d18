// Package store holds the data: sixteen numbered databases of keys, each with its
// value and, perhaps, a deadline.
//
// It owns the keyspace, exact expiry, the record of effects and the cuts that snapshots are written from. It
// knows nothing of clients, connections, files, goroutines or the wall clock: the executor sets the time
// before every unit (SetNow) and is the only caller, so nothing here locks.
//
// Three rules hold everything together:
//
//   - Only a mutator changes data, and every mutator does the same three things. It makes what it changes
//     writable (copy-on-write under a cut), records the effect, and reports the key as changed.
//   - Read methods never write, so a goroutine that writes a snapshot reads frozen values without a lock. The
//     one exception is the time of last access, a field that no snapshot reads.
//   - A container that becomes empty takes its key with it.
//
// To add a type, write a sub-package with a pure structure (Stamp, Clone, read methods that do not write).
// Add a Kind, and a file here with its mutators (see hash.go). Add its effects to the list in effects.go.
package store
