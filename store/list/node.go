package list

import (
	"slices"

	"lockserver/store/listpack"
)

// node is a run of elements. Once its stamp is shared, the node does not change.
type node struct {
	lp    listpack.List // not empty; the bytes of the only element if plain is true
	stamp uint64
	plain bool
}

// newNode returns a node with one element, with capacity size.
func newNode(lim Limits, stamp uint64, element []byte, size int) *node {
	if lim.isLarge(element) {
		return &node{lp: append([]byte(nil), element...), stamp: stamp, plain: true}
	}
	lp := listpack.NewSize(max(listpack.EncodedLen(element), size))
	return &node{lp: lp.Append(element), stamp: stamp}
}

// clone returns a copy with space for extra bytes.
func (n *node) clone(stamp uint64, extra int) *node {
	return &node{lp: resize(n.lp, len(n.lp)+extra), stamp: stamp, plain: n.plain}
}

// len returns the number of elements.
func (n *node) len() int {
	if n.plain {
		return 1
	}
	return n.lp.Len()
}

// walk calls fn for the elements from number i on, to the right or to the left, and returns false if fn did.
func (n *node) walk(i int, to Side, fn func(v Value) bool) bool {
	if n.plain {
		return fn(listpack.String(n.lp))
	}
	return walkPacked(n.lp, position(n.lp, i), to, fn)
}

// walkPacked does what walk does, for a listpack, from a position on.
func walkPacked(lp listpack.List, pos int, to Side, fn func(v Value) bool) bool {
	for pos >= 0 {
		var v Value
		if to == Right {
			v, pos = lp.Step(pos)
		} else {
			v, pos = lp.Get(pos), lp.Prev(pos)
		}
		if !fn(v) {
			return false
		}
	}
	return true
}

// position returns the position of element number i of a listpack. It searches from the nearer end.
func position(lp listpack.List, i int) int {
	n := lp.Len()
	if i < n/2 {
		pos := lp.First()
		for range i {
			pos = lp.Next(pos)
		}
		return pos
	}
	pos := lp.Last()
	for range n - 1 - i {
		pos = lp.Prev(pos)
	}
	return pos
}

// add adds an element at one end of a listpack. It reserves more space, up to most bytes, so that filling a
// list copies it only a few times.
func add(lp listpack.List, side Side, element []byte, most int) listpack.List {
	lp = reserve(lp, element, most)
	if first := lp.First(); side == Left && first >= 0 {
		return lp.Insert(first, element)
	}
	return lp.Append(element)
}

// tight is the size up to which a listpack reserves only the space of the allocator's size class. The memory
// of a million small lists matters more than a few copies of each.
const tight = 256

// reserve makes space for element. A listpack above tight grows by half, but not beyond most bytes if element
// fits into them.
func reserve(lp listpack.List, element []byte, most int) listpack.List {
	need := len(lp) + listpack.EncodedLen(element)
	if need <= cap(lp) || need <= tight {
		return lp
	}
	return resize(lp, max(need, min(len(lp)+len(lp)/2, most)))
}

// resize returns a copy with at least the given capacity, rounded up by the allocator.
func resize(lp listpack.List, capacity int) listpack.List {
	return append(slices.Grow(listpack.List(nil), capacity), lp...)
}

// shrink frees the memory of a listpack that has lost most of its elements.
func shrink(lp listpack.List) listpack.List {
	if cap(lp) > tight && len(lp) < cap(lp)/4 {
		return lp.Clone()
	}
	return lp
}

// join returns the elements of two listpacks in one. a may be written to.
func join(a, b listpack.List) listpack.List {
	if len(a)+len(b) > cap(a) {
		a = resize(a, len(a)+len(b))
	}
	for pos := b.First(); pos >= 0; pos = b.Next(pos) {
		if v := b.Get(pos); v.IsInt {
			a = a.AppendInt(v.Int)
		} else {
			a = a.Append(v.Bytes())
		}
	}
	return a
}
