package hash

import "unsafe"

// The deadlines of fields are milliseconds since 1970, greater than 0. This package only keeps
// them: that a field whose time has come is removed, is the store's business. A field that is set
// keeps its deadline; Delete takes it along.

// Timed returns how many fields have a deadline.
func (h *Hash) Timed() int {
	if h.times == nil {
		return 0
	}
	return h.times.len()
}

// Deadline returns when a field dies; 0 if it has no deadline, or there is no such field.
func (h *Hash) Deadline(field []byte) int64 {
	if h.times == nil {
		return 0
	}
	return h.times.get(viewOf(field))
}

// SetDeadline makes a field die at atMS and reports whether there is such a field.
func (h *Hash) SetDeadline(field []byte, atMS int64) bool { return h.SetDeadlineIn(field, atMS, nil) }

// SetDeadlineIn is SetDeadline that takes what it needs from what others have left; nil: nothing is.
func (h *Hash) SetDeadlineIn(field []byte, atMS int64, spare *Spare) bool {
	h.mustOwn()
	name := ""
	switch {
	case h.table() == nil && smallFind(h.lp(), field) < 0:
		return false
	case h.table() == nil && h.times == nil:
		h.times = spare.take()
		name = h.times.first(field)
	case h.table() == nil:
		name = string(field)
	default:
		slot := h.slot(field)
		if slot < 0 {
			return false
		}
		name, _ = h.table().At(slot)
		h.AllowDeadlines()
	}
	h.times.set(name, atMS)
	return true
}

// AllowDeadlines gives the hash the form of one of which a field had a deadline.
func (h *Hash) AllowDeadlines() {
	h.mustOwn()
	if h.times == nil {
		h.times = &times{}
	}
}

// Persist takes a field's deadline away and reports whether it had one.
func (h *Hash) Persist(field []byte) bool {
	h.mustOwn()
	return h.times != nil && h.times.remove(viewOf(field))
}

// FirstDeadline returns the field that dies first; false if none has a deadline. It is not
// for headers that a snapshot holds.
func (h *Hash) FirstDeadline() (field string, atMS int64, ok bool) {
	if h.times == nil {
		return "", 0, false
	}
	e, ok := h.times.earliest()
	return e.field, e.atMS, ok
}

// AllOverdue reports whether every field has a deadline that is at or before nowMS. It is not
// for headers that a snapshot holds.
func (h *Hash) AllOverdue(nowMS int64) bool {
	if h.times == nil || h.times.len() < h.Len() {
		return false
	}
	e, ok := h.times.latest()
	return ok && e.atMS <= nowMS
}

// EachTimed is Each with the field's deadline, 0 if it has none.
func (h *Hash) EachTimed(fn func(field, value []byte, atMS int64) bool) {
	if h.Timed() == 0 {
		h.Each(func(field, value []byte) bool { return fn(field, value, 0) })
		return
	}
	h.Each(func(field, value []byte) bool { return fn(field, value, h.times.get(viewOf(field))) })
}

// LeastDeadline returns the least of the deadlines, 0 if there is none; O(Timed).
func (h *Hash) LeastDeadline() int64 {
	least := int64(0)
	if h.times != nil {
		h.times.each(func(_ string, atMS int64) {
			if least == 0 || atMS < least {
				least = atMS
			}
		})
	}
	return least
}

// Copy returns a hash with the same fields, values and deadlines that shares nothing with h.
func (h *Hash) Copy(lim Limits) *Hash {
	c := New(h.common)
	h.Each(func(field, value []byte) bool {
		c.Set(lim, field, value)
		return true
	})
	if h.times != nil {
		c.times = &times{}
		h.times.each(func(field string, atMS int64) { c.SetDeadline(bytesOf(field), atMS) })
	}
	return c
}

// Alarm returns what SetAlarm has hung on the hash, nil if nothing.
func (h *Hash) Alarm() any {
	if h.times == nil {
		return nil
	}
	return h.times.alarm
}

// SetAlarm hangs something of the owner's on a hash of which a field has a deadline. It may be called
// on any header; no snapshot reads it.
func (h *Hash) SetAlarm(a any) { h.times.alarm = a }

// Quiet reports what SetQuiet has said last.
func (h *Hash) Quiet() bool { return h.times != nil && h.times.quiet }

// SetQuiet notes for the owner that the deadlines need no alarm. It may be called as SetAlarm may.
func (h *Hash) SetQuiet(on bool) { h.times.quiet = on }

// viewOf returns b as a string that is only read while b stays as it is.
func viewOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
