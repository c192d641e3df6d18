package list

import (
	"unsafe"

	"lockserver/store/listpack"
)

// Push adds elements at one end, one after the other: elements pushed at the left are in reverse order. The
// bytes are copied; they must not alias the list.
func (l *Edit) Push(lim Limits, side Side, elements ...[]byte) {
	l.mustOwn()
	if l.nodes() == nil && lim.outgrown(l.small(), elements...) {
		l.toNodes()
	}
	if l.nodes() == nil {
		l.pushSmall(lim, side, elements)
		return
	}
	for _, e := range elements {
		l.pushNode(lim, side, e)
	}
}

// pushNode does what Push does, for one element and the form with nodes.
func (l *Edit) pushNode(lim Limits, side Side, element []byte) {
	d := l.nodes()
	if len(d.segs) == 0 {
		l.insertNode(place{}, newNode(lim, l.ep.Now(), element, 0))
		return
	}
	p := d.end(side)
	old := d.at(p)
	if lim.takes(old, element) {
		n := l.own(p, len(element)+maxElement)
		l.become(n, add(n.lp, side, element, lim.bytes()))
		l.count(p, 1)
		return
	}
	l.seal(p)
	if side == Right {
		p.node++
	}
	l.insertNode(p, newNode(lim, l.ep.Now(), element, min(len(old.lp), lim.bytes())-emptyBytes))
}

// maxElement is the largest size of an element of a listpack besides its bytes.
const maxElement = 10

// pushSmall does what Push does, for the small form.
func (l *Edit) pushSmall(lim Limits, side Side, elements [][]byte) {
	if l.small() == nil {
		l.reserve(ElementsBytes(elements), 0)
	}
	for _, e := range elements {
		lp := l.reserve(listpack.EncodedLen(e), lim.bytes())
		if first := lp.First(); side == Left && first >= 0 {
			l.keep(lp.Insert(first, e))
		} else {
			l.keep(lp.Append(e))
		}
	}
}

// ElementsBytes returns the size of the elements in a listpack.
func ElementsBytes(elements [][]byte) (n int) {
	for _, e := range elements {
		n += listpack.EncodedLen(e)
	}
	return n
}

// reserve returns the elements of a small list with space for more bytes: see the function reserve.
func (l *Edit) reserve(more, most int) listpack.List {
	lp := l.packed()
	need := len(lp) + more
	if need <= cap(lp) {
		return lp
	}
	if need > tight {
		need = max(need, min(len(lp)+len(lp)/2, most))
	}
	l.take(smallOf(l.ep, l.name, lp, need-len(lp)))
	return l.packed()
}

// keep stores the changed elements of a small list. They stay in place, unless they take much less space now.
func (l *Edit) keep(lp listpack.List) {
	switch {
	case unsafe.SliceData(lp) != unsafe.SliceData(l.head.Content()):
		if invariants {
			panic("list: elements that have left their piece")
		}
		fallthrough
	case cap(lp) > tight && len(lp) < cap(lp)/4:
		l.take(smallOf(l.ep, l.name, lp, 0))
	}
}

// PrepareFor converts a small list to the form with nodes if element does not fit. Insert and Set do so
// themselves. It is for a caller that then does not insert the element.
func (l *Edit) PrepareFor(lim Limits, element []byte) {
	l.mustOwn()
	if l.nodes() == nil && lim.outgrown(l.small(), element) {
		l.toNodes()
	}
}

// Insert inserts an element after or before number i, which must exist. The bytes are copied; they must not
// alias the list.
func (l *Edit) Insert(lim Limits, i int, after bool, element []byte) {
	l.PrepareFor(lim, element)
	if l.nodes() == nil {
		l.keep(insertAt(l.reserve(listpack.EncodedLen(element), lim.bytes()), beside(i, after), element))
		return
	}
	p, within := l.nodes().locate(i)
	if n := l.nodes().at(p); lim.takes(n, element) {
		l.insertInto(lim, p, beside(within, after), element)
		return
	}
	if within = beside(within, after); within > 0 && within < l.nodes().at(p).len() {
		l.insertBetween(lim, p, within, i, after, element)
		return
	}
	side := Left
	if after {
		side = Right
	}
	if q, ok := l.nodes().next(p, side); ok && lim.takes(l.nodes().at(q), element) {
		end := 0
		if !after {
			end = l.nodes().at(q).len()
		}
		l.insertInto(lim, q, end, element)
		return
	}
	if after {
		p.node++
	}
	l.insertNode(p, newNode(lim, l.ep.Now(), element, 0))
}

// beside returns the number of an element that is inserted after or before number i.
func beside(i int, after bool) int {
	if after {
		return i + 1
	}
	return i
}

// insertInto inserts an element as number within of the node at p, which has space for it.
func (l *Edit) insertInto(lim Limits, p place, within int, element []byte) {
	n := l.own(p, len(element)+maxElement)
	l.become(n, insertAt(reserve(n.lp, element, lim.bytes()), within, element))
	l.count(p, 1)
}

// insertAt inserts an element as number i of a listpack; i may be the number of elements.
func insertAt(lp listpack.List, i int, element []byte) listpack.List {
	if i == lp.Len() {
		return lp.Append(element)
	}
	return lp.Insert(position(lp, i), element)
}

// insertBetween splits the node at p, which has no space for the element, before its element within. A large
// element gets a node between the halves. Any other element joins the half without element i, its neighbour,
// even if that half is full. Then neighbours that fit together are joined.
func (l *Edit) insertBetween(lim Limits, p place, within, i int, after bool, element []byte) {
	q := l.split(p, within)
	switch {
	case lim.isLarge(element):
		l.insertNode(q, newNode(lim, l.ep.Now(), element, 0))
		return
	case after:
		l.insertInto(lim, q, 0, element)
	default:
		p, _ = l.nodes().next(q, Left)
		l.insertInto(lim, p, within, element)
		i++
	}
	l.mergeAround(lim, i)
}

// Set replaces element number i, which must exist. The bytes are copied; they must not alias the list.
func (l *Edit) Set(lim Limits, i int, element []byte) {
	l.PrepareFor(lim, element)
	if l.nodes() == nil {
		pos := position(l.packed(), i)
		lp := l.reserve(max(0, listpack.EncodedLen(element)-l.packed().SizeAt(pos)), 0)
		l.keep(lp.Replace(pos, element))
		return
	}
	p, within := l.nodes().locate(i)
	n := l.nodes().at(p)
	switch {
	case n.plain && !lim.isLarge(element):
		l.Insert(lim, i, true, element)
		p, _ = l.nodes().locate(i)
		l.removeNode(p)
	case n.len() == 1:
		l.nodes().bytes -= n.size()
		n = newNode(lim, l.ep.Now(), element, 0)
		l.nodes().bytes += n.size()
		l.ownSegment(p.seg).nodes[p.node] = n
	case !lim.isLarge(element): // even if the node is full, as in Redis
		n = l.own(p, len(element)+maxElement)
		l.become(n, n.lp.Replace(position(n.lp, within), element))
	default:
		l.setLarge(lim, p, within, i, element)
	}
	l.toSmall(lim)
}

// setLarge replaces number i, one of several elements in the node at p, by a large element.
func (l *Edit) setLarge(lim Limits, p place, within, i int, element []byte) {
	l.cut(p, within, 1)
	if n := l.nodes().at(p).len(); within > 0 && within < n {
		p = l.split(p, within)
	} else if within == n {
		p.node++
	}
	l.insertNode(p, newNode(lim, l.ep.Now(), element, 0))
	if within > 0 { // otherwise the first part would be empty
		l.mergeAround(lim, i)
	}
}
