package stream

import (
	"math"
	"slices"
	"strings"

	"lockserver/store/cow"

	"github.com/tidwall/btree"
)

// UnknownRead is the count of entries read if the count is unknown.
const UnknownRead = -1

// Group is a consumer group: its position, its consumers, and the entries that were delivered and not yet
// acknowledged. Like a stream's nodes it carries the epoch in which it was made; Stream.EditGroup returns a
// group for writing.
type Group struct {
	epoch *cow.Epoch
	stamp uint64

	name        string
	last        ID
	read        int64       // entries of the stream's whole history up to last, or UnknownRead
	pendingTree any         // see pendingOf
	timeTree    any         // see timesOf; nil until OrderByTime
	consumers   []*Consumer // by name
	byNumber    map[uint32]*Consumer
	number      uint32 // the number of the consumer that was added last
	hints
}

// pendingOf returns the tree of pending entries, by ID. nodesOf explains why the field has no type.
func pendingOf(g *Group) *btree.BTreeG[Pending] { return g.pendingTree.(*btree.BTreeG[Pending]) }

// timesOf returns the tree of pending entries, by the time of delivery, the earliest first.
func timesOf(g *Group) *btree.BTreeG[heldSince] { return g.timeTree.(*btree.BTreeG[heldSince]) }

// hints holds the positions of the last insertion and removal in a tree of pending entries. The next
// insertion or removal is usually beside it, which saves most of the search.
type hints struct{ given, acked btree.PathHint }

// Consumer is a member of a group.
type Consumer struct {
	name        string
	number      uint32 // Pending refers to the consumer by this number
	pendingTree any    // see ownOf
	hints
	// SeenMS is when the consumer last asked for entries, ActiveMS when it last got an entry (-1: never), in
	// milliseconds since 1970.
	SeenMS, ActiveMS int64
}

// ownOf returns the tree of the consumer's pending entries, by ID.
func ownOf(c *Consumer) *btree.BTreeG[ID] { return c.pendingTree.(*btree.BTreeG[ID]) }

// Pending is an entry that was delivered and not acknowledged. The entry itself may be deleted from the
// stream.
type Pending struct {
	ID          ID
	DeliveredMS int64 // milliseconds since 1970
	Deliveries  uint64
	consumer    uint32
}

// Deliver records another delivery of the entry. The count stays in the range that XCLAIM accepts from a log.
func (p *Pending) Deliver(nowMS int64) {
	p.DeliveredMS = nowMS
	p.Deliveries = min(p.Deliveries+1, math.MaxInt64)
}

func pendingLess(a, b Pending) bool { return a.ID.Less(b.ID) }

func newTree[T any](less func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: 16})
}

func newGroup(ep *cow.Epoch, name string, last ID, read int64) *Group {
	return &Group{epoch: ep, stamp: ep.Now(), name: name, last: last, read: read, pendingTree: newTree(pendingLess),
		byNumber: make(map[uint32]*Consumer)}
}

// clone returns a group for writing; g may still be read. There are few consumers, and their trees are shared
// until they are written.
func (g *Group) clone() *Group {
	c := *g
	c.stamp = g.epoch.Now()
	c.pendingTree = pendingOf(g).Copy()
	if g.timeTree != nil {
		c.timeTree = timesOf(g).Copy()
	}
	c.consumers = slices.Clone(g.consumers)
	c.byNumber = make(map[uint32]*Consumer, len(g.consumers))
	for i, one := range c.consumers {
		own := *one
		own.pendingTree = ownOf(one).Copy()
		c.consumers[i], c.byNumber[own.number] = &own, &own
	}
	return &c
}

// Groups returns the groups by name. The slice must not be changed.
func (s *Stream) Groups() []*Group { return s.groups }

// Group returns a group for reading, or nil.
func (s *Stream) Group(name []byte) *Group {
	if i, ok := s.findGroup(name); ok {
		return s.groups[i]
	}
	return nil
}

