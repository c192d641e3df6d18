package stream

import (
	"slices"

	"lockserver/store/listpack"
)

// Flags of an entry. Format, do not change.
const (
	flagDeleted    = 1
	flagSameFields = 2
	flagsKnown     = flagDeleted | flagSameFields
)

// countAt is the position of the first element of a node, the count of live entries: after the listpack's
// header of six bytes.
const countAt = 6

// node is a run of entries. Once its stamp is shared, the node does not change.
type node struct {
	master ID
	stamp  uint64
	list   listpack.List // in the form that the package comment describes; checked by inspect
}

// newNode returns an empty node for entries with the given fields. It uses the empty list l.
func newNode(master ID, stamp uint64, fields [][]byte, l listpack.List) *node {
	l = l.AppendInt(0).AppendInt(0).AppendInt(int64(len(fields) / 2))
	for i := 0; i < len(fields); i += 2 {
		l = l.Append(fields[i])
	}
	return &node{master: master, stamp: stamp, list: l.AppendInt(0)}
}

// clone returns a copy with space for extra bytes.
func (n *node) clone(stamp uint64, extra int) *node {
	l := append(slices.Grow(listpack.List(nil), len(n.list)+extra), n.list...)
	return &node{master: n.master, stamp: stamp, list: l}
}

// live returns the number of live entries.
func (n *node) live() int { return int(n.list.Get(countAt).Int) }

// marked returns the number of deleted entries that are still in the node.
func (n *node) marked() int { return int(n.list.Get(n.list.Next(countAt)).Int) }

// addCounts changes the two counts of the master entry. Positions after them become invalid, because a count
// may need more bytes than before.
func (n *node) addCounts(live, marked int) {
	v := n.list.Get(countAt).Int
	n.list = n.list.ReplaceInt(countAt, v+int64(live))
	if marked != 0 {
		at := n.list.Next(countAt)
		n.list = n.list.ReplaceInt(at, n.list.Get(at).Int+int64(marked))
	}
}

// sameFields reports whether the fields in a list of fields and values are the fields of the master entry.
func (n *node) sameFields(fields [][]byte) bool {
	l := n.list
	pos := l.Next(l.Next(countAt))
	if l.Get(pos).Int != int64(len(fields)/2) {
		return false
	}
	for i := 0; i < len(fields); i += 2 {
		pos = l.Next(pos)
		if !l.EqualAt(pos, fields[i]) {
			return false
		}
	}
	return true
}

// append adds an entry. fields alternates fields and values.
func (n *node) append(id ID, fields [][]byte) {
	pairs := int64(len(fields) / 2)
	flags, elements := int64(0), 2*pairs+4
	if n.sameFields(fields) {
		flags, elements = flagSameFields, pairs+3
	}
	n.addCounts(1, 0)
	l := n.list.AppendInt(flags)
	l = l.AppendInt(int64(id.MS - n.master.MS)).AppendInt(int64(id.Seq - n.master.Seq))
	if flags == 0 {
		l = l.AppendInt(pairs)
		for _, b := range fields {
			l = l.Append(b)
		}
	} else {
		for i := 1; i < len(fields); i += 2 {
			l = l.Append(fields[i])
		}
	}
	n.list = l.AppendInt(elements)
}

// mark sets the deleted flag of e. Its position stays valid, because the flags take one byte in either case.
func (n *node) mark(e entry) {
	n.list = n.list.ReplaceInt(e.at, e.flags|flagDeleted)
}

// firstLive returns the ID of the first live entry.
func (n *node) firstLive() (ID, bool) {
	c := n.open()
	for e, ok := c.first(); ok; e, ok = c.next(e) {
		if !e.deleted() {
			return e.id, true
		}
	}
	return ID{}, false
}

// lastEntry returns the last entry, deleted or not.
func (n *node) lastEntry() (entry, bool) {
	c := n.open()
	return c.last()
}

// find returns the live entry with the given ID.
func (n *node) find(id ID) (entry, bool) {
	c := n.open()
	for e, ok := c.first(); ok; e, ok = c.next(e) {
		if e.deleted() || e.id.Less(id) {
			continue
		}
		return e, e.id == id
	}
	return entry{}, false
}
