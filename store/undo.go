package store

// While undo is on, the store can go back to an earlier moment: the beginning of one of two periods. A caller
// begins one period after the other (Advance), as its changes become final. Only the latest two periods
// are kept.
//
// Before a key changes, its value and deadline are recorded with its name. A container is not copied for
// that. At the beginning of a period all containers become shared, as with a cut (package cow). But they have
// a clock of their own (Store.values), because the chunks of the keyspace are written in place. So the first
// write to a container in a period clones it, and the recorded value keeps the former state. The earliest
// record of a key in a period is therefore the key at the beginning of the period. Later records may have
// values that were changed in place since.
//
// A database that is emptied gets another space, and the one before stays as it was for as long as it can be
// undone.

// preimage is a key before its change.
type preimage struct {
	space *space
	key   string
	was   bool // the key existed; the other fields describe it
	v     value
	atMS  int64
	// cloned says that a clone has replaced the container. The rest of the container can only be read from
	// one end to the other.
	cloned bool
}

// period holds the changes since a moment.
type period struct {
	keys   []preimage
	larger []func() // each takes back one change of a whole database, or of something outside the databases
	freed  int      // bytes that are no part of Used any more, and that the period keeps
	lost   bool     // something has changed that cannot be undone
}

// mostStamp is the last epoch in which undo works. The stamps of small containers have 31 bits.
const mostStamp = 1<<31 - 1<<16

// undo is the latest two periods, the earlier one first. The caller bounds them: see Undoing.Size.
type undo struct{ periods [2]period }

// Undoing turns undo on and off, and goes back.
type Undoing struct{ store *Store }

// Undo returns the door to undo.
func (s *Store) Undo() Undoing { return Undoing{s} }

// Begin begins the first period.
func (u Undoing) Begin() {
	u.End()
	u.store.values.Cut()
	u.store.undo = &undo{}
	u.store.undo.periods[1].lost = u.cannotBegin()
}

// Enable decides whether changes can be undone from now on: Begin alone does not suffice without that.
// It is on in a new store.
func (u Undoing) Enable(on bool) {
	if u.store.noUndo = !on; u.store.undo != nil && !on {
		u.store.undo.periods[1].forget()
	}
}

// cannotBegin reports whether nothing can be undone in a period that begins now.
func (u Undoing) cannotBegin() bool { return u.store.noUndo || u.store.values.Now() > mostStamp }

// Size returns the number of changes in the last period, and the bytes that it keeps of what was removed.
// Neither has a limit here.
func (u Undoing) Size() (changes, bytes int) {
	if u.store.undo == nil {
		return 0, 0
	}
	now := &u.store.undo.periods[1]
	return len(now.keys), now.freed
}

// End turns undo off.
func (u Undoing) End() {
	if u.store.undo != nil {
		u.store.undo = nil
		u.store.values.Release()
	}
}

// Advance ends a period and begins another one. Changes before the last period can no longer be undone.
// No edit may be open.
func (u Undoing) Advance() {
	undo := u.store.undo
	if undo == nil {
		return
	}
	spare := undo.periods[0].keys
	if cap(spare) > mostSparePreimages {
		spare = nil
	}
	clear(spare)
	undo.periods[0], undo.periods[1] = undo.periods[1], period{keys: spare[:0], lost: u.cannotBegin()}
	if !undo.periods[1].lost {
		u.store.values.Advance()
	}
}

// mostSparePreimages is the size of the largest list that is kept for the next period.
const mostSparePreimages = 1 << 14

// Back restores all keys as they were at the beginning of the last period, or with both of the period before
// it. Nothing is recorded or reported, and tokens do not fall. It turns undo off. It returns false, and does
// nothing, if a change cannot be undone.
func (u Undoing) Back(both bool) bool {
	s := u.store
	if s.undo == nil {
		return false
	}
	undone := s.undo.periods[1:]
	if both {
		undone = s.undo.periods[:]
	}
	for i := range undone {
		if undone[i].lost {
			return false
		}
	}
	u.End()
	effects, dirty := s.effects, s.dirty
	s.effects = nil
	defer func() { s.effects, s.dirty = effects, dirty }()
	for i := len(undone) - 1; i >= 0; i-- {
		for n := len(undone[i].larger) - 1; n >= 0; n-- {
			undone[i].larger[n]()
		}
	}
	type place struct {
		space *space
		key   string
	}
	total := 0
	for i := range undone {
		total += len(undone[i].keys)
	}
	first, cloned := make(map[place]bool, total), make(map[value]bool)
	order := make([]*preimage, 0, total)
	for i := range undone {
		for n := range undone[i].keys {
			p := &undone[i].keys[n]
			if p.space.db.space != p.space { // of a database that took the place of one that was emptied
				continue
			}
			if p.cloned {
				cloned[p.v.bare()] = true
			}
			if at := (place{p.space, p.key}); !first[at] {
				first[at] = true
				order = append(order, p)
			}
		}
	}
	for _, p := range order { // a string is in no queue: it can come back at once, and the table does not shrink
		if p.remove(); p.was && p.v.tag() == String {
			p.put()
		}
	}
	for _, p := range order {
		if p.was && p.v.tag() != String {
			if cloned[p.v.bare()] {
				access := p.v.access
				p.v = p.v.copy(&s.containers, []byte(p.key))
				p.v.access = access
			}
			p.put()
		}
	}
	return true
}

