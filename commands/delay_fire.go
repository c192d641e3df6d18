package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
)

const (
	// retryDelayMS is the time until the next attempt to add entries that cannot be added now. The reason is
	// a key of another type, or a rename of only one of the two keys so far.
	retryDelayMS = 1000
	// mostDelayBytes bounds the bytes that one batch moves to a stream, but for its first entry.
	mostDelayBytes = 256 << 10
)

// FireDelayed adds due entries to their streams, the earliest first, at most budget of them. It calls fired
// for each, with the time at which it was due. It reports whether there may be more. The server calls it; c
// needs no session and no arguments, and its database changes.
func FireDelayed(c *Ctx, st *store.Store, budget int, fired func(dueMS int64)) (more bool) {
	for budget > 0 {
		db, key, ok := st.DueSet(store.DelayAlarm, &budget)
		if !ok {
			return budget <= 0
		}
		c.DB = db
		budget -= fireAt(c, key, budget, fired)
	}
	return true
}

// batch is a group of entries that is taken out of a sorted set at once: its first members.
type batch struct {
	key     []byte
	members int      // the number of the set's first members that are removed
	ids     [][]byte // of the entries that were added to the stream
	fired   func(dueMS int64)
}

// fireAt adds at most budget due entries of one sorted set, and returns the number of members that it has
// looked at, at least one. The additions and the removals are one unit.
func fireAt(c *Ctx, key []byte, budget int, fired func(dueMS int64)) (n int) {
	b := batch{key: key, fired: fired}
	if !b.fire(c, budget) {
		c.DB.PutOff(key, c.NowMS()+retryDelayMS)
	}
	b.takeOut(c)
	return max(b.members, 1)
}

// fire adds the entries to the stream; false if something prevents it.
func (b *batch) fire(c *Ctx, budget int) bool {
	streamKey := delayedStream(b.key)
	d, err := findDelays(c, streamKey, c.DB.FindToWrite)
	if err != nil || d.set == nil || d.entries == nil {
		return false
	}
	if _, err := c.streamToWrite(streamKey); err != nil {
		return false
	}
	for _, e := range d.due(c.NowMS(), budget) {
		if e.fields == nil {
			b.members++ // the set has a member without an entry
			continue
		}
		s, _ := c.streamToWrite(streamKey)
		id, err := nextStreamID(c, s)
		if err != nil {
			return false
		}
		edit := c.DB.EditStream(streamKey)
		edit.Add(id, e.fields)
		c.Notify(keyevent.Stream, "xadd", streamKey)
		b.members++
		b.ids = append(b.ids, e.id)
		b.fired(e.dueMS)
	}
	return true
}

// dueEntry is a due member, and the content of its field.
type dueEntry struct {
	id     []byte
	dueMS  int64
	fields [][]byte // nil: there is no such field, or it belongs to another member
}

// due returns copies of at most budget members that are due, in their order.
func (d *delays) due(nowMS int64, budget int) (list []dueEntry) {
	bytes := 0
	d.set.Range(0, min(budget, d.set.Len()), func(member []byte, score float64) bool {
		e := dueEntry{dueMS: store.DueMS(score)}
		// plant:delay-due
		if e.dueMS > nowMS || bytes > mostDelayBytes {
			return false
		}
		place, id, ok := parseMember(member)
		if ok {
			e.id = Clone(id)
			if value, has := d.entries.Get(nil, e.id); has {
				value = Clone(value)
				bytes += len(value)
				if own, fields, ok := parseEntry(nil, value); ok && own == place {
					e.fields = fields
				}
			}
		}
		list = append(list, e)
		return true
	})
	return list
}

// takeOut removes the added entries from the two keys of the stream.
func (b *batch) takeOut(c *Ctx) {
	if b.members == 0 {
		return
	}
	set := c.DB.EditZSet(b.key)
	set.RemoveRange(0, b.members)
	c.NotifyTaken(keyevent.ZSet, "zrem", b.key, set.ZSet() == nil)
	if len(b.ids) == 0 {
		return
	}
	key := entriesKey(c, delayedStream(b.key))
	entries := c.DB.EditHash(key)
	for _, id := range b.ids {
		// plant:delay-take-out
		entries.Delete(id)
	}
	c.NotifyTaken(keyevent.Hash, "hdel", key, entries.Hash() == nil)
}
