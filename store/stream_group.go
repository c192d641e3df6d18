package store

import (
	"strconv"

	"lockserver/store/stream"
)

// GroupEdit writes to one consumer group of a stream. It records the commands that Redis sends to its
// replicas: XGROUP, XCLAIM with all options, and XACK. The time when a consumer was last seen is not
// recorded.
type GroupEdit struct {
	e    StreamEdit // no pointer: a pointer would put each StreamEdit on the heap, in a program that is built with a profile
	name []byte
	g    *stream.Group
}

// EditGroup opens a consumer group for writing; false if it does not exist.
func (e *StreamEdit) EditGroup(name []byte) (GroupEdit, bool) {
	if e.s == nil {
		return GroupEdit{}, false
	}
	g := e.s.EditGroup(name)
	return GroupEdit{*e, name, g}, g != nil
}

// Create makes the stream if there is no stream.
func (e *StreamEdit) Create() {
	if e.s != nil {
		return
	}
	e.s = stream.New(e.db.store.values)
	var v value
	v.setStream(e.s)
	e.db.put(e.key, v)
}

// CreateGroup adds a group that has read up to the entry last. read is the number of entries added up to it,
// or stream.UnknownRead. It creates the stream if necessary, and reports whether the group is new.
func (e *StreamEdit) CreateGroup(name []byte, last stream.ID, read int64) bool {
	made := e.s == nil
	e.Create()
	if !e.s.CreateGroup(name, last, read) {
		return false
	}
	e.db.space.charge(e.s.Group(name).Size())
	e.recordGroup("CREATE", name, last.AppendTo(nil), []byte("MKSTREAM"), []byte("ENTRIESREAD"), appendInt(nil, read))
	if made {
		e.db.tell(e.key)
	}
	return true
}

// DestroyGroup removes a group and reports whether it existed. Clients that wait for its entries are woken.
func (e *StreamEdit) DestroyGroup(name []byte) bool {
	if e.s == nil {
		return false
	}
	g := e.s.Group(name)
	if g == nil {
		return false
	}
	e.db.space.charge(-g.Size())
	e.s.DestroyGroup(name)
	e.recordGroup("DESTROY", name)
	if o := e.db.store.observer; o != nil {
		o.KeyReady(e.db.id, e.key)
	}
	return true
}

// recordGroup records an XGROUP.
func (e *StreamEdit) recordGroup(what string, name []byte, args ...[]byte) {
	e.db.store.dirty++
	if e.db.store.effects != nil {
		e.db.store.record(e.db, "XGROUP", append([][]byte{[]byte(what), e.key, name}, args...)...)
	}
}

// charge updates the used memory after a change of the group. was is its size before the change.
func (e *GroupEdit) charge(was int) { e.e.db.space.charge(e.g.Size() - was) }

// Group returns the group to read.
func (e *GroupEdit) Group() *stream.Group { return e.g }

// Stream returns the group's stream to read.
func (e *GroupEdit) Stream() *stream.Stream { return e.e.s }

// SetID sets the last delivered entry. read is the number of entries added up to it, or stream.UnknownRead.
func (e *GroupEdit) SetID(last stream.ID, read int64) {
	e.g.SetID(last, read)
	e.recordID()
}

func (e *GroupEdit) recordID() {
	e.e.recordGroup("SETID", e.name, e.g.LastID().AppendTo(nil), []byte("ENTRIESREAD"), appendInt(nil, e.g.EntriesRead()))
}

// Consumer returns the consumer of that name, and adds it if it does not exist.
func (e *GroupEdit) Consumer(name []byte) (c *stream.Consumer, added bool) {
	if c = e.g.Consumer(name); c != nil {
		return c, false
	}
	e.e.recordGroup("CREATECONSUMER", e.name, name)
	was := e.g.Size()
	c = e.g.AddConsumer(name, e.e.db.store.nowMS)
	e.charge(was)
	return c, true
}

// RemoveConsumer removes a consumer with all its pending entries, and returns the number of these entries.
func (e *GroupEdit) RemoveConsumer(name []byte) int {
	was := e.g.Size()
	n, ok := e.g.RemoveConsumer(name)
	e.charge(was)
	if ok {
		e.e.recordGroup("DELCONSUMER", e.name, name)
	}
	return n
}

// Deliver makes an entry pending for a consumer of the group.
func (e *GroupEdit) Deliver(p stream.Pending, c *stream.Consumer) {
	was := e.g.Size()
	e.g.SetPending(p, c)
	e.charge(was)
	s := e.e.db.store
	s.dirty++
	if s.effects != nil {
		s.record(e.e.db, "XCLAIM", e.e.key, e.name, []byte(c.Name()), []byte("0"), p.ID.AppendTo(nil),
			[]byte("TIME"), appendInt(nil, p.DeliveredMS), []byte("RETRYCOUNT"), strconv.AppendUint(nil, p.Deliveries, 10),
			[]byte("FORCE"), []byte("JUSTID"))
	}
}

// ByTime prepares the group for visiting its pending entries in the order of their delivery.
func (e *GroupEdit) ByTime() {
	was := e.g.Size()
	e.g.OrderByTime()
	e.charge(was)
}

// Release takes a pending entry from its consumer. It is then pending for the consumer without a name,
// delivered at time 0. A client that waits for the stream may claim it at once.
func (e *GroupEdit) Release(p stream.Pending) {
	unowned, _ := e.Consumer(nil)
	p.DeliveredMS = 0
	e.Deliver(p, unowned)
	if o := e.e.db.store.observer; o != nil {
		o.KeyReady(e.e.db.id, e.e.key)
	}
}

// Read records that the group got the entries with these ascending IDs, which follow its last delivered
// entry.
func (e *GroupEdit) Read(ids []stream.ID) {
	if len(ids) == 0 {
		return
	}
	for _, id := range ids {
		e.g.Read(e.e.s, id)
	}
	e.recordID()
}

// Acknowledge makes an entry no longer pending and reports whether it was pending.
func (e *GroupEdit) Acknowledge(id stream.ID) bool {
	was := e.g.Size()
	if !e.g.Acknowledge(id) {
		return false
	}
	e.charge(was)
	s := e.e.db.store
	s.dirty++
	if s.effects != nil {
		s.record(e.e.db, "XACK", e.e.key, e.name, id.AppendTo(nil))
	}
	return true
}
