package store

// Record decides whether effects are kept. Off, a mutator pays for one nil check.
func (s *Store) Record(on bool) {
	switch {
	case !on:
		s.effects = nil
	case s.effects == nil:
		s.effects = &recorder{}
	}
}

// TakeEffects returns what has been recorded since the last call; the caller owns it, or gives it back.
func (s *Store) TakeEffects() []Effect {
	r := s.effects
	if r == nil || len(r.effects) == 0 {
		return nil
	}
	taken := r.effects
	if r.lent == nil {
		r.lent = new(recorder)
	}
	*r.lent = recorder{effects: taken, bytes: r.bytes, list: r.list}
	r.effects, r.bytes, r.list = nil, nil, nil
	return taken
}

// mostSpareEffects is the size of the largest argument buffer that is kept.
const mostSpareEffects = 64 << 10

// GiveBackEffects says that what TakeEffects returned last is not used any more.
func (s *Store) GiveBackEffects() {
	r := s.effects
	if r == nil || r.lent == nil || len(r.effects) > 0 {
		return
	}
	buffers := *r.lent
	*r.lent = recorder{}
	if cap(buffers.bytes) > mostSpareEffects || cap(buffers.list) > maxMerged || cap(buffers.effects) > maxMerged {
		return
	}
	clear(buffers.effects)
	clear(buffers.list)
	r.effects, r.bytes, r.list = buffers.effects[:0], buffers.bytes[:0], buffers.list[:0]
}

// RecordFunctions records a change of the function libraries, which are stored outside the databases, as one
// of the FUNCTION commands of the list. It counts as a change of the data. undo takes it back.
func (s *Store) RecordFunctions(undo func(), args ...[]byte) {
	s.dirty++
	s.undoBy(undo)
	s.record(s.DB(0), "FUNCTION", args...)
}
