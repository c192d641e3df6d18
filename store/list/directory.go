package list

import "slices"

// maxSegment limits the nodes of a segment: copying their pointers after a cut costs less than a microsecond.
const maxSegment = 128

// directory keeps the nodes of a large list in order. It belongs to one header.
type directory struct {
	segs   []*segment // each has at least one node
	length int        // number of elements; the sum of the segments' lengths
	bytes  int        // weight of the nodes; see node.size
}

// segment is a run of nodes. Once its stamp is shared, the segment does not change.
type segment struct {
	nodes  []*node // at least one, at most maxSegment
	length int     // number of elements; the sum of the nodes' lengths
	stamp  uint64
}

// place is the position of a node. It is valid until a node before it is added or removed.
type place struct {
	seg, node int
}

func (d *directory) clone() directory {
	return directory{segs: slices.Clone(d.segs), length: d.length, bytes: d.bytes}
}

// copy returns a directory with copies of the nodes.
func (d *directory) copy(stamp uint64) directory {
	c := directory{length: d.length, bytes: d.bytes}
	for _, s := range d.segs {
		t := &segment{length: s.length, stamp: stamp}
		for _, n := range s.nodes {
			t.nodes = append(t.nodes, n.clone(stamp, 0))
		}
		c.segs = append(c.segs, t)
	}
	return c
}

func (d *directory) at(p place) *node { return d.segs[p.seg].nodes[p.node] }

// count returns the number of nodes.
func (d *directory) count() int {
	n := 0
	for _, s := range d.segs {
		n += len(s.nodes)
	}
	return n
}

// end returns the place of the first or the last node.
func (d *directory) end(side Side) place {
	if side == Left {
		return place{}
	}
	last := len(d.segs) - 1
	return place{last, len(d.segs[last].nodes) - 1}
}

// next returns the place beside p; false at the end of the list.
func (d *directory) next(p place, to Side) (place, bool) {
	switch {
	case to == Right && p.node+1 < len(d.segs[p.seg].nodes):
		return place{p.seg, p.node + 1}, true
	case to == Right:
		return place{p.seg + 1, 0}, p.seg+1 < len(d.segs)
	case p.node > 0:
		return place{p.seg, p.node - 1}, true
	case p.seg > 0:
		return place{p.seg - 1, len(d.segs[p.seg-1].nodes) - 1}, true
	}
	return place{}, false
}

// normal returns the place of the node that follows a node that was just removed from p; false if there is
// none.
func (d *directory) normal(p place) (place, bool) {
	if p.seg < len(d.segs) && p.node == len(d.segs[p.seg].nodes) {
		p = place{p.seg + 1, 0}
	}
	return p, p.seg < len(d.segs)
}

// locate returns the node of element i and the element's number in it. It searches from the nearer end. i is
// at least 0 and below length.
func (d *directory) locate(i int) (p place, within int) {
	if i < d.length/2 {
		for i >= d.segs[p.seg].length {
			i -= d.segs[p.seg].length
			p.seg++
		}
	} else {
		left := d.length // number of elements before the end of segment p.seg
		p.seg = len(d.segs) - 1
		for left-d.segs[p.seg].length > i {
			left -= d.segs[p.seg].length
			p.seg--
		}
		i -= left - d.segs[p.seg].length
	}
	s := d.segs[p.seg]
	if i < s.length/2 {
		for i >= s.nodes[p.node].len() {
			i -= s.nodes[p.node].len()
			p.node++
		}
		return p, i
	}
	left := s.length
	p.node = len(s.nodes) - 1
	for left-s.nodes[p.node].len() > i {
		left -= s.nodes[p.node].len()
		p.node--
	}
	return p, i - (left - s.nodes[p.node].len())
}

// ownSegment returns a segment for writing. If a snapshot shares it, a copy replaces it.
func (l *Edit) ownSegment(i int) *segment {
	s := l.nodes().segs[i]
	if l.ep.Shared(s.stamp) {
		s = &segment{nodes: slices.Clone(s.nodes), length: s.length, stamp: l.ep.Now()}
		l.nodes().segs[i] = s
	}
	return s
}

// own returns the node at p for writing. If a snapshot shares the node, a copy with space for extra bytes
// replaces it.
func (l *Edit) own(p place, extra int) *node {
	s := l.ownSegment(p.seg)
	n := s.nodes[p.node]
	if l.ep.Shared(n.stamp) {
		n = n.clone(l.ep.Now(), extra)
		s.nodes[p.node] = n
	}
	return n
}

// count adds delta to the number of elements of the node at p, which must be owned.
func (l *Edit) count(p place, delta int) {
	l.nodes().segs[p.seg].length += delta
	l.nodes().length += delta
}

// insertNode inserts n before the node at p, or at the end of the segment, and returns its place.
func (l *Edit) insertNode(p place, n *node) place {
	d := l.nodes()
	if len(d.segs) == 0 {
		d.segs = append(d.segs, &segment{stamp: l.ep.Now()})
	}
	s := l.ownSegment(p.seg)
	if len(s.nodes) == maxSegment {
		p = l.splitSegment(p)
		s = d.segs[p.seg]
	}
	s.nodes = slices.Insert(s.nodes, p.node, n)
	d.bytes += n.size()
	l.count(p, n.len())
	return p
}

// splitSegment splits a full, owned segment in two, and returns the new place of p. At the end of a list that
// is being filled, the old segment stays full.
func (l *Edit) splitSegment(p place) place {
	d := l.nodes()
	s := d.segs[p.seg]
	at := len(s.nodes) / 2
	switch {
	case p.node == len(s.nodes) && p.seg == len(d.segs)-1:
		at = len(s.nodes)
	case p.node == 0 && p.seg == 0:
		at = 0
	}
	right := &segment{nodes: slices.Clone(s.nodes[at:]), stamp: l.ep.Now()}
	for _, n := range right.nodes {
		right.length += n.len()
	}
	clear(s.nodes[at:])
	s.nodes = s.nodes[:at]
	s.length -= right.length
	d.segs = slices.Insert(d.segs, p.seg+1, right)
	if p.node > at || p.node == at && at > 0 {
		return place{p.seg + 1, p.node - at}
	}
	return p
}

// removeNode removes the node at p. Afterwards p is the place of the next node in the segment; if there is no
// next node, p is invalid.
func (l *Edit) removeNode(p place) {
	s := l.ownSegment(p.seg)
	l.count(p, -s.nodes[p.node].len())
	l.nodes().bytes -= s.nodes[p.node].size()
	if s.nodes = slices.Delete(s.nodes, p.node, p.node+1); len(s.nodes) == 0 {
		l.removeSegment(p.seg)
	}
}

// removeSegment removes a segment with all its nodes.
func (l *Edit) removeSegment(i int) {
	l.nodes().length -= l.nodes().segs[i].length
	for _, n := range l.nodes().segs[i].nodes {
		l.nodes().bytes -= n.size()
	}
	l.nodes().segs = slices.Delete(l.nodes().segs, i, i+1)
}
