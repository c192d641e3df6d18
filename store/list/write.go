package list

import "lockserver/store/listpack"

// Push puts elements in at one end, one after the other: pushed at the left they
// stand in reverse order. The bytes are copied; they must not alias the list.
func (l *List) Push(lim Limits, side Side, elements ...[]byte) {
	l.mustOwn()
	if l.nodes == nil && lim.outgrown(l.small, elements...) {
		l.toNodes()
	}
	if l.nodes == nil {
		l.pushSmall(lim, side, elements)
		return
	}
	for _, e := range elements {
		l.pushNode(lim, side, e)
	}
}

// pushNode is Push for one element and the form with nodes.
func (l *List) pushNode(lim Limits, side Side, element []byte) {
	d := l.nodes
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

// maxElement is the most that an element of a listpack takes beyond its bytes.
const maxElement = 10

// pushSmall is Push for the small form.
func (l *List) pushSmall(lim Limits, side Side, elements [][]byte) {
	if l.small == nil {
		total := 0
		for _, e := range elements {
			total += listpack.EncodedLen(e)
		}
		l.small = listpack.NewSize(total)
	}
	for _, e := range elements {
		l.small = add(l.small, side, e, lim.bytes())
	}
}

// PrepareFor turns a small list into one with nodes if it has no room for an element besides its own. Insert
// and Set do so themselves; it is for a caller who finds no place for the element.
func (l *List) PrepareFor(lim Limits, element []byte) {
	l.mustOwn()
	if l.nodes == nil && lim.outgrown(l.small, element) {
		l.toNodes()
	}
}

// Insert puts an element before number i, which may be one behind the last. The
// bytes are copied; they must not alias the list.
func (l *List) Insert(lim Limits, i int, element []byte) {
	switch n := l.Len(); {
	case i == 0:
		l.Push(lim, Left, element)
		return
	case i == n:
		l.Push(lim, Right, element)
		return
	}
	l.PrepareFor(lim, element)
	if l.nodes == nil {
		at := position(l.small, i)
		l.small = reserve(l.small, element, lim.bytes()).Insert(at, element)
		return
	}
	l.insertInside(lim, i, element)
}

// insertInside is Insert for the form with nodes and an i that is not at an end.
func (l *List) insertInside(lim Limits, i int, element []byte) {
	p, within := l.nodes.locate(i)
	if lim.takes(l.nodes.at(p), element) {
		n := l.own(p, len(element)+maxElement)
		at := position(n.lp, within)
		l.become(n, reserve(n.lp, element, lim.bytes()).Insert(at, element))
		l.count(p, 1)
		return
	}
	if within == 0 {
		q, _ := l.nodes.next(p, Left) // there is one: i is not 0
		if lim.takes(l.nodes.at(q), element) {
			n := l.own(q, len(element)+maxElement)
			l.become(n, add(n.lp, Right, element, lim.bytes()))
			l.count(q, 1)
			return
		}
		l.insertNode(p, newNode(lim, l.ep.Now(), element, 0))
		return
	}
	p = l.split(p, within)
	p = l.insertNode(p, newNode(lim, l.ep.Now(), element, 0))
	l.mergeAround(lim, lim.bytes(), p)
}

// Set puts an element in the place of number i, which must exist. The bytes are
// copied; they must not alias the list.
func (l *List) Set(lim Limits, i int, element []byte) {
	l.PrepareFor(lim, element)
	if l.nodes == nil {
		l.small = shrink(l.small.Replace(position(l.small, i), element))
		return
	}
	p, within := l.nodes.locate(i)
	n := l.nodes.at(p)
	switch {
	case n.len() == 1:
		l.nodes.bytes -= n.size()
		n = newNode(lim, l.ep.Now(), element, 0)
		l.nodes.bytes += n.size()
		l.ownSegment(p.seg).nodes[p.node] = n
	case !lim.isLarge(element) && lim.fits(len(n.lp)+len(element)+overhead, 1):
		n = l.own(p, len(element)+maxElement)
		l.become(n, n.lp.Replace(position(n.lp, within), element))
	default:
		l.cut(p, within, 1)
		l.Insert(lim, i, element)
	}
	l.toSmall(lim)
}
