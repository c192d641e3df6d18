package list

import (
	"lockserver/store/cow"
	"lockserver/store/listpack"
)

// Side is an end of a list.
type Side uint8

// The ends of a list: index 0 is at the left.
const (
	Left Side = iota
	Right
)

// Value is an element as it is stored: an integer, or bytes that alias the list.
type Value = listpack.Value

// List is a list of byte strings. One goroutine at a time may use it, except that
// after Clone the old header may be read elsewhere.
type List struct {
	ep    *cow.Epoch
	small listpack.List // all elements of a small list; nil if there are none, or nodes
	nodes *directory    // nil for a small list; never empty between two calls
	stamp uint64
}

// New returns an empty list.
func New(ep *cow.Epoch) *List { return &List{ep: ep, stamp: ep.Now()} }

// Stamp returns the epoch at which this header was made. If it is shared, the
// list must be replaced by its Clone before it is written to.
func (l *List) Stamp() uint64 { return l.stamp }

// Clone returns a header for writing, after a cut that shares this one. The old
// header remains for the snapshot, to be read.
func (l *List) Clone() *List {
	c := &List{ep: l.ep, stamp: l.ep.Now()}
	switch {
	case l.nodes != nil:
		c.nodes = l.nodes.clone()
	case l.small != nil:
		c.small = l.small.Clone()
	}
	return c
}

// Copy returns a list with the same elements that shares nothing with l, as COPY
// makes it.
func (l *List) Copy() *List {
	c := New(l.ep)
	switch {
	case l.nodes != nil:
		c.nodes = l.nodes.copy(c.stamp)
	case l.small != nil:
		c.small = l.small.Clone()
	}
	return c
}

// Len returns the number of elements.
func (l *List) Len() int {
	switch {
	case l.nodes != nil:
		return l.nodes.length
	case l.small != nil:
		return l.small.Len()
	}
	return 0
}

// Encoding returns what OBJECT ENCODING calls the form: "listpack" or
// "quicklist".
func (l *List) Encoding() string {
	if l.nodes != nil {
		return "quicklist"
	}
	return "listpack"
}

// Listpack returns all elements as a listpack; false if the list has nodes, or no
// elements. It is to be read only.
func (l *List) Listpack() (listpack.List, bool) { return l.small, l.small != nil }

// NodeCount returns the number of nodes that EachNode visits.
func (l *List) NodeCount() int {
	switch {
	case l.nodes != nil:
		return l.nodes.count()
	case l.small != nil:
		return 1
	}
	return 0
}

// EachNode calls fn for the nodes from left to right, for snapshot files: b is a
// listpack that is not empty, or, if plain, the bytes of one element. They are to
// be read only.
func (l *List) EachNode(fn func(b []byte, plain bool)) {
	if l.nodes == nil {
		if l.small != nil {
			fn(l.small, false)
		}
		return
	}
	for _, s := range l.nodes.segs {
		for _, n := range s.nodes {
			fn(n.lp, n.plain)
		}
	}
}

func (l *List) mustOwn() {
	if l.ep.Shared(l.stamp) {
		panic("list: write to a header that a snapshot reads")
	}
}
