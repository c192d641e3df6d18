package list

import (
	"unsafe"

	"lockserver/store/cow"
	"lockserver/store/listpack"
	"lockserver/store/piece"
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

// List is a list of byte strings, and is to be read; Edit writes. One goroutine at a time may use it, except
// that after Clone the old one may be read elsewhere.
//
// A small list is one piece of memory, the listpack of its elements behind the head (package piece); of one
// with nodes the head is the beginning of a noded.
type List struct {
	head piece.Head
}

// noded is the header of a list with nodes.
type noded struct {
	List
	directory // never empty between two calls
}

// Edit is a list to write to. It takes another piece of memory as it grows: then List is another one from
// then on, and who keeps the list takes that.
type Edit struct {
	*List
	ep   *cow.Epoch
	name []byte
}

// New returns an empty list. name is the key that it is for, or nil: see Head.
func New(ep *cow.Epoch, name []byte) Edit { return NewSize(ep, name, 0) }

// NewSize is New with space for size bytes of encoded elements.
func NewSize(ep *cow.Epoch, name []byte, size int) Edit {
	head := piece.New(ep.Now(), 0, listpack.MinBytes+size, name)
	listpack.NewIn(head.Content())
	return Edit{(*List)(unsafe.Pointer(head)), ep, name}
}

// EditOf returns a list to write to, which is at the key name, or nil.
func EditOf(ep *cow.Epoch, name []byte, l *List) Edit { return Edit{l, ep, name} }

// Head returns the first word of the list. If that is of a piece with a name, the name is the key that the
// list was made for (package piece).
func (l *List) Head() *piece.Head { return &l.head }

// nodes returns the directory; nil for a small list.
func (l *List) nodes() *directory {
	if l.head.Packed() {
		return nil
	}
	return &(*noded)(unsafe.Pointer(l)).directory
}

// packed returns all elements of a small list, which may be none.
func (l *List) packed() listpack.List { return listpack.In(l.head.Content()) }

// small returns all elements of a small list; nil if there are none, or nodes.
func (l *List) small() listpack.List {
	if !l.head.Packed() {
		return nil
	}
	if lp := l.packed(); len(lp) > listpack.MinBytes {
		return lp
	}
	return nil
}

// smallOf returns a small list with a copy of these elements, and space for more bytes.
func smallOf(ep *cow.Epoch, name []byte, lp listpack.List, more int) *List {
	head := piece.New(ep.Now(), 0, len(lp)+more, name)
	copy(head.Content(), lp)
	return (*List)(unsafe.Pointer(head))
}

// withNodes returns a list that has these.
func withNodes(ep *cow.Epoch, d directory) *List {
	l := &noded{List: List{piece.Large(ep.Now())}, directory: d}
	return &l.List
}

// take takes another piece, or header, for the list.
func (l *Edit) take(fresh *List) {
	l.head.Leave()
	l.List = fresh
}

// Moved reports whether a writer has taken another piece for the list: there it is to be read.
func (l *List) Moved() bool { return l.head.Left() }

// Stamp returns the epoch at which this list was made. If it is shared, the
// list must be replaced by its Clone before it is written to.
func (l *List) Stamp() uint64 { return l.head.Stamp() }

// Clone returns a list for writing, after a cut that shares this one. The old
// one remains for the snapshot, to be read.
func (l *List) Clone(ep *cow.Epoch, name []byte) *List {
	if d := l.nodes(); d != nil {
		return withNodes(ep, d.clone())
	}
	return smallOf(ep, name, l.packed(), 0)
}

// Copy returns a list with the same elements that shares nothing with l, as COPY
// makes it.
func (l *List) Copy(ep *cow.Epoch, name []byte) *List {
	if d := l.nodes(); d != nil {
		return withNodes(ep, d.copy(ep.Now()))
	}
	return smallOf(ep, name, l.packed(), 0)
}

// Len returns the number of elements.
func (l *List) Len() int {
	if d := l.nodes(); d != nil {
		return d.length
	}
	return l.packed().Len()
}

// Encoding returns what OBJECT ENCODING calls the form: "listpack" or
// "quicklist".
func (l *List) Encoding() string {
	if l.nodes() != nil {
		return "quicklist"
	}
	return "listpack"
}

// Listpack returns all elements as a listpack; false if the list has nodes, or no
// elements. It is to be read only.
func (l *List) Listpack() (listpack.List, bool) {
	lp := l.small()
	return lp, lp != nil
}

// NodeCount returns the number of nodes that EachNode visits.
func (l *List) NodeCount() int {
	switch {
	case l.nodes() != nil:
		return l.nodes().count()
	case l.small() != nil:
		return 1
	}
	return 0
}

// EachNode calls fn for the nodes from left to right, for snapshot files: b is a
// listpack that is not empty, or, if plain, the bytes of one element. They are to
// be read only.
func (l *List) EachNode(fn func(b []byte, plain bool)) {
	if l.nodes() == nil {
		if l.small() != nil {
			fn(l.small(), false)
		}
		return
	}
	for _, s := range l.nodes().segs {
		for _, n := range s.nodes {
			fn(n.lp, n.plain)
		}
	}
}

func (l *Edit) mustOwn() {
	if l.ep.Shared(l.Stamp()) {
		panic("list: write to a header that a snapshot reads")
	}
}
