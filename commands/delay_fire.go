package commands

import (
	"strconv"

	"lockserver/internal/keyevent"
	"lockserver/internal/recur"
	"lockserver/store"
)

const (
	// retryDelayMS is the time until the next attempt to add entries that cannot be added now. The reason is
	// a key of another type, or a rename of only one of the two keys so far.
	retryDelayMS = 1000
	// mostDelayBytes bounds the bytes that one batch moves to a stream, but for its first entry.
	mostDelayBytes = 256 << 10
)

// Firing holds the values and functions of the server for FireDelayed.
type Firing struct {
	// SinceMS is the time since which the server adds entries, in milliseconds since 1970. Times before
	// it were missed.
	SinceMS int64
	// Added is called for each entry that is added to a stream, with the time at which it was due.
	Added func(dueMS int64, recurs bool)
	// Skipped is called for each recurring entry that is put off to its next time, and not added.
	Skipped func()
}

// FireDelayed adds due entries to their streams, the earliest first, at most budget of them. It reports
// whether there may be more. The server calls it; c needs no session and no arguments, and its database
// changes.
func FireDelayed(c *Ctx, st *store.Store, budget int, f *Firing) (more bool) {
	var zones recur.Zones
	for budget > 0 {
		db, key, ok := st.DueSet(store.DelayAlarm, &budget)
		if !ok {
			return budget <= 0
		}
		c.DB = db
		budget -= fireAt(c, key, budget, f, &zones)
	}
	return true
}

// batch is a group of entries that is taken out of a sorted set at once: its first members.
type batch struct {
	key    []byte
	firing *Firing
	zones  *recur.Zones
	done   []dueEntry // the first members of the set, which are removed or moved
	// recurs: an entry in done is due again.
	recurs bool
}

// fireAt adds at most budget due entries of one sorted set, and returns the number of members that it has
// looked at, at least one. The additions, the removals and the next times are one unit.
func fireAt(c *Ctx, key []byte, budget int, f *Firing, zones *recur.Zones) (n int) {
	b := batch{key: key, firing: f, zones: zones}
	if !b.fire(c, budget) {
		c.DB.PutOff(key, c.NowMS()+retryDelayMS)
	}
	b.takeOut(c)
	return max(len(b.done), 1)
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
		switch {
		case e.fields == nil: // the set has a member without an entry
			b.done = append(b.done, e)
			continue
		case e.rule != nil && e.rule.compile(b.zones) != nil:
			return false
		}
		added := true
		if e.rule != nil {
			added, e.again = e.rule.step(e.dueMS, c.NowMS(), b.firing.SinceMS)
			b.recurs = b.recurs || e.again
		}
		if !added {
			b.firing.Skipped()
		} else if !b.add(c, streamKey, &e) {
			return false
		}
		b.done = append(b.done, e)
		if e.again && e.rule.atMS <= c.NowMS() {
			return true // it is due again, perhaps before the next entry
		}
	}
	return true
}

// add adds an entry to the stream; false if the stream takes no more.
func (b *batch) add(c *Ctx, streamKey []byte, e *dueEntry) bool {
	s, _ := c.streamToWrite(streamKey)
	id, err := nextStreamID(c, s)
	if err != nil {
		return false
	}
	fields := e.fields
	if e.rule != nil {
		fields = append(fields[:len(fields):len(fields)], []byte(dueField), strconv.AppendInt(nil, e.dueMS, 10))
	}
	edit := c.DB.EditStream(streamKey)
	edit.Add(id, fields)
	c.Notify(keyevent.Stream, "xadd", streamKey)
	b.firing.Added(e.dueMS, e.rule != nil)
	return true
}

// dueEntry is a due member, and the content of its field.
type dueEntry struct {
	member, id []byte
	place      int64
	dueMS      int64
	fields     [][]byte   // nil: there is no such field, or it belongs to another member
	rule       *delayRule // nil: the entry does not recur
	again      bool       // it is due again, at rule.atMS
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
		e.member = Clone(member)
		place, id, ok := parseMember(e.member)
		if ok {
			e.id, e.place = id, place
			if value, has := d.entries.Get(nil, e.id); has {
				value = Clone(value)
				bytes += len(value)
				e.read(value)
			}
		}
		list = append(list, e)
		return true
	})
	return list
}

// read reads the value of the entry's field.
func (e *dueEntry) read(value []byte) {
	place, rule, fields, ok := parseEntry(nil, value)
	if !ok || place != e.place {
		return
	}
	if rule != nil {
		if e.rule, ok = parseRule(rule); !ok {
			return
		}
	}
	e.fields = fields
}

// takeOut removes the entries that were added from the two keys of the stream, and moves those that are due
// again to their next times.
func (b *batch) takeOut(c *Ctx) {
	if len(b.done) == 0 {
		return
	}
	set := c.DB.EditZSet(b.key)
	if !b.recurs {
		set.RemoveRange(0, len(b.done))
	}
	key := entriesKey(c, delayedStream(b.key))
	entries := c.DB.EditHash(key)
	removed, deleted := false, false
	for i := range b.done {
		e := &b.done[i]
		if e.again {
			place := moveOn(&set, e)
			entries.Update(e.id, appendEntry(nil, place, e.rule.appendRule(nil), e.fields))
			continue
		}
		if b.recurs {
			set.Remove(e.member)
		}
		removed = true
		if e.fields != nil {
			// plant:delay-take-out
			entries.Delete(e.id)
			deleted = true
		}
	}
	if b.recurs {
		c.Notify(keyevent.ZSet, "zadd", b.key)
		c.Notify(keyevent.Hash, "hset", key)
	}
	if removed {
		c.NotifyTaken(keyevent.ZSet, "zrem", b.key, set.ZSet() == nil)
	}
	if deleted {
		c.NotifyTaken(keyevent.Hash, "hdel", key, entries.Hash() == nil)
	}
}

// moveOn makes an entry due at its next time, as the last of that time, and returns its place.
func moveOn(set *store.ZSetEdit, e *dueEntry) (place int64) {
	place, err := nextPlace(set.ZSet(), e.rule.atMS)
	if err != nil {
		place = 0
	}
	member := appendMember(nil, place, e.id)
	set.Set(member, float64(e.rule.atMS))
	if place != e.place {
		set.Remove(e.member)
	}
	return place
}
