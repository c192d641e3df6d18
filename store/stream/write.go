package stream

import (
	"slices"

	"lockserver/store/listpack"
)

// maxInitialBytes limits the initial capacity of the tail of a stream, and the capacity that the tail passes
// to the next tail.
const maxInitialBytes = 4096

// Add appends an entry with at least one pair; fields alternates fields and values. It panics if id is not
// above LastID or the entry exceeds MaxEntryBytes: the caller has checked both.
func (s *Stream) Add(lim Limits, id ID, fields [][]byte) {
	if !s.lastID.Less(id) {
		panic("stream: added ID is not above the last one")
	}
	total := 0
	for _, b := range fields {
		total += len(b)
	}
	if total > MaxEntryBytes || len(fields) < 2 || len(fields)%2 != 0 {
		panic("stream: entry of a size that the caller must refuse")
	}
	// The encoding adds at most 10 bytes to each element (head of 5, back length of 5), but two or three in
	// most cases. This estimate only saves reallocations.
	extra := total + 3*len(fields) + 24
	s.dropDeadAbove(id)
	n := s.tail
	if n == nil || n.full(lim, total) {
		n = s.startNode(id, fields, extra)
	} else {
		n = s.own(n, extra)
		n.reserve(extra)
	}
	s.bytes -= n.size()
	n.append(id, fields)
	s.bytes += n.size()
	s.length++
	s.added++
	s.lastID = id
	if s.length == 1 {
		s.firstID = id
	}
}

// dropDeadAbove removes nodes without live entries with a master ID not below id. They exist only if exact
// trimming by ID emptied the node, and XSETID then set the last ID back before it. Redis keeps such a node
// and makes another node for every entry that is added before it.
func (s *Stream) dropDeadAbove(id ID) {
	for s.tail != nil && !s.tail.master.Less(id) {
		s.drop(s.tail)
	}
}

// full reports whether an entry with total bytes in fields and values must go into a new node. As in Redis
// the bytes of the encoding do not count for the new entry, and deleted entries count.
func (n *node) full(lim Limits, total int) bool {
	limit := lim.NodeMaxBytes
	if limit <= 0 || limit > MaxEntryBytes {
		limit = MaxEntryBytes
	}
	if len(n.list)+total >= limit {
		return true
	}
	return lim.NodeMaxEntries > 0 && n.live()+n.marked() >= lim.NodeMaxEntries
}

// startNode appends an empty node. The first node of a stream starts small. Later nodes reuse the spare
// capacity of the node before, if possible.
func (s *Stream) startNode(id ID, fields [][]byte, extra int) *node {
	for i := 0; i < len(fields); i += 2 {
		extra += len(fields[i]) + 3 // the master entry contains the fields, too
	}
	list := s.seal()
	if cap(list) < extra {
		list = listpack.NewSize(extra)
	}
	n := newNode(id, s.epoch.Now(), fields, list)
	s.push(n)
	return n
}

// seal closes the tail before another node follows it. It moves its bytes to memory of their exact size, and
// returns its buffer as an empty list for the next node. Nodes that grew without this left gaps between the
// live nodes. These gaps were half of a stream's memory and could not return to the system. It returns nil if
// there is no tail, if a snapshot reads it, or if it is larger than a usual node.
func (s *Stream) seal() listpack.List {
	t := s.tail
	if t == nil || s.epoch.Shared(t.stamp) {
		return nil
	}
	if cap(t.list) > 2*maxInitialBytes {
		if spare := cap(t.list) - len(t.list); spare > len(t.list)/8+64 {
			t.list = t.list.Clone()
		}
		return nil
	}
	spare := t.list
	t.list = t.list.Clone()
	return append(spare[:0], listpack.New()...)
}

// reserve makes space for extra bytes. It doubles the capacity up to the usual size of a node.
func (n *node) reserve(extra int) {
	if need := len(n.list) + extra; need > cap(n.list) {
		n.list = n.list.Grow(max(extra, min(len(n.list), maxInitialBytes-len(n.list))))
	}
}

// Delete removes the entry with the given ID and reports whether it existed. The entry is only marked; if it
// was the last live entry of its node, the node is removed.
func (s *Stream) Delete(id ID) bool {
	if s.length == 0 || id.Less(s.firstID) {
		return false
	}
	n := s.floor(id)
	if n == nil {
		return false
	}
	e, ok := n.find(id)
	if !ok {
		return false
	}
	if n.live() == 1 {
		s.drop(n)
	} else {
		n = s.own(n, 0)
		s.bytes -= n.size()
		n.mark(e)
		n.addCounts(-1, 1)
		s.bytes += n.size()
	}
	s.length--
	if s.maxDeleted.Less(id) {
		s.maxDeleted = id
	}
	if id == s.firstID {
		s.setFirst()
	}
	return true
}

// NodeContent describes the content of a node: the number of live entries, and the ID of the last of them.
type NodeContent struct {
	Entries int
	Last    ID
}

// InspectNode reads a node from a snapshot file: see AppendNode.
func InspectNode(master ID, list []byte) (NodeContent, error) {
	in, err := inspect(master, list)
	return NodeContent{in.live, in.last}, err
}

// AppendNode appends a node from a snapshot file: its master ID and its bytes, which the stream keeps and
// writes to. It updates length, first ID and last ID; the caller sets the other numbers afterwards with
// SetID. The error wraps ErrCorrupt and describes the fault in the bytes; the stream is then unchanged.
func (s *Stream) AppendNode(master ID, list []byte) error {
	in, err := inspect(master, list)
	if err != nil {
		return err
	}
	if s.tail != nil && !s.tail.master.Less(master) {
		return corrupt("node %v does not follow node %v", master, s.tail.master)
	}
	if in.live > 0 && s.length > 0 && !s.lastID.Less(in.first) {
		return corrupt("node %v begins with %v, not above %v", master, in.first, s.lastID)
	}
	s.push(&node{master: master, stamp: s.epoch.Now(), list: listpack.List(slices.Clip(list))})
	if in.live == 0 {
		return nil
	}
	if s.length == 0 {
		s.firstID = in.first
	}
	s.lastID = in.last
	s.length += in.live
	return nil
}
