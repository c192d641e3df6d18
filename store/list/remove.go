package list

import "lockserver/store/listpack"

// Remove removes n elements from number i on. All of them must exist.
func (l *Edit) Remove(lim Limits, i, n int) {
	l.mustOwn()
	if n == 0 {
		return
	}
	if l.nodes() == nil {
		lp := l.packed()
		l.keep(lp.Delete(position(lp, i), n))
		return
	}
	for n > 0 {
		p, within := l.nodes().locate(i)
		if s := l.nodes().segs[p.seg]; p.node == 0 && within == 0 && s.length <= n {
			n -= s.length
			l.removeSegment(p.seg)
			continue
		}
		k := min(n, l.nodes().at(p).len()-within)
		l.cut(p, within, k)
		n -= k
	}
	l.toSmall(lim)
}

// cut removes k elements of the node at p from number within on, and the node if it becomes empty.
func (l *Edit) cut(p place, within, k int) {
	if k == l.nodes().at(p).len() {
		l.removeNode(p)
		return
	}
	n := l.own(p, 0)
	l.become(n, shrink(n.lp.Delete(position(n.lp, within), k)))
	l.count(p, -k)
}

// RemoveEqual removes the first n elements that equal b, counted from one end, or all of them if n is 0, and
// returns their number. b must not alias the list.
func (l *Edit) RemoveEqual(lim Limits, b []byte, from Side, n int) (removed int) {
	l.mustOwn()
	if n == 0 {
		n = l.Len()
	}
	if l.nodes() == nil {
		lp := l.packed()
		before := lp.Len()
		lp = removePacked(lp, findFrom(lp, b, from), b, from, n)
		l.keep(lp)
		return before - lp.Len()
	}
	to := Right - from
	for p, ok := l.nodes().end(from), true; ok && removed < n; {
		took, gone := l.removeInNode(p, b, from, n-removed)
		removed += took
		if gone && from == Left {
			p, ok = l.nodes().normal(p)
		} else {
			p, ok = l.nodes().next(p, to)
		}
	}
	if removed > 0 {
		l.toSmall(lim)
	}
	return removed
}

// removeInNode does what RemoveEqual does, for one node. gone reports whether the node was removed.
func (l *Edit) removeInNode(p place, b []byte, from Side, most int) (removed int, gone bool) {
	n := l.nodes().at(p)
	if n.plain {
		if string(n.lp) != string(b) {
			return 0, false
		}
		l.removeNode(p)
		return 1, true
	}
	at := findFrom(n.lp, b, from)
	if at < 0 {
		return 0, false
	}
	before := n.len()
	n = l.own(p, 0) // positions are the same in a copy
	weighed := len(n.lp)
	n.lp = removePacked(n.lp, at, b, from, most)
	l.nodes().bytes += len(n.lp) - weighed
	removed = before - n.len()
	l.count(p, -removed)
	if gone = removed == before; gone {
		l.removeNode(p)
	} else {
		n.lp = shrink(n.lp)
	}
	return removed, gone
}

// findFrom returns the position of the first element that equals b, searched from one end, or -1.
func findFrom(lp listpack.List, b []byte, from Side) int {
	if from == Left {
		return lp.Find(lp.First(), b, 0)
	}
	return findLeft(lp, lp.Last(), b)
}

// findLeft looks for b from the element at pos to the left.
func findLeft(lp listpack.List, pos int, b []byte) int {
	for pos >= 0 && !lp.EqualAt(pos, b) {
		pos = lp.Prev(pos)
	}
	return pos
}

// removePacked removes at most most elements that equal b from a listpack. at is the position of the first,
// searched from one end, or -1.
func removePacked(lp listpack.List, at int, b []byte, from Side, most int) listpack.List {
	for ; at >= 0 && most > 0; most-- {
		lp = lp.Delete(at, 1) // the next element is there now, or the end
		switch {
		case from == Right:
			at = findLeft(lp, lp.Prev(at), b)
		case at == len(lp)-1:
			at = -1
		default:
			at = lp.Find(at, b, 0)
		}
	}
	return lp
}
