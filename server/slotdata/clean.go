package slotdata

import "lockserver/store"

// Cleaning deletes the keys of slots from the data of a shard that has dropped them. The leader of the shard
// does that, in units of its log, so all members have the same data at each entry. A new leader begins a
// Cleaning from the start. The leader writes drop when Step has returned true.
//
// Other keys may be written between two steps. Clients write no keys of the slots any more, but what falls
// due there may: a delayed entry makes its stream again if that was deleted first. So a cleaning goes over
// all keys until it has found no key of the slots.
type Cleaning struct {
	slots  *Slots
	data   *store.Store
	cursor uint64
	found  bool // a key of the slots, since the cursor was 0
}

// NewCleaning returns a cleaning that has deleted no key yet.
func NewCleaning(data *store.Store, slots *Slots) *Cleaning {
	return &Cleaning{slots: slots, data: data}
}

// Step looks at up to most keys, deletes those of the slots, and reports whether no key of the slots is left.
// A deletion is an effect of the running unit.
func (c *Cleaning) Step(most int) (done bool) {
	c.data.SetFrozenTime(true) // an overdue key is deleted, too
	defer c.data.SetFrozenTime(false)
	var gone [][]byte
	db := c.data.DB(0)
	c.cursor = db.Keys().Scan(c.cursor, most, func(name string, _ store.Ref) {
		if key := []byte(name); c.slots.Has(key) {
			gone = append(gone, key)
		}
	})
	for _, key := range gone {
		db.Delete(key)
	}
	c.found = c.found || len(gone) > 0
	if c.cursor != 0 {
		return false
	}
	done = !c.found
	c.found = false
	return done
}