// EditGroup returns a group for writing, or nil.
func (s *Stream) EditGroup(name []byte) *Group {
	i, ok := s.findGroup(name)
	if !ok {
		return nil
	}
	if s.epoch.Shared(s.groups[i].stamp) {
		s.groups[i] = s.groups[i].clone()
	}
	return s.groups[i]
}

// CreateGroup adds a group that has read up to last, and reports whether the name was free. last is the
// read-th entry ever added; read may be UnknownRead.
func (s *Stream) CreateGroup(name []byte, last ID, read int64) bool {
	i, taken := s.findGroup(name)
	if !taken {
		s.groups = slices.Insert(s.groups, i, newGroup(s.epoch, string(name), last, read))
	}
	return !taken
}

// DestroyGroup removes a group and reports whether it existed.
func (s *Stream) DestroyGroup(name []byte) bool {
	i, ok := s.findGroup(name)
	if ok {
		s.groups = slices.Delete(s.groups, i, i+1)
	}
	return ok
}

func (s *Stream) findGroup(name []byte) (int, bool) {
	return slices.BinarySearchFunc(s.groups, name, func(g *Group, name []byte) int { return strings.Compare(g.name, string(name)) })
}

// Name returns the group's name.
func (g *Group) Name() string { return g.name }

// LastID returns the ID up to which entries were delivered.
func (g *Group) LastID() ID { return g.last }

// EntriesRead returns the position of LastID among all entries ever added, counted from 1, or UnknownRead.
func (g *Group) EntriesRead() int64 { return g.read }

// SetID sets the ID up to which entries were delivered, and its position among all entries (or UnknownRead).
func (g *Group) SetID(last ID, read int64) { g.last, g.read = last, read }

// PendingLen returns how many entries are pending.
func (g *Group) PendingLen() int { return pendingOf(g).Len() }

// Consumers returns the consumers by name. The slice must not be changed.
func (g *Group) Consumers() []*Consumer { return g.consumers }

// Consumer returns a consumer, or nil.
func (g *Group) Consumer(name []byte) *Consumer {
	if i, ok := g.findConsumer(name); ok {
		return g.consumers[i]
	}
	return nil
}

func (g *Group) findConsumer(name []byte) (int, bool) {
	return slices.BinarySearchFunc(g.consumers, name,
		func(c *Consumer, name []byte) int { return strings.Compare(c.name, string(name)) })
}

// AddConsumer adds a consumer. The name must be free.
func (g *Group) AddConsumer(name []byte, nowMS int64) *Consumer {
	i, taken := g.findConsumer(name)
	if taken {
		panic("stream: the consumer is there already")
	}
	g.number++
	c := &Consumer{name: string(name), number: g.number, SeenMS: nowMS, ActiveMS: -1,
		pendingTree: newTree(func(a, b ID) bool { return a.Less(b) })}
	g.consumers = slices.Insert(g.consumers, i, c)
	g.byNumber[c.number] = c
	return c
}

// RemoveConsumer removes a consumer with its pending entries, and returns the number of these entries. ok is
// false if the consumer does not exist.
func (g *Group) RemoveConsumer(name []byte) (pending int, ok bool) {
	i, ok := g.findConsumer(name)
	if !ok {
		return 0, false
	}
	c := g.consumers[i]
	ownOf(c).Scan(func(id ID) bool {
		if p, ok := pendingOf(g).Delete(Pending{ID: id}); ok {
			g.retime(&p, nil)
		}
		return true
	})
	g.consumers = slices.Delete(g.consumers, i, i+1)
	delete(g.byNumber, c.number)
	return ownOf(c).Len(), true
}

// SetPending makes p pending for consumer c of this group. It is removed from its previous consumer.
func (g *Group) SetPending(p Pending, c *Consumer) {
	p.consumer = c.number
	old, was := pendingOf(g).SetHint(p, &g.given)
	if g.timeTree != nil {
		if was {
			g.retime(&old, nil)
		}
		g.retime(nil, &p)
	}
	if was && old.consumer == c.number {
		return
	}
	if was {
		ownOf(g.Owner(old)).Delete(p.ID)
	}
	ownOf(c).SetHint(p.ID, &c.given)
}

