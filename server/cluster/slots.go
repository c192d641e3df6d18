// Package cluster knows the slots of a cluster's shards: how they are shared out, and what the slots of a
// command's keys say about where it is run.
//
// It must know nothing of the server, its commands and its connections: package topology asks it and says the
// answers in Redis' words. The hash itself is package internal/keyslot's.
//
// A shard is a server with an executor and data of its own. All slots have an owner at any time, and no slot
// is ever between two shards.
package cluster

import (
	"fmt"

	"lockserver/internal/keyslot"
)

// MaxShards is how many shards a process may have.
const MaxShards = 64

// Range are the slots from First to Last, both included.
type Range struct{ First, Last int }

// All are all slots.
func All() Range { return Range{0, keyslot.Count - 1} }

// Has reports whether a slot is one of them.
func (r Range) Has(n int) bool { return r.First <= n && n <= r.Last }

// String is the range as CLUSTER NODES shows it: "0-5460", or the slot if it is one.
func (r Range) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// Split shares all slots out over n shards, 1 to MaxShards, as evenly as possible and in order: what
// redis-cli's --cluster create does.
func Split(n int) []Range {
	parts, first := make([]Range, n), 0
	for i := range parts {
		next := ((i+1)*keyslot.Count + n/2) / n
		parts[i] = Range{first, next - 1}
		first = next
	}
	return parts
}

// Keys collects the slots of the keys of a command, or of a transaction. The zero value has no slots.
type Keys struct {
	slot  int
	any   bool
	cross bool
}

// Add adds a key, or a name that is routed as a key.
func (k *Keys) Add(key []byte) {
	switch n := keyslot.Of(key); {
	case !k.any:
		k.slot, k.any = n, true
	case n != k.slot:
		k.cross = true
	}
}

// Slot is the slot of the keys, that of the first if they have several; ok is false if there is no key.
func (k *Keys) Slot() (n int, ok bool) { return k.slot, k.any }

// Cross reports whether the keys are in several slots.
func (k *Keys) Cross() bool { return k.cross }
