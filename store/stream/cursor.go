package stream

import "lockserver/store/listpack"

// cursor walks through the entries of one node, which must be valid (inspect).
type cursor struct {
	list     listpack.List
	master   ID
	pairs    int // fields of the master entry
	fieldsAt int // position of the first field; without fields, of the zero after them
	start    int // position of the first entry, -1 if there is no entry
}

// entry is the fixed part of an entry, and the positions of the rest.
type entry struct {
	at    int // position of the flags
	items int // position of the first value, or of the first field if it has its own fields
	flags int64
	id    ID
	pairs int
}

func (e *entry) deleted() bool { return e.flags&flagDeleted != 0 }

// open returns a cursor for the node.
func (n *node) open() cursor {
	l := n.list
	pos := l.Next(l.Next(countAt))
	c := cursor{list: l, master: n.master, pairs: int(l.Get(pos).Int)}
	pos = l.Next(pos)
	c.fieldsAt = pos
	for range c.pairs {
		pos = l.Next(pos)
	}
	c.start = l.Next(pos)
	return c
}

// read returns the entry with its flags at pos.
func (c *cursor) read(pos int) entry {
	e := entry{at: pos, pairs: c.pairs}
	var ms, seq int64
	e.flags, pos = c.list.Int(pos)
	ms, pos = c.list.Int(pos)
	seq, pos = c.list.Int(pos)
	// The differences wrap around: a sequence number may be below the master's.
	e.id = ID{c.master.MS + uint64(ms), c.master.Seq + uint64(seq)}
	if e.flags&flagSameFields == 0 {
		var n int64
		n, pos = c.list.Int(pos)
		e.pairs = int(n)
	}
	e.items = pos
	return e
}

// first returns the first entry, deleted or not.
func (c *cursor) first() (entry, bool) {
	if c.start < 0 {
		return entry{}, false
	}
	return c.read(c.start), true
}

// next returns the entry after e.
func (c *cursor) next(e entry) (entry, bool) {
	pos, n := e.items, e.pairs
	if e.flags&flagSameFields == 0 {
		n *= 2
	}
	for range n {
		pos = c.list.Next(pos)
	}
	pos = c.list.Next(pos) // skip lp-count
	if pos < 0 {
		return entry{}, false
	}
	return c.read(pos), true
}

// last returns the last entry, deleted or not.
func (c *cursor) last() (entry, bool) {
	if c.start < 0 {
		return entry{}, false
	}
	return c.back(c.list.Last()), true
}

// prev returns the entry before e.
func (c *cursor) prev(e entry) (entry, bool) {
	if e.at == c.start {
		return entry{}, false
	}
	return c.back(c.list.Prev(e.at)), true
}

// back returns the entry with its lp-count at pos.
func (c *cursor) back(pos int) entry {
	for n := c.list.Get(pos).Int; n > 0; n-- {
		pos = c.list.Prev(pos)
	}
	return c.read(pos)
}

// scratch has memory for a field and a value that are stored as integers.
type scratch struct{ field, value [20]byte }

// FieldValues iterates over the pairs of one entry. It is a value: a copy continues from the position of the
// original.
type FieldValues struct {
	list    listpack.List
	field   int // position of the next field of the master entry; 0 if the entry has its own fields
	item    int
	left    int
	scratch *scratch
}

// values returns e's fields and values.
func (c *cursor) values(e entry, sc *scratch) FieldValues {
	fv := FieldValues{list: c.list, item: e.items, left: e.pairs, scratch: sc}
	if e.flags&flagSameFields != 0 {
		fv.field = c.fieldsAt
	}
	return fv
}

// Len returns how many pairs Next has not returned yet.
func (fv *FieldValues) Len() int { return fv.left }

// Next returns the next field and value; ok is false at the end. The bytes are valid until the next call, and
// the caller must not write to them.
func (fv *FieldValues) Next() (field, value []byte, ok bool) {
	if fv.left == 0 {
		return nil, nil, false
	}
	fv.left--
	at := &fv.item
	if fv.field != 0 {
		at = &fv.field
	}
	name, next := fv.list.Step(*at)
	*at = next
	content, next := fv.list.Step(fv.item)
	fv.item = next
	return name.Text(fv.scratch.field[:]), content.Text(fv.scratch.value[:]), true
}
