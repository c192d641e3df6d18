package dict

import (
	"slices"
	"sync/atomic"
	"weak"
)

// View is the content of a dict at the moment of the call of View. It is valid until its snapshot is
// released. Any goroutine may read it without a lock.
type View[V any] struct {
	pages  []*page[V]
	n      int
	reader *reader
}

// reader is the progress of a view's reader, which the dict and its view share. nil means that the reader
// never reports progress.
type reader struct {
	cut  uint64       // epoch of the view
	done atomic.Int64 // number of chunks, from the first on, that are not read any more
}

// doneWith reports whether the reader will not read a chunk any more, and no other snapshot can: no other
// snapshot has begun since.
func (r *reader) doneWith(number int, now uint64) bool {
	return r != nil && r.cut == now && int64(number) < r.done.Load()
}

// pages returns the number of pages, from the first on, that are not read any more.
func (r *reader) pages() int { return int(r.done.Load() >> pageBits) }

// View freezes the content. Call it after cow.Epoch.Cut and before the next
// write. O(Len/16128).
func (d *Dict[V]) View() View[V] {
	d.reader, d.spares = nil, nil
	if d.ep.Active() == 1 { // an older snapshot may still read chunks that this reader has finished
		d.reader = &reader{cut: d.ep.Now()}
		d.spares = takeSpares(d.scraps, len(d.pages))
		d.scraps = weak.Make(d.spares)
	}
	return View[V]{pages: slices.Clone(d.pages), n: d.n, reader: d.reader}
}

// Len returns the number of entries.
func (w View[V]) Len() int { return w.n }

// At returns the entry of a slot, 0..Len-1, with the number beside it. The value is read-only.
func (w View[V]) At(slot int) (key string, v *V, side int64) {
	number, at := place(slot)
	c := &w.pages[number>>pageBits].chunks[number&pageMask]
	s := &c.slots[at]
	return s.key.String(), &s.val, c.side(at)
}

// Each calls fn for every entry and the number beside it, in slot order, until fn returns false.
func (w View[V]) Each(fn func(key string, v *V, side int64) bool) {
	w.checkUndrained()
	each(w.pages, w.n, nil, func(key *Key, v *V, side int64) bool { return fn(key.String(), v, side) })
}

// Drain calls fn like Each, and ends the view: the dict takes back each finished chunk, and may write there
// without a copy. Nothing of the view may be read afterwards, and fn must not keep v.
func (w View[V]) Drain(fn func(key string, v *V, side int64) bool) {
	w.checkUndrained()
	each(w.pages, w.n, w.reader, func(key *Key, v *V, side int64) bool { return fn(key.String(), v, side) })
}

func (w View[V]) checkUndrained() {
	if invariants && w.reader != nil && w.reader.done.Load() > 0 {
		panic("dict: a view is read after it was drained")
	}
}

// Each calls fn for every entry, in slot order, until fn returns false. fn must only read the value, and must
// not change the dict.
func (d *Dict[V]) Each(fn func(key string, v *V) bool) {
	each(d.pages, d.n, nil, func(key *Key, v *V, _ int64) bool { return fn(key.String(), v) })
}

// EachKey is Each for keys with tails.
func (d *Dict[V]) EachKey(fn func(key *Key, v *V) bool) {
	each(d.pages, d.n, nil, func(key *Key, v *V, _ int64) bool { return fn(key, v) })
}

// EachSided is Each with the numbers beside the entries.
func (d *Dict[V]) EachSided(fn func(key string, v *V, side int64) bool) {
	each(d.pages, d.n, nil, func(key *Key, v *V, side int64) bool { return fn(key.String(), v, side) })
}

func each[V any](pages []*page[V], n int, r *reader, fn func(key *Key, v *V, side int64) bool) {
	for _, p := range pages {
		for i := range p.chunks {
			c := &p.chunks[i]
			live := min(n, len(c.slots))
			slots := c.slots[:live]
			for j := range slots {
				if !fn(slots[j].key, &slots[j].val, c.side(j)) {
					return
				}
			}
			n -= live
			if r != nil {
				r.done.Add(1)
			}
		}
	}
}

// Scan calls fn for up to count entries and returns the cursor for the next call; a scan begins with 0 and
// ends when it returns 0. It walks downward from the last slot, and the cursor is the number of slots still
// to visit. An entry that stays for the whole scan is seen at least once, because deletion moves entries only
// downward, to slots that the scan has not visited yet. New entries go on top. fn must only read the value,
// and must not change the dict.
func (d *Dict[V]) Scan(cursor uint64, count int, fn func(key string, v *V)) (next uint64) {
	return d.ScanKeys(cursor, count, func(key *Key, v *V) { fn(key.String(), v) })
}

// ScanKeys is Scan for keys with tails.
func (d *Dict[V]) ScanKeys(cursor uint64, count int, fn func(key *Key, v *V)) (next uint64) {
	return d.scan(cursor, count, func(slot int) {
		s := d.slot(slot)
		fn(s.key, &s.val)
	})
}

// ScanSided is Scan with the numbers beside the entries.
func (d *Dict[V]) ScanSided(cursor uint64, count int, fn func(key string, v *V, side int64)) (next uint64) {
	return d.scan(cursor, count, func(slot int) { fn(d.Sided(slot)) })
}

func (d *Dict[V]) scan(cursor uint64, count int, visit func(slot int)) (next uint64) {
	left := d.n
	if cursor != 0 && cursor < uint64(left) {
		left = int(cursor)
	}
	for stop := max(0, left-max(count, 1)); left > stop; left-- {
		visit(left - 1)
	}
	return uint64(left)
}
