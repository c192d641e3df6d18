package hash

import "unsafe"

// The deadlines of fields are milliseconds since 1970, greater than 0. This package only stores them; the
// store removes the fields that are due. A field that is set keeps its deadline; Delete removes it too.

// Deadline returns when a field expires; 0 if it has no deadline, or the field does not exist.
func (h *Hash) Deadline(field []byte) int64 {
	if t := h.times(); t != nil {
		return t.get(viewOf(field))
	}
	return 0
}

// SetDeadline sets the deadline of a field and reports whether the field exists. It assumes that the owner of
// the hash may not have written the field's value: see Mixed.
func (e *Edit) SetDeadline(field []byte, atMS int64) bool {
	ok := e.SetDeadlineIn(field, atMS, nil)
	if ok {
		e.SetMixed()
	}
	return ok
}

// SetDeadlineIn does what SetDeadline does, for a field that the owner of the hash has written. It uses
// memory from spare, which may be nil.
func (e *Edit) SetDeadlineIn(field []byte, atMS int64, spare *Spare) bool {
	e.mustOwn()
	name := ""
	switch {
	case e.table() == nil && smallFind(e.lp(), field) < 0:
		return false
	case e.table() == nil && e.times() == nil:
		name = e.unpackIn(spare.take()).times.first(field)
	case e.table() == nil:
		name = string(field)
	default:
		if e.slot(field) < 0 {
			return false
		}
		name = string(field) // a view of the table's key would keep alive a value that is replaced later
		e.AllowDeadlines()
	}
	e.times().set(name, atMS)
	return true
}

// AllowDeadlines gives the hash the form of a hash with deadlines of fields.
func (e *Edit) AllowDeadlines() {
	e.mustOwn()
	if f := e.unpack(); f.times == nil {
		f.times = &times{}
	}
}

// Persist removes a field's deadline and reports whether it had a deadline.
func (e *Edit) Persist(field []byte) bool {
	e.mustOwn()
	t := e.times()
	return t != nil && t.remove(viewOf(field))
}

// Place moves a field of a small hash with deadlines to its place in Redis: before the first field with the
// same or a later deadline. A field without a deadline goes to the end.
func (e *Edit) Place(field []byte) {
	t := e.times()
	if e.mustOwn(); t == nil || e.table() != nil {
		return
	}
	lp := e.lp()
	pos := smallFind(lp, field)
	if pos < 0 {
		return
	}
	end := len(lp) - 1
	behind := func(pos int) int { // the pair at pos
		if pos = lp.Next(lp.Next(pos)); pos < 0 {
			return end
		}
		return pos
	}
	to := end
	if atMS := t.get(viewOf(field)); atMS != 0 {
		to = lp.First()
		for n := t.before(atMS); n > 0 && to != end; {
			if to != pos {
				n--
			}
			to = behind(to)
		}
	}
	if to != pos && to != behind(pos) {
		lp.Move(pos, 2, to)
	}
}

// FirstDeadline returns the field that expires first; ok is false if no field has a deadline. It must not be
// called on a header that a snapshot holds.
func (h *Hash) FirstDeadline() (field string, atMS int64, ok bool) {
	t := h.times()
	if t == nil {
		return "", 0, false
	}
	e, ok := t.earliest()
	return e.field, e.atMS, ok
}

// LastDeadline returns the latest of the deadlines; 0 if no field has a deadline. It must not be called on a
// header that a snapshot holds.
func (h *Hash) LastDeadline() int64 {
	t := h.times()
	if t == nil {
		return 0
	}
	e, _ := t.latest()
	return e.atMS
}

// AllOverdue reports whether every field has a deadline at or before pastMS. It must not be called on a
// header that a snapshot holds.
func (h *Hash) AllOverdue(pastMS int64) bool {
	t := h.times()
	if t == nil || t.len() < h.Len() {
		return false
	}
	e, ok := t.latest()
	return ok && e.atMS <= pastMS
}

// EachTimed calls fn like Each, with the field's deadline, or 0.
func (h *Hash) EachTimed(fn func(field, value []byte, atMS int64) bool) {
	if h.Timed() == 0 {
		h.Each(func(field, value []byte) bool { return fn(field, value, 0) })
		return
	}
	t := h.times()
	h.Each(func(field, value []byte) bool { return fn(field, value, t.get(viewOf(field))) })
}

// LeastDeadline returns the least of the deadlines, or 0; O(Timed).
func (h *Hash) LeastDeadline() int64 {
	least := int64(0)
	if t := h.times(); t != nil {
		t.each(func(_ string, atMS int64) {
			if least == 0 || atMS < least {
				least = atMS
			}
		})
	}
	return least
}

// Copy returns a hash with the same fields, values and deadlines that shares nothing with h.
func (h *Hash) Copy(c *Common, name []byte, lim Limits) *Hash {
	e := New(c, name, len(h.lp()))
	h.Each(func(field, value []byte) bool {
		e.Set(lim, field, value)
		return true
	})
	if t := h.times(); t != nil {
		e.AllowDeadlines()
		t.each(func(field string, atMS int64) { e.SetDeadline(bytesOf(field), atMS) })
	}
	return e.Hash
}

// Alarm returns the value that SetAlarm has attached to the hash, or nil.
func (h *Hash) Alarm() any {
	if t := h.times(); t != nil {
		return t.alarm
	}
	return nil
}

// SetAlarm attaches a value of the owner to a hash that has a field with a deadline. It may be called on any
// header, because no snapshot reads the value.
func (h *Hash) SetAlarm(a any) { h.times().alarm = a }

// Quiet returns the last value given to SetQuiet.
func (h *Hash) Quiet() bool {
	t := h.times()
	return t != nil && t.quiet
}

// SetQuiet records for the owner that the deadlines need no alarm. It may be called on any header, like
// SetAlarm.
func (h *Hash) SetQuiet(on bool) { h.times().quiet = on }

// Mixed reports whether a field with a deadline may hold a value that the owner of the hash has not written.
func (h *Hash) Mixed() bool {
	t := h.times()
	return t != nil && t.mixed
}

// SetMixed records that a client wrote a field with a deadline directly. It does nothing for a hash without
// deadlines.
func (e *Edit) SetMixed() {
	if t := e.times(); t != nil {
		t.mixed = true
	}
}

// viewOf returns b as a string without a copy. b must not change while the string is used.
func viewOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Tally holds sums that the owner of a hash has computed from its values, so that it need not compute them
// again. It belongs to a hash with deadlines. Every change of a value drops it; a caller that knows the
// change attaches it again.
type Tally struct {
	// Sum is the sum of the numbers in the values.
	Sum int64
	// Holders is the number of values that add to Sum.
	Holders int
	// Fields holds the fields by a number in their values; nil means that nothing was looked up yet.
	Fields map[int64]string
}

// Tally returns the tally that SetTally has attached, or nil if the hash has changed since.
func (h *Hash) Tally() *Tally {
	if t := h.times(); t != nil {
		return t.tally()
	}
	return nil
}

// SetTally attaches a tally to a hash in which a field has had a deadline; otherwise it does nothing. It may
// be called on any header, because no snapshot reads the tally.
func (h *Hash) SetTally(tally *Tally) {
	if t := h.times(); t != nil {
		t.setTally(tally)
	}
}

// dropTally must be called before a value changes.
func (e *Edit) dropTally() {
	if t := e.times(); t != nil {
		t.setTally(nil)
	}
}
