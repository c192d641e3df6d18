package store

import (
	"lockserver/internal/decimal"
	"lockserver/store/bloom"
	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/set"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// Ref is the result of a look-up: a live key's value to read, or nothing. It is valid until the next mutation
// of the store.
type Ref struct {
	v    *value
	atMS int64 // the key's deadline
}

// OK reports whether the key exists.
func (r Ref) OK() bool { return r.v != nil }

// Kind returns the value's type; None if the key does not exist.
func (r Ref) Kind() Kind {
	if r.v == nil {
		return None
	}
	return r.v.kind()
}

// Is reports whether the key is missing or of kind k. A command for type k accepts such a key.
func (r Ref) Is(k Kind) bool { return r.v == nil || r.v.kind() == k }

// Bytes returns a string's bytes, which must not be written to; nil if the key does not exist.
func (r Ref) Bytes() []byte {
	if r.v == nil {
		return nil
	}
	return r.v.bytes()
}

// Hash returns the hash to read; nil if the key does not exist.
func (r Ref) Hash() *hash.Hash {
	if r.v == nil {
		return nil
	}
	return r.v.hash()
}

// Set returns the set to read; nil if the key does not exist.
func (r Ref) Set() *set.Set {
	if r.v == nil {
		return nil
	}
	return r.v.set()
}

// List returns the list to read; nil if the key does not exist.
func (r Ref) List() *list.List {
	if r.v == nil {
		return nil
	}
	return r.v.list()
}

// ZSet returns the sorted set to read; nil if the key does not exist.
func (r Ref) ZSet() *zset.ZSet {
	if r.v == nil {
		return nil
	}
	return r.v.zset()
}

// Stream returns the stream to read; nil if the key does not exist.
func (r Ref) Stream() *stream.Stream {
	if r.v == nil {
		return nil
	}
	return r.v.stream()
}

// Bloom returns the Bloom filter to read; nil if the key does not exist.
func (r Ref) Bloom() *bloom.Filter {
	if r.v == nil {
		return nil
	}
	return r.v.bloom()
}

// DeadlineMS returns the deadline of the key, in milliseconds since 1970; 0 if it has no deadline.
func (r Ref) DeadlineMS() int64 { return r.atMS }

// Shared reports whether a string is one of the small integers that Redis stores once for all keys.
func (r Ref) Shared() bool { return r.v.tag() == String && isShared(r.v.bytes()) }

// Encoding returns what OBJECT ENCODING answers.
func (r Ref) Encoding() string {
	switch r.v.tag() {
	case buffer:
		return "raw"
	case text:
		return "embstr"
	case String, unshared, state:
		b := r.v.bytes()
		if _, ok := decimal.ParseInt(b); ok {
			return "int"
		}
		if len(b) <= embstrMax {
			return "embstr"
		}
		return "raw"
	case Hash:
		return r.v.hash().Encoding()
	case Set:
		return r.v.set().Encoding()
	case List:
		return r.v.list().Encoding()
	case ZSet:
		return r.v.zset().Encoding()
	case Bloom:
		return "raw" // of a module's value Redis knows no more
	default:
		return "stream"
	}
}

// LiveRef is a Ref for readers of locks, semaphores and their holders: its hash has no overdue field. Mostly
// its hash is the stored hash, because a look-up removes overdue fields. If they may not be removed
// (SetFollows), or no look-up has removed them yet, it is a copy without them. If no field is left, the key
// does not exist for the reader.
//
// Commands that change a lock read the stored hash.
type LiveRef struct{ Ref }