// remove removes the present key from its space.
func (p *preimage) remove() {
	sp := p.space
	h := sp.keys.HashString(p.key)
	if slot := sp.keys.FindString(h, p.key); slot >= 0 {
		sp.forget(slot)
		sp.delete(h, slot)
	}
}

// put puts the key back. The key must be in no queue.
func (p *preimage) put() {
	sp, key := p.space, []byte(p.key)
	p.v.unqueued()
	slot := sp.insert(sp.keys.HashString(p.key), key, p.v)
	sp.markToken(slot)
	if p.atMS != 0 {
		sp.setDeadline(slot, p.atMS)
	}
	sp.remember(slot)
	sp.watchAlarm(key, &p.v)
}

// unqueued says that no queue has the value.
func (v *value) unqueued() {
	switch v.tag() {
	case Hash:
		if h := v.hash(); h.Timed() > 0 || alarmOf(h) != nil || h.Quiet() {
			h.SetAlarm(nil)
			h.SetQuiet(false)
			h.SetTally(nil)
		}
	case Stream:
		if producers := v.stream().Producers(); producers != nil {
			producers.SetAlarm((*deadline)(nil))
		}
	}
}

// undoDrop returns a function that gives the database the space back that it has now, and is about to lose.
// It visits all keys if any key is in a queue of the store.
func (db *DB) undoDrop() func() {
	sp, used := db.space, db.space.used
	queued := sp.timedHashes > 0 || sp.remembering > 0
	for kind := range sp.alarms {
		queued = queued || len(sp.alarms[kind]) > 0
	}
	return func() {
		db.space.unhook()
		db.attach(sp)
		sp.charge(used)
		s := db.store
		s.soonestMS = min(s.soonestMS, sp.bounds.FirstMS())
		s.eviction.pool = nil
		if !queued {
			return
		}
		sp.timedHashes, sp.queuedHashes, sp.sharers, sp.remembering = 0, 0, 0, 0
		for slot := range sp.keys.Len() {
			key, v := sp.keys.At(slot)
			v.unqueued()
			sp.remember(slot)
			sp.watchAlarm([]byte(key), v)
		}
	}
}

// leastHeld is from how many bytes on Holds reports memory.
const leastHeld = 1 << 20

// Holds reports whether much memory is kept of what was removed, so that this can be undone.
func (u Undoing) Holds() bool {
	return u.store.undo != nil && u.store.undo.periods[0].freed+u.store.undo.periods[1].freed >= leastHeld
}

// undoBy says how to take back a change that is not one of keys.
func (s *Store) undoBy(back func()) {
	if s.undo == nil {
		return
	}
	if now := &s.undo.periods[1]; !now.lost {
		now.larger = append(now.larger, back)
	}
}

// record appends a preimage to the present period.
func (u *undo) record(p preimage) {
	if now := &u.periods[1]; !now.lost {
		now.keys = append(now.keys, p)
	}
}

// forget says that the period cannot be undone.
func (p *period) forget() { *p = period{lost: true} }

// keep records the key of a slot that has a value.
func (u *undo) keep(sp *space, slot int) {
	key, v, atMS := sp.keys.Sided(slot)
	u.record(preimage{space: sp, key: key, was: true, v: *v, atMS: atMS})
}

// keepOwned is keep for a slot with a container that has just been cloned.
func (u *undo) keepOwned(sp *space, slot int, was value) {
	key, _, atMS := sp.keys.Sided(slot)
	u.record(preimage{space: sp, key: key, was: true, v: was, atMS: atMS, cloned: true})
}

// keepAbsent records that the key of a slot was not there.
func (u *undo) keepAbsent(sp *space, slot int) {
	key, _ := sp.keys.At(slot)
	u.record(preimage{space: sp, key: key})
}

// cannotUndo marks a change that is not recorded.
func (s *Store) cannotUndo() {
	if s.undo != nil {
		s.undo.periods[1].forget()
	}
}
