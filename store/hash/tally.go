package hash

// Tally is what the owner of a hash has counted in its values, so that it need not count again. It belongs to
// a hash with deadlines. Every change of a value drops it; a caller that knows the change attaches it again.
type Tally struct {
	// Sum is the sum of the numbers that the values count.
	Sum int64
	// Fields are the fields by a number that their values hold; nil: nothing has been looked up yet.
	Fields map[int64]string
}

// Tally returns what SetTally has attached, nil if the hash has changed since, or there is none.
func (h *Hash) Tally() *Tally {
	if t := h.times(); t != nil {
		return t.tally
	}
	return nil
}

// SetTally attaches a tally to a hash in which a field has had a deadline; to any other it does nothing. It
// may be called on any header: no snapshot reads it.
func (h *Hash) SetTally(tally *Tally) {
	if t := h.times(); t != nil {
		t.tally = tally
	}
}

// dropTally is called before a value changes.
func (e *Edit) dropTally() {
	if t := e.times(); t != nil {
		t.tally = nil
	}
}
