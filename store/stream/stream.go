package stream

import (
	"slices"

	"lockserver/store/cow"
	"lockserver/store/listpack"

	"github.com/tidwall/btree"
)

// MaxEntryBytes limits the total size of an entry's fields and values. Callers check it before Add.
const MaxEntryBytes = 1 << 30

// Limits says when a node is full: stream-node-max-bytes and stream-node-max-entries. Zero means no limit of
// that kind (MaxEntryBytes then limits the bytes).
type Limits struct {
	NodeMaxBytes   int
	NodeMaxEntries int
}

// DefaultLimits returns Redis' defaults.
func DefaultLimits() Limits { return Limits{NodeMaxBytes: 4096, NodeMaxEntries: 100} }

// Stream is a stream without its name. Make it with New. Only one goroutine may change it. Any number may
// read a stream that does not change any more (see the package comment).
type Stream struct {
	epoch *cow.Epoch
	stamp uint64

	nodeTree any   // see nodesOf
	tail     *node // the last of nodes, or nil

	length     int // live entries; the sum of the nodes' counts
	bytes      int // weight of the nodes; see size.go
	firstID    ID  // ID of the first live entry; 0-0 if the stream is empty
	lastID     ID  // the highest ID ever added, or the value of SetID
	maxDeleted ID  // the highest ID ever deleted by Delete; trimming does not count
	added      uint64

	groups    []*Group   // by name
	producers *Producers // nil: the stream never had a producer
}

// nodesOf returns the tree of nodes, ordered by master ID. A node's pointer is replaced, and the node never
// changed in place, once the node is shared.
//
// Fields hold their trees as values of type any, and functions give them their type. No field, and no method
// of an exported type, names the type of the tree. Otherwise each package that imports this package, directly
// or indirectly, would compile all methods of the tree again.
func nodesOf(s *Stream) *btree.BTreeG[slot] { return s.nodeTree.(*btree.BTreeG[slot]) }

// slot is a node in the index. The ID is stored beside the pointer, so that a search only touches the index.
type slot struct {
	master ID
	node   *node
}

func slotLess(a, b slot) bool { return a.master.Less(b.master) }

// New returns an empty stream with copy-on-write by ep.
func New(ep *cow.Epoch) *Stream {
	return &Stream{
		epoch:    ep,
		stamp:    ep.Now(),
		nodeTree: btree.NewBTreeGOptions(slotLess, btree.Options{NoLocks: true}),
	}
}

// Stamp returns the epoch in which this header was made.
func (s *Stream) Stamp() uint64 { return s.stamp }

// Clone returns a header for writing, after a cut shared s with a snapshot. The entries are not copied. s may
// still be read, but must not be changed any more.
func (s *Stream) Clone() *Stream {
	c := *s
	c.stamp = s.epoch.Now()
	c.nodeTree = nodesOf(s).Copy()
	c.groups = slices.Clone(s.groups)
	c.producers = s.producers.clone()
	return &c
}

// Copy returns a stream with nodes of its own and the same entries, groups and numbers, for the command COPY.
func (s *Stream) Copy() *Stream {
	d := New(s.epoch)
	d.length, d.firstID, d.lastID = s.length, s.firstID, s.lastID
	d.maxDeleted, d.added = s.maxDeleted, s.added
	nodesOf(s).Scan(func(sl slot) bool {
		d.push(sl.node.clone(d.stamp, 0))
		return true
	})
	for _, g := range s.groups {
		d.groups = append(d.groups, g.clone())
	}
	if d.producers = s.producers.clone(); d.producers != nil {
		d.producers.alarm = nil
	}
	return d
}

// Len returns the number of entries.
func (s *Stream) Len() int { return s.length }

// LastID returns the highest ID ever added, or the value of SetID. The next ID must be above it.
func (s *Stream) LastID() ID { return s.lastID }

// FirstID returns the ID of the first entry, or 0-0.
func (s *Stream) FirstID() ID { return s.firstID }

// MaxDeletedID returns the highest ID that Delete removed, or 0-0.
func (s *Stream) MaxDeletedID() ID { return s.maxDeleted }

// EntriesAdded returns the number of entries ever added. If SetID has set the number, it counts on from
// there.
func (s *Stream) EntriesAdded() uint64 { return s.added }

// TopID returns the ID of the last existing entry, or 0-0. XSETID must not set a lower ID.
func (s *Stream) TopID() ID {
	var top ID
	s.Range(ID{}, MaxID(), true, func(id ID, _ FieldValues) bool {
		top = id
		return false
	})
	return top
}

// SetID sets the last ID. It also sets the number of entries ever added and the highest deleted ID, if they
// are not nil. A highest deleted ID of 0-0 changes nothing, as in Redis. The caller has compared last with
// TopID.
func (s *Stream) SetID(last ID, added *uint64, maxDeleted *ID) {
	s.lastID = last
	if added != nil {
		s.added = *added
	}
	if maxDeleted != nil && !maxDeleted.IsZero() {
		s.maxDeleted = *maxDeleted
	}
}

// own returns n for writing. If a snapshot shares n, a copy with space for extra bytes replaces it.
func (s *Stream) own(n *node, extra int) *node {
	if !s.epoch.Shared(n.stamp) {
		return n
	}
	c := n.clone(s.epoch.Now(), extra)
	nodesOf(s).Set(slot{c.master, c})
	if n == s.tail {
		s.tail = c
	}
	return c
}

// push appends a node to the index. Its master ID must be above all others.
func (s *Stream) push(n *node) {
	nodesOf(s).Load(slot{n.master, n})
	s.bytes += n.size()
	s.tail = n
}

// drop removes a node from the index.
func (s *Stream) drop(n *node) {
	nodesOf(s).Delete(slot{master: n.master})
	s.bytes -= n.size()
	if n == s.tail {
		last, _ := nodesOf(s).Max()
		s.tail = last.node
	}
}

// floor returns the node that would hold id: the last node with a master ID not above id, or nil.
func (s *Stream) floor(id ID) *node {
	if s.tail != nil && !id.Less(s.tail.master) {
		return s.tail
	}
	var n *node
	nodesOf(s).Descend(slot{master: id}, func(sl slot) bool {
		n = sl.node
		return false
	})
	return n
}

// setFirst finds the first live entry after the old one was removed.
func (s *Stream) setFirst() {
	s.firstID = ID{}
	if s.length == 0 {
		return
	}
	nodesOf(s).Scan(func(sl slot) bool {
		id, ok := sl.node.firstLive()
		if ok {
			s.firstID = id
		}
		return !ok
	})
}

// Nodes returns an iterator over the master ID and the bytes of every node, in order, for snapshot files. The
// bytes alias the stream. The caller must not write to them.
func (s *Stream) Nodes() func(yield func(ID, listpack.List) bool) {
	return func(yield func(ID, listpack.List) bool) {
		nodesOf(s).Scan(func(sl slot) bool { return yield(sl.master, sl.node.list) })
	}
}

// NodeCount returns the number of nodes.
func (s *Stream) NodeCount() int { return nodesOf(s).Len() }
