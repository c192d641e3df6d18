package list

import "slices"

// maxSegment is the most nodes of a segment: a copy of their pointers after a cut
// costs less than a microsecond.
const maxSegment = 128

// directory keeps the nodes of a large list in order. It belongs to one header.
type directory struct {
	segs   []*segment // none is empty
	length int        // elements; the sum of the segments'
	bytes  int        // what the nodes weigh; see node.size
}

// segment is a run of nodes. Once its stamp is shared nothing in it changes.
type segment struct {
	nodes  []*node // not empty, at most maxSegment
	length int     // elements; the sum of the nodes'
	stamp  uint64
}

// place is where a node stands. It is good until a node before it comes or goes.
type place struct {
	seg, node int
}

func (d *directory) clone() directory {
	return directory{segs: slices.Clone(d.segs), length: d.length, bytes: d.bytes}
}

// copy returns a directory with nodes of its own.
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

// next returns the place beside p; false if p is the end on that side.
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

// normal returns the place of the node that follows one which has just been
// removed from p; false if there is none.
func (d *directory) normal(p place) (place, bool) {
	if p.seg < len(d.segs) && p.node == len(d.segs[p.seg].nodes) {
		p = place{p.seg + 1, 0}
	}
	return p, p.seg < len(d.segs)
}

// locate returns the node of element i and its number there, found from the
// nearer end. i is at least 0 and below length.
func (d *directory) locate(i int) (p place, within int) {
	if i < d.length/2 {
		for i >= d.segs[p.seg].length {
			i -= d.segs[p.seg].length
			p.seg++
		}
	} else {
		left := d.length // elements before the end of segment p.seg
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

// ownSegment returns a segment, or a copy that has taken its place if a snapshot
// shares it.
func (l *Edit) ownSegment(i int) *segment {
	s := l.nodes().segs[i]
	if l.ep.Shared(s.stamp) {
		s = &segment{nodes: slices.Clone(s.nodes), length: s.length, stamp: l.ep.Now()}
		l.nodes().segs[i] = s
	}
	return s
}

// own returns the node at p for writing. If a snapshot shares the node, a copy with space for extra bytes
// has replaced it.
func (l *Edit) own(p place, extra int) *node {
	s := l.ownSegment(p.seg)
	n := s.nodes[p.node]
	if l.ep.Shared(n.stamp) {
		n = n.clone(l.ep.Now(), extra)
		s.nodes[p.node] = n
	}
	return n
}

// count adds delta to the number of elements of the node at p, which is owned.
func (l *Edit) count(p place, delta int) {
	l.nodes().segs[p.seg].length += delta
	l.nodes().length += delta
}

// insertNode puts n before the node at p, or behind the last of the segment, and
// returns where it now is.
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

// splitSegment makes two segments of a full one that is owned, and returns where
// p now is. At the end of a list that is being filled, the old one stays full.
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

// removeNode takes the node at p out. The place is then that of the node behind
// it, if there is one in the segment; if not, it is good no longer.
func (l *Edit) removeNode(p place) {
	s := l.ownSegment(p.seg)
	l.count(p, -s.nodes[p.node].len())
	l.nodes().bytes -= s.nodes[p.node].size()
	if s.nodes = slices.Delete(s.nodes, p.node, p.node+1); len(s.nodes) == 0 {
		l.removeSegment(p.seg)
	}
}

// removeSegment takes a segment out with all its nodes.
func (l *Edit) removeSegment(i int) {
	l.nodes().length -= l.nodes().segs[i].length
	for _, n := range l.nodes().segs[i].nodes {
		l.nodes().bytes -= n.size()
	}
	l.nodes().segs = slices.Delete(l.nodes().segs, i, i+1)
}
