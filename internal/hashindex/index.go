// Package hashindex finds entries by their keys. It is a hash table without cells of its own. An entry holds
// the link to the next entry of its chain, so the index takes one pointer for each entry. A Go map takes
// about 44 bytes for a string and a pointer.
//
// It grows by linear hashing (W. Litwin, Linear hashing, VLDB 1980): when there are more entries than chains,
// one chain is divided. When there are half as many entries as chains, the last chain is merged into its
// origin. So no call takes longer because there are many entries, and the memory of removed entries is
// released.
//
// It owns the chains. It must not know the keys: an entry compares its key and stores its hash. The caller
// makes the hash with a secret seed, so that clients cannot choose keys that collide.
package hashindex

import "math/bits"

// Entry is the type of an index's entries.
type Entry[E any] interface {
	*E
	// Link returns the link to the next entry of the chain. Only the index may use it.
	Link() **E
	// Hash returns the hash of the entry's key. It stays the same while the entry is in the index.
	Hash() uint32
	// HasKey reports whether key is the entry's key.
	HasKey(key []byte) bool
}

// segmentSize is the number of chains that are allocated together.
const segmentSize = 64

type segment[E any] [segmentSize]*E

// Index holds entries with different keys. The zero value is empty; it is not safe for concurrent use.
//
// Invariants (checked by check): an entry is in the chain that chainOf returns. There are no more entries
// than chains, and no more chains than twice the entries, except for the first. There are only as many
// segments as the chains need.
type Index[E any, P Entry[E]] struct {
	segments []*segment[E]
	chains   uint32
	n        int
}

// Len returns the number of entries.
func (x *Index[E, P]) Len() int { return x.n }

// Find returns the entry with a key and its hash, or nil.
func (x *Index[E, P]) Find(hash uint32, key []byte) *E {
	if x.n == 0 {
		return nil
	}
	e := *x.head(x.chainOf(hash))
	for e != nil && !(P(e).Hash() == hash && P(e).HasKey(key)) {
		e = *P(e).Link()
	}
	return e
}

// Add adds an entry with a new key.
func (x *Index[E, P]) Add(e *E) {
	if x.n++; x.n > int(x.chains) {
		x.grow()
	}
	head := x.head(x.chainOf(P(e).Hash()))
	*P(e).Link() = *head
	*head = e
}

// Remove removes an entry that is in the index. It does not compare keys.
func (x *Index[E, P]) Remove(e *E) {
	at := x.head(x.chainOf(P(e).Hash()))
	for *at != e {
		at = P(*at).Link()
	}
	*at = *P(e).Link()
	*P(e).Link() = nil
	x.n--
	for x.chains > 1 && int(x.chains) > 2*x.n {
		x.shrink()
	}
}

// Each visits all entries, in no order, until visit returns false. The index must not be changed meanwhile.
func (x *Index[E, P]) Each(visit func(e *E) bool) {
	for _, s := range x.segments {
		for _, e := range s {
			for ; e != nil; e = *P(e).Link() {
				if !visit(e) {
					return
				}
			}
		}
	}
}

// head returns the pointer to the first entry of a chain.
func (x *Index[E, P]) head(chain uint32) **E {
	return &x.segments[chain/segmentSize][chain%segmentSize]
}

// chainOf returns the chain for a hash. It uses enough bits for the number of chains, or one bit less if that
// chain does not exist yet.
func (x *Index[E, P]) chainOf(hash uint32) uint32 {
	mask := uint32(1)<<bits.Len32(x.chains-1) - 1
	if chain := hash & mask; chain < x.chains {
		return chain
	}
	return hash & (mask >> 1)
}

// parent returns the chain that the last chain was split from.
func parent(chain uint32) uint32 { return chain &^ (1 << (bits.Len32(chain) - 1)) }

// grow adds a chain: it splits one chain in two.
func (x *Index[E, P]) grow() {
	last := x.chains
	if last%segmentSize == 0 {
		x.segments = append(x.segments, new(segment[E]))
	}
	if x.chains++; last == 0 {
		return
	}
	to, at := x.head(last), x.head(parent(last))
	for *at != nil {
		e := *at
		if x.chainOf(P(e).Hash()) != last {
			at = P(e).Link()
			continue
		}
		*at = *P(e).Link()
		*P(e).Link() = *to
		*to = e
	}
}

// shrink merges the last chain into the chain that it was split from.
func (x *Index[E, P]) shrink() {
	last := x.chains - 1
	from, at := x.head(last), x.head(parent(last))
	for *at != nil {
		at = P(*at).Link()
	}
	*at, *from = *from, nil
	if x.chains = last; last%segmentSize == 0 {
		end := len(x.segments) - 1
		x.segments[end] = nil
		x.segments = x.segments[:end]
	}
}
