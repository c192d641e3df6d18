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
// The files, from below. Each uses those above it in this list:
//
//   - value.go, clone.go, lazyfree.go, ref.go, lock_fields.go, permits.go and effects.go know values alone:
//     their forms, copies, sizes and readers, the fields of locks, the form of effects.
//   - store.go has Store and space, the content of a database. db.go has DB: look-ups, and keys that come
//     and go. Each of expire.go, contents.go, own.go, alarms.go, tokens.go, lock_end.go, use.go, undo.go and
//     changes.go has one consequence of a change of a key. These files depend on each other.
//   - All other files are doors. The files of the types, such as string.go and hash.go, change values.
//     walk.go visits keys, keys.go moves them, evict.go chooses the keys to evict, and renew.go extends
//     leases. snapshot.go, load.go and recording.go are for files and logs.
//
// To add a type, write a sub-package with a pure structure (Stamp, Clone, read methods that do not write).
// Add a Kind, and a file here with its mutators (see hash.go). Add its effects to the list in effects.go.
package store
