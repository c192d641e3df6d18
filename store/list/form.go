package list

// toNodes converts a small list, which may be empty, to the form with nodes.
func (l *Edit) toNodes() {
	lp := l.small()
	l.take(withNodes(l.ep, directory{}))
	if lp != nil { // its memory stays in place
		l.insertNode(place{}, &node{lp: lp, stamp: l.ep.Now()})
	}
}

// Spread gives an empty list the form with nodes, for any number of elements. It is for a list of unknown
// length that is built element by element. The caller then calls Compact.
func (l *Edit) Spread() { l.toNodes() }

// Compact makes a list small after Spread, if it is one node within the limits.
func (l *Edit) Compact(lim Limits) { l.toOne(lim, 1) }

// toSmall makes a list with nodes small again if it is one node within half the limits. It does so for an
// empty list in any case.
func (l *Edit) toSmall(lim Limits) { l.toOne(lim, 2) }

// toOne makes a list with nodes small if it is one node within the limits divided by part.
func (l *Edit) toOne(lim Limits, part int) {
	d := l.nodes()
	if d.length == 0 {
		l.take(NewSize(l.ep, l.name, 0).List)
		return
	}
	if len(d.segs) > 1 || len(d.segs[0].nodes) > 1 {
		return
	}
	n := d.segs[0].nodes[0]
	if n.plain || lim.Fill < 0 && len(n.lp) > lim.bytes()/part || lim.Fill >= 0 && n.len() > lim.count()/part {
		return
	}
	l.take(smallOf(l.ep, l.name, n.lp, 0))
}

// seal frees the unused memory of the node at p, before another node follows it.
func (l *Edit) seal(p place) {
	n := l.nodes().at(p)
	if spare := cap(n.lp) - len(n.lp); spare > len(n.lp)/8+64 && !l.ep.Shared(n.stamp) {
		n.lp = n.lp.Clone()
	}
}

// split splits the node at p, which is not plain: the second node begins with element within, which is not 0.
// It returns the place of the second.
func (l *Edit) split(p place, within int) place {
	n := l.own(p, 0)
	rest := n.len() - within
	right := n.lp.Clone()
	right = right.Delete(right.First(), within).Clone()
	l.become(n, n.lp.Delete(position(n.lp, within), rest).Clone())
	l.count(p, -rest)
	return l.insertNode(place{p.seg, p.node + 1}, &node{lp: right, stamp: l.ep.Now()})
}

// mergeAround joins pairs of nodes around the node with element i, if they fit. The pairs, in order: the two
// nodes before it, the two nodes after it, the node and the one before it, the node and the one after it.
func (l *Edit) mergeAround(lim Limits, i int) {
	for _, pair := range [...][2]int{{2, 0}, {0, 1}, {1, 0}, {0, 0}} {
		p, _ := l.nodes().locate(i)
		ok := true
		for range pair[0] {
			if ok {
				p, ok = l.nodes().next(p, Left)
			}
		}
		for range pair[1] {
			if ok {
				p, ok = l.nodes().next(p, Right)
			}
		}
		if ok {
			l.merge(lim, p)
		}
	}
}

// merge joins the node at p and the next node, if both are packed and fit together within the limits.
func (l *Edit) merge(lim Limits, p place) bool {
	q, ok := l.nodes().next(p, Right)
	if !ok {
		return false
	}
	a, b := l.nodes().at(p), l.nodes().at(q)
	if a.plain || b.plain || len(a.lp)+len(b.lp)-emptyBytes > lim.bytes() || a.len()+b.len() > lim.count() {
		return false
	}
	a = l.own(p, len(b.lp))
	l.become(a, join(a.lp, b.lp))
	l.count(p, b.len())
	l.removeNode(q)
	return true
}
