package digest

import (
	"crypto/sha1"
	"encoding/binary"
	"hash"
	"math"
	"slices"
	"strings"

	"lockserver/persistence"
	"lockserver/store"
	hashes "lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// The exact digest covers the common data of servers that apply the same history. It contains databases,
// keys, types, values, the deadlines of keys and fields to the millisecond, streams with their groups,
// pending entries and limits of producers, and the function libraries. Locks and their tokens are such
// values.
//
// It does not depend on encodings, on the order of unordered values, or on positions in memory. It leaves out
// state that may differ between such servers. That is the last use of a key or a consumer, the client that
// renews a lease, the remembered messages of producers, and the sign of a zero score, which a compact sorted
// set does not keep.

// ExactVersion is incremented when the exact digest of the same data changes: digests of two versions cannot
// be compared.
const ExactVersion = 1

// ExactOptions adds data besides the keys.
type ExactOptions struct {
	// Functions is the code of the function libraries.
	Functions [][]byte
	// Breathe, if not nil, is called regularly, so that other goroutines get the processor.
	Breathe func(keys int)
	// Off, if not nil, reports whether the caller does not need the digest any more.
	Off func() bool
}

// Exact returns the exact digest of a snapshot. ok is false if Off ended the work. Exact drains the snapshot,
// which can only be released afterwards.
func Exact(snap *store.Snapshot, o ExactOptions) (d Digest, ok bool) {
	e := &exact{sum: sha1.New(), breathe: o.Breathe}
	for _, code := range o.Functions {
		e.begin('f')
		e.text(code)
		e.endIn(&d)
	}
	off := false
	for db := range snap.DBs() {
		snap.Drain(db, func(key string, r store.Ref) bool {
			e.begin('k')
			e.number(uint64(db))
			e.scratch = append(e.scratch[:0], key...)
			e.text(e.scratch)
			e.number(uint64(r.DeadlineMS()))
			e.value(r)
			e.endIn(&d)
			e.keys++
			off = off || o.Off != nil && o.Off()
			return !off
		})
	}
	return d, !off
}

// mostInKey is the size of a value up to which Key covers all of it.
const mostInKey = 1000

// Key returns the digest of a key with a value, its deadline and its deadlines of fields. It is that of Exact
// for a small value in database 0. Its time is bounded: of a larger value it has the kind and the size. A
// value is large with more than 1000 elements or 256 KB of a string, and so is each Bloom filter. Without a
// value it is the digest of the name.
func Key(key []byte, r store.Ref) (d Digest) {
	e := &exact{sum: sha1.New()}
	e.begin('k')
	e.number(0)
	e.text(key)
	if r.OK() {
		e.number(uint64(r.DeadlineMS()))
		if n := size(r); n <= mostInKey {
			e.value(r)
		} else {
			e.number(uint64(kinds[r.Kind()]))
			e.number(uint64(n))
		}
	}
	e.endIn(&d)
	return d
}

// size is the number of elements of a value, or a measure of its bytes.
func size(r store.Ref) (n int) {
	switch r.Kind() {
	case store.List:
		return r.List().Len()
	case store.Set:
		return r.Set().Len()
	case store.ZSet:
		return r.ZSet().Len()
	case store.Hash:
		return r.Hash().Len()
	case store.Stream:
		n = r.Stream().Len()
		for _, g := range r.Stream().Groups() {
			n += g.PendingLen()
		}
		return n
	case store.Bloom:
		return mostInKey + 1
	}
	return len(r.Bytes()) / 256
}

// exact digests one item after the other. Each part is preceded by its length, so that two different items
// never have the same bytes.
type exact struct {
	sum     hash.Hash
	bytes   []byte // bytes of the item that are not in sum yet
	scratch []byte
	keys    int
	since   int // bytes since the last breath
	breathe func(keys int)
}

const (
	// mostGathered is the number of bytes that are collected before they are added to the sum.
	mostGathered = 4 << 10
	// breathBytes is the number of bytes between two calls of Breathe: some tenths of a millisecond's work.
	breathBytes = 64 << 10
)

// begin begins an item of a kind.
func (e *exact) begin(kind byte) {
	e.sum.Reset()
	e.bytes = append(e.bytes[:0], kind)
}

// endIn adds the item to d. The order of items does not matter.
func (e *exact) endIn(d *Digest) {
	e.flush()
	var one Digest
	e.sum.Sum(one[:0])
	d.mix(&one)
}

// mix adds a digest to d. The order does not matter.
func (d *Digest) mix(one *Digest) {
	for i := range d {
		d[i] ^= one[i]
	}
}

func (e *exact) flush() {
	_, _ = e.sum.Write(e.bytes)
	e.worked(len(e.bytes))
	e.bytes = e.bytes[:0]
}

// worked calls Breathe after every breathBytes bytes.
func (e *exact) worked(bytes int) {
	if e.since += bytes; e.since >= breathBytes && e.breathe != nil {
		e.since = 0
		e.breathe(e.keys)
	}
}

func (e *exact) number(n uint64) {
	if e.bytes = binary.BigEndian.AppendUint64(e.bytes, n); len(e.bytes) >= mostGathered {
		e.flush()
	}
}

func (e *exact) text(b []byte) {
	e.number(uint64(len(b)))
	if e.bytes = append(e.bytes, b...); len(e.bytes) >= mostGathered {
		e.flush()
	}
}

func (e *exact) id(id stream.ID) {
	e.number(id.MS)
	e.number(id.Seq)
}

// unordered adds n elements that have no order. each calls add with the bytes of each element.
func (e *exact) unordered(n int, each func(add func(b []byte))) {
	var all Digest
	each(func(b []byte) {
		one := Digest(sha1.Sum(b))
		all.mix(&one)
		e.worked(len(b))
	})
	e.number(uint64(n))
	e.text(all[:])
}

// value adds a value.
func (e *exact) value(r store.Ref) {
	e.number(uint64(kinds[r.Kind()]))
	switch r.Kind() {
	case store.String:
		e.text(r.Bytes())
	case store.List:
		e.list(r.List())
	case store.Set:
		e.unordered(r.Set().Len(), func(add func([]byte)) {
			r.Set().Each(func(member []byte) bool {
				add(member)
				return true
			})
		})
	case store.ZSet:
		e.zset(r.ZSet())
	case store.Hash:
		e.hash(r.Hash())
	case store.Stream:
		e.stream(r.Stream())
	case store.Bloom:
		e.text(persistence.Dump(nil, r, false))
	}
}

func (e *exact) list(l *list.List) {
	e.number(uint64(l.Len()))
	l.Range(0, l.Len(), list.Right, func(v list.Value) bool {
		e.scratch = v.Append(e.scratch[:0])
		e.text(e.scratch)
		return true
	})
}

// zset adds members with their scores. Members with equal scores are ordered by their names.
func (e *exact) zset(z *zset.ZSet) {
	e.unordered(z.Len(), func(add func([]byte)) {
		z.Range(0, z.Len(), func(member []byte, score float64) bool {
			if score == 0 {
				score = 0 // removes the sign
			}
			e.scratch = binary.BigEndian.AppendUint64(e.scratch[:0], math.Float64bits(score))
			e.scratch = append(e.scratch, member...)
			add(e.scratch)
			return true
		})
	})
}

func (e *exact) hash(h *hashes.Hash) {
	e.unordered(h.Len(), func(add func([]byte)) {
		h.EachTimed(func(field, value []byte, atMS int64) bool {
			e.scratch = binary.BigEndian.AppendUint64(e.scratch[:0], uint64(atMS))
			e.scratch = binary.BigEndian.AppendUint64(e.scratch, uint64(len(field)))
			e.scratch = append(append(e.scratch, field...), value...)
			add(e.scratch)
			return true
		})
	})
}

func (e *exact) stream(s *stream.Stream) {
	e.number(uint64(s.Len()))
	s.Range(stream.ID{}, stream.MaxID(), false, func(id stream.ID, fv stream.FieldValues) bool {
		e.id(id)
		e.number(uint64(fv.Len()))
		for field, value, ok := fv.Next(); ok; field, value, ok = fv.Next() {
			e.text(field)
			e.text(value)
		}
		return true
	})
	e.id(s.LastID())
	e.id(s.MaxDeletedID())
	e.number(s.EntriesAdded())
	groups := slices.SortedFunc(slices.Values(s.Groups()), func(a, b *stream.Group) int { return strings.Compare(a.Name(), b.Name()) })
	e.number(uint64(len(groups)))
	for _, g := range groups {
		e.group(g)
	}
	if p := s.Producers(); p != nil {
		added, _ := p.Counts()
		e.number(uint64(p.Limits().DurationS))
		e.number(uint64(p.Limits().MaxSize))
		e.number(added)
	}
}

func (e *exact) group(g *stream.Group) {
	e.text([]byte(g.Name()))
	e.id(g.LastID())
	e.number(uint64(g.EntriesRead()))
	e.unordered(len(g.Consumers()), func(add func([]byte)) {
		for _, c := range g.Consumers() {
			add([]byte(c.Name()))
		}
	})
	e.number(uint64(g.PendingLen()))
	g.EachPending(stream.ID{}, func(p stream.Pending) bool {
		e.id(p.ID)
		e.text([]byte(g.Owner(p).Name()))
		e.number(uint64(p.DeliveredMS))
		e.number(p.Deliveries)
		return true
	})
}