// Acknowledge removes a pending entry and reports whether the entry was pending.
func (g *Group) Acknowledge(id ID) bool {
	p, ok := pendingOf(g).DeleteHint(Pending{ID: id}, &g.acked)
	if ok {
		if g.timeTree != nil {
			g.retime(&p, nil)
		}
		c := g.Owner(p)
		ownOf(c).DeleteHint(id, &c.acked)
	}
	return ok
}

// Pending returns the pending entry with an ID.
func (g *Group) Pending(id ID) (Pending, bool) { return pendingOf(g).Get(Pending{ID: id}) }

// Owner returns the consumer that has the pending entry p of this group.
func (g *Group) Owner(p Pending) *Consumer {
	c := g.byNumber[p.consumer]
	if c == nil {
		panic("stream: a pending entry of no consumer")
	}
	return c
}

// EachPending calls fn for the pending entries from start on, by ID, until fn returns false. fn must not
// change the group.
func (g *Group) EachPending(start ID, fn func(p Pending) bool) {
	pendingOf(g).Ascend(Pending{ID: start}, fn)
}

// PendingOf does what EachPending does, for one consumer of this group.
func (g *Group) PendingOf(c *Consumer, start ID, fn func(p Pending) bool) {
	ownOf(c).Ascend(start, func(id ID) bool {
		p, _ := g.Pending(id)
		return fn(p)
	})
}

// PendingEnds returns the least and the greatest pending ID, or zeros.
func (g *Group) PendingEnds() (first, last ID) {
	a, _ := pendingOf(g).Min()
	b, _ := pendingOf(g).Max()
	return a.ID, b.ID
}

// Name returns the consumer's name.
func (c *Consumer) Name() string { return c.name }

// PendingLen returns how many entries are pending for the consumer.
func (c *Consumer) PendingLen() int { return ownOf(c).Len() }

// Read records that the group got the entry id, which is above its last one: it advances LastID and
// EntriesRead. s is the group's stream.
func (g *Group) Read(s *Stream, id ID) {
	switch {
	case g.read != UnknownRead && !s.deletedSince(id):
		g.read++
	case s.added > 0:
		g.read = s.ordinal(id)
	}
	g.last = id
}

// Lag returns how many entries of the stream the group has not read yet; false if deletions make that
// unknown.
func (g *Group) Lag(s *Stream) (int64, bool) {
	if s.added == 0 {
		return 0, true
	}
	read := g.read
	if read == UnknownRead || s.deletedSince(g.last) {
		if read = s.ordinal(g.last); read == UnknownRead {
			return 0, false
		}
	}
	return int64(s.added) - read, true
}

// deletedSince reports whether an entry may have been deleted between id and the last entry.
func (s *Stream) deletedSince(id ID) bool {
	return s.length > 0 && !s.maxDeleted.IsZero() && !s.maxDeleted.Less(s.firstID) && !s.maxDeleted.Less(id)
}

// Ordinal returns the value of EntriesRead for a group with the last ID id, if it is not known otherwise.
func (s *Stream) Ordinal(id ID) int64 { return s.ordinal(id) }

// ordinal returns the position of id among all entries ever added, or the position that it would have. It
// returns UnknownRead if entries in between were deleted, because the position is then unknown without
// counting.
func (s *Stream) ordinal(id ID) int64 {
	added := int64(s.added)
	switch {
	case added == 0:
		return 0
	case s.length == 0 && !s.lastID.Less(id), id == s.lastID:
		return added
	case s.lastID.Less(id):
		return UnknownRead
	case !s.maxDeleted.IsZero() && !s.maxDeleted.Less(s.firstID):
		return UnknownRead
	case id.Less(s.firstID):
		return added - int64(s.length)
	case id == s.firstID:
		return added - int64(s.length) + 1
	}
	return UnknownRead
}
