package linearizability

import "slices"

// The operations of the model on held locks.

// release models UNLOCK and MUNLOCK.
func (m *model) release(after []state, s state, op *operation) []state {
	for i, k := range op.keys {
		h := s.find(k, op.owner)
		mine := h != nil && (!op.shared || h.shared > 0)
		if op.token != 0 && mine {
			switch isIt := op.token >= h.tokenLow && op.token <= h.tokenHigh; {
			case !isIt:
				mine = false
			case op.unknown && h.tokenLow != h.tokenHigh: // it may be another token
			case !op.unknown && op.values[i] == none && h.tokenLow != h.tokenHigh:
				mine = false
			default:
				s.learn(h, op.token)
			}
		}
		value := none
		if mine {
			if value = 0; s.giveBack(k, h, op.shared || h.exclusive == 0) {
				value = 1
			}
		}
		if !op.unknown && op.values[i] != value {
			return after
		}
	}
	return append(after, s)
}

// giveBack ends one hold of a kind, and reports whether it was the owner's last hold.
func (s *state) giveBack(key int, h *holding, shared bool) (last bool) {
	of := &h.exclusive
	if shared {
		of = &h.shared
	}
	if *of > 0 {
		*of--
	}
	if last = h.shared == 0 && h.exclusive == 0; last {
		s.drop(key, h.owner)
	}
	return last
}

// renew models RENEW.
func (m *model) renew(after []state, s state, op *operation, sp span) []state {
	h := s.find(op.keys[0], op.owner)
	mine := h != nil
	if mine && op.token != 0 {
		certain := h.tokenLow == h.tokenHigh
		mine = op.token >= h.tokenLow && op.token <= h.tokenHigh
		if mine && !certain && !op.unknown {
			if mine = op.values[0] == 1; mine {
				s.learn(h, op.token)
			}
		}
	}
	if !op.unknown && mine != (op.values[0] == 1) {
		return after
	}
	if mine {
		lease := op.leaseMS
		if lease == 0 {
			lease = m.watchdogMS
		} else {
			h.watch = 0
		}
		m.begin(h, lease, sp)
	}
	return append(after, s)
}

// look models HGETALL and LOCK.INFO.
func (m *model) look(after []state, s state, op *operation) []state {
	l := s.locks[op.keys[0]]
	if op.unknown || len(l) != len(op.holders) {
		return after
	}
	for i := range l {
		h, seen := &l[i], op.holders[i]
		exclusive := h.exclusive == seen.exclusive || seen.exclusive == some && h.exclusive > 0
		watched := op.kind == inform || seen.watched == (h.watch != 0)
		if h.owner != seen.owner || h.shared+h.exclusive != seen.holds || !exclusive || !watched || !s.learn(h, seen.token) {
			return after
		}
	}
	return append(after, s)
}

// ttl models PTTL: how many whole milliseconds the last lease has left. It rounds down.
func (m *model) ttl(after []state, s state, op *operation, sp span) []state {
	l := s.locks[op.keys[0]]
	if op.unknown {
		return after
	}
	left := op.values[0]
	if len(l) == 0 {
		if left == -2 {
			after = append(after, s)
		}
		return after
	}
	if left < 0 {
		return after
	}
	var low, high int64 // of the last holder
	for i := range l {
		from, to := m.nowEnds(&s, &l[i], sp)
		low, high = max(low, from), max(high, to)
	}
	if sp.toMS+left+1 < low || sp.fromMS+left > high {
		return after
	}
	for i := range l {
		if h := &l[i]; h.watch == 0 {
			h.endHigh = min(h.endHigh, sp.toMS+left+1)
			if len(l) == 1 {
				h.endLow = max(h.endLow, sp.fromMS+left)
			}
		}
	}
	return append(after, s)
}

// nowEnds returns the range in which a lease ends, at the time of a query. Each renewal moves it.
func (m *model) nowEnds(s *state, h *holding, sp span) (low, high int64) {
	low, high = h.endLow, h.endHigh
	if h.watch == 0 {
		return low, high
	}
	for _, conn := range [...]int{h.watch, s.attachedBy[h.owner]} {
		if conn != 0 {
			c := m.lives[conn]
			low = max(low, m.renewedMS(min(sp.fromMS, c.endingMS))+m.watchdogMS)
			high = max(high, min(c.goneMS, sp.toMS)+m.watchdogMS)
		}
	}
	return low, high
}

// attach models LOCK.ATTACH and LOCK.DETACH. The connection that was attached before has ended, or ends now:
// its renewals so far stay.
func (m *model) attach(after []state, s state, op *operation, sp span) []state {
	before := s.attachedBy[op.owner]
	if op.kind == detach && before != op.conn {
		return append(after, s)
	}
	if before != 0 {
		for k := range s.locks {
			if h := s.find(k, op.owner); h != nil && h.watch != 0 {
				c := m.lives[before]
				h.endLow = max(h.endLow, m.renewedMS(min(c.endingMS, sp.fromMS))+m.watchdogMS)
				h.endHigh = max(h.endHigh, min(c.goneMS, sp.toMS)+m.watchdogMS)
			}
		}
	}
	if s.attachedBy[op.owner] = op.conn; op.kind == detach {
		s.attachedBy[op.owner] = 0
	}
	return append(after, s)
}

// takeBack models the server's reaction to the end of a client that cannot have read its grant. Each lock
// counts alone: a grant that was confirmed to its owner since stays.
func (m *model) takeBack(after []state, s state, op *operation) []state {
	found := []state{s}
	for k, l := range s.locks {
		for i := range l {
			owner := l[i].owner
			n := slices.IndexFunc(l[i].undo[:], func(u undo) bool { return u.conn == op.undoes })
			if n < 0 {
				continue
			}
			for _, f := range found {
				f.clone()
				h := f.find(k, owner)
				shared := h.undo[n].shared
				h.undo[n] = undo{}
				f.giveBack(k, h, shared)
				found = append(found, f)
			}
		}
	}
	return append(after, found[1:]...)
}
