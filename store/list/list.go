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

// List is a list of byte strings. It is for reading; Edit writes. One goroutine at a time may use it, with
// one exception: after Clone another goroutine may read the old list.
//
// A small list is one piece of memory: the listpack of its elements follows the head (package piece). In a
// list with nodes the head is the beginning of a noded.
type List struct {
	head piece.Head
}

// noded is the header of a list with nodes.
type noded struct {
	List
	directory // never empty between two calls
}

// Edit is a list for writing. When it grows it may move to another piece of memory: then the field List
// changes, and the owner of the list must keep the new value.
type Edit struct {
	*List
	ep   *cow.Epoch
	name []byte
}

// New returns an empty list. name is its key, or nil: see Head.
func New(ep *cow.Epoch, name []byte) Edit { return NewSize(ep, name, 0) }

// NewSize returns an empty list with space for size bytes of encoded elements.
func NewSize(ep *cow.Epoch, name []byte, size int) Edit {
	head := piece.New(ep.Now(), 0, listpack.MinBytes+size, name)
	listpack.NewIn(head.Content())
	return Edit{(*List)(unsafe.Pointer(head)), ep, name}
}

// EditOf returns a list for writing. name is its key, or nil.
func EditOf(ep *cow.Epoch, name []byte, l *List) Edit { return Edit{l, ep, name} }

// Head returns the first word of the list. If it is the word of a piece with a name, the name is the key that
// the list was made for (package piece).
func (l *List) Head() *piece.Head { return &l.head }

// nodes returns the directory; nil for a small list.
func (l *List) nodes() *directory {
	if l.head.Packed() {
		return nil
	}
	return &(*noded)(unsafe.Pointer(l)).directory
}

// packed returns the elements of a small list, which may be empty.
func (l *List) packed() listpack.List { return listpack.In(l.head.Content()) }

// small returns the elements of a small list; nil if it is empty, or has nodes.
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

// withNodes returns a list with the nodes of a directory.
func withNodes(ep *cow.Epoch, d directory) *List {
	l := &noded{List: List{piece.Large(ep.Now())}, directory: d}
	return &l.List
}

// take replaces the piece, or header, of the list.
func (l *Edit) take(fresh *List) {
	l.head.Leave()
	l.List = fresh
}

// Moved reports whether the list has moved to another piece, and must be read there.
func (l *List) Moved() bool { return l.head.Left() }

// Stamp returns the epoch at which this list was made. If it is shared, the caller must replace the list by
// its Clone before it writes.
func (l *List) Stamp() uint64 { return l.head.Stamp() }

// Clone returns a list for writing, after a cut that shares this list. The old list remains for the snapshot
// to read.
func (l *List) Clone(ep *cow.Epoch, name []byte) *List {
	if d := l.nodes(); d != nil {
		return withNodes(ep, d.clone())
	}
	return smallOf(ep, name, l.packed(), 0)
}

// Copy returns a list with the same elements that shares nothing with l, for the command COPY.
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

// Encoding returns the form's name in OBJECT ENCODING: "listpack" or "quicklist".
func (l *List) Encoding() string {
	if l.nodes() != nil {
		return "quicklist"
	}
	return "listpack"
}

// Listpack returns all elements as a listpack; false if the list has nodes, or is empty. It is read-only.
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

// EachNode calls fn for the nodes from left to right, for snapshot files: b is a listpack that is not empty,
// or, if plain, the bytes of a single element. b is read-only.
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
