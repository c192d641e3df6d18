package linearizability

import (
	"slices"

	"github.com/anishathalye/porcupine"
)

// The model is a lock as a sequence of operations. Each takes effect at one moment, between its call and its
// return. The model does not know the moment itself, only that moments do not run backwards. So a lease ends
// in a range of milliseconds. Within that range an operation may find the lock held or free; outside of it
// only one of them is possible.

// state holds all locks at one moment. States share its slices: code that changes a lock clones it first.
type state struct {
	nowMS      int64               // a lower limit of the time: the latest earliest moment of all operations so far
	last       int64               // a lower limit of the highest token so far
	left       uint64              // operation.place of waiters that have left their queues
	attachedBy [maxOwners + 1]int  // by owner: the attached connection, or 0
	locks      [maxKeys]lockHolder // the holders of each lock
}

// lockHolder lists the holders of a lock, sorted by owner. It is empty if the lock is free.
type lockHolder []holding

// holding is the state of an owner that holds a lock.
type holding struct {
	owner             int
	shared, exclusive int64 // numbers of holds
	// The range of the token; one number, unless no client got it.
	tokenLow, tokenHigh int64
	// The length of the lease, as last set by a command, and the range of its end.
	leaseMS         int64
	endLow, endHigh int64
	watch           int     // the connection that keeps the lease renewed while it lives, or 0
	undo            [2]undo // grants that the server may take back, because their connections cannot have read them
}

// undo describes such a grant.
type undo struct {
	conn   int // 0 means no grant
	shared bool
}

// life is what is known about a connection's end, in the server's milliseconds; ever means that it did not
// end.
type life struct {
	endingMS int64 // it still lived at this time
	goneMS   int64 // it was gone from this time on
}

// model is the model for the locks of one history.
type model struct {
	watchdogMS int64
	// lateMS is the largest delay of the server's timers.
	lateMS int64
	// roundMS is how much later a lease may end because its start is rounded up: 1 if operations start
	// between milliseconds, else 0.
	roundMS int64
	lives   []life // by the number of the connection
}

// span is the range of moments at which an operation can take effect.
type span struct {
	fromMS, toMS int64
	// lateMS is how long before the span a lease may have ended that the operation still found running.
	lateMS int64
}

func (m *model) span(s *state, op *operation) (sp span, ok bool) {
	sp = span{fromMS: op.call.ms, toMS: op.ret.ms}
	if op.kind == acquire && op.refused && op.waitMS > 0 {
		// If a timer fires in the millisecond in which a lease ends, the timer comes first.
		sp.fromMS += op.waitMS
		sp.lateMS = m.lateMS + 1
	}
	sp.fromMS = max(sp.fromMS, s.nowMS)
	return sp, sp.fromMS <= sp.toMS
}

// ends returns the range in which a lease ends, including renewals. It is renewed while the connection that
// acquired the lock lives, or the one attached for its owner.
func (m *model) ends(s *state, h *holding) (low, high int64) {
	low, high = h.endLow, h.endHigh
	if h.watch == 0 {
		return low, high
	}
	for _, conn := range [...]int{h.watch, s.attachedBy[h.owner]} {
		if conn != 0 {
			c := m.lives[conn]
			low, high = max(low, m.renewedMS(c.endingMS)+m.watchdogMS), max(high, c.goneMS+m.watchdogMS)
		}
	}
	return low, high
}

// renewedMS returns the earliest moment of the last renewal for a connection that lived until endingMS.
func (m *model) renewedMS(endingMS int64) int64 { return endingMS - m.watchdogMS/3 - 1 - m.lateMS }

// step returns every possible state after an operation. If there is none, the operation cannot have happened
// here.
func (m *model) step(s state, op *operation) []state {
	sp, ok := m.span(&s, op)
	if !ok {
		return nil
	}
	s.nowMS = sp.fromMS
	s.clone()
	for _, l := range s.locks { // every lease so far began before the end of this operation
		for i := range l {
			l[i].endHigh = min(l[i].endHigh, sp.toMS+m.roundMS+l[i].leaseMS)
		}
	}
	// The possible situations: each lease that matters has ended, or has not.
	found := []state{s}
	for k, l := range s.locks {
		for i := range l {
			if !op.asks(k, &l[i]) {
				continue
			}
			low, high := m.ends(&s, &l[i])
			lives, ended := sp.fromMS-sp.lateMS < high, sp.toMS >= low
			var next []state
			for _, f := range found {
				if lives {
					next = append(next, f)
				}
				if ended {
					f.drop(k, l[i].owner)
					next = append(next, f)
				}
			}
			found = next
		}
	}
	var after []state
	if op.unknown {
		after = append(after, s) // it never reached the server, or had no effect
	}
	for _, f := range found {
		f.clone()
		after = m.apply(after, f, op, sp)
	}
	for i := range after {
		after[i].left |= op.place
	}
	return after
}

// asks reports whether it matters to an operation that a lease has ended.
func (op *operation) asks(key int, h *holding) bool {
	switch op.kind {
	case flush:
		return false
	case takeBack:
		return slices.ContainsFunc(h.undo[:], func(u undo) bool { return u.conn == op.undoes })
	case attach, detach:
		return h.owner == op.owner && h.watch != 0
	case release, renew:
		return slices.Contains(op.keys, key) && h.owner == op.owner // for another owner the reply is nil in any case
	}
	return slices.Contains(op.keys, key)
}

// apply appends the possible states after an operation in a situation.
func (m *model) apply(after []state, s state, op *operation, sp span) []state {
	switch op.kind {
	case acquire:
		return m.acquire(after, s, op, sp)
	case release:
		return m.release(after, s, op)
	case renew:
		return m.renew(after, s, op, sp)
	case remove, force:
		held := min(int64(len(s.locks[op.keys[0]])), 1)
		if op.unknown || op.values[0] == held {
			s.locks[op.keys[0]] = nil
			after = append(after, s)
		}
	case flush:
		s.locks = [maxKeys]lockHolder{}
		after = append(after, s)
	case look, inform:
		return m.look(after, s, op)
	case ttl:
		return m.ttl(after, s, op, sp)
	case attach, detach:
		return m.attach(after, s, op, sp)
	case takeBack:
		return m.takeBack(after, s, op)
	}
	return after
}

// acquire models LOCK and MLOCK: all keys or none.
func (m *model) acquire(after []state, s state, op *operation, sp span) []state {
	free, kept := true, false
	for _, k := range op.keys {
		mine, admits := s.locks[k].admits(op)
		free = free && admits
		kept = kept || !admits || !mine && op.excused&(1<<k) != 0
	}
	if op.refused || op.deadlock {
		if kept {
			after = append(after, s)
		}
		return after
	}
	if !free {
		return after
	}
	for i, k := range op.keys {
		token := none
		if !op.unknown {
			token = op.values[i]
		}
		if !m.take(&s, k, op, token, sp) {
			return after
		}
	}
	return append(after, s)
}

// admits reports whether an owner may take a lock if no waiter is before it. mine says that it already holds
// the lock: then it passes all waiters.
func (l lockHolder) admits(op *operation) (mine, admits bool) {
	exclusive := false
	for _, h := range l {
		if h.owner == op.owner {
			return true, h.exclusive > 0 || op.shared || len(l) == 1
		}
		exclusive = exclusive || h.exclusive > 0
	}
	return false, len(l) == 0 || op.shared && !exclusive
}

// take gives a lock to an owner that may take it. The token none means that no client got it.
func (m *model) take(s *state, key int, op *operation, token int64, sp span) bool {
	h := s.find(key, op.owner)
	if h == nil {
		if op.behind&^s.left != 0 {
			return false
		}
		h = s.insert(key, op.owner)
	}
	fresh := h.exclusive == 0 && (!op.shared || h.shared == 0)
	switch {
	case fresh && token == none:
		s.last++
		h.tokenLow, h.tokenHigh = s.last, ever
	case fresh && !s.give(h, token), !fresh && token != none && !s.learn(h, token):
		return false
	}
	of := &h.exclusive
	if op.shared {
		of = &h.shared
	}
	if *of == 0 || !op.once {
		*of++
		if n := slices.Index(h.undo[:], undo{}); token == none && op.waitMS != noWait && n >= 0 {
			h.undo[n] = undo{op.conn, op.shared}
		}
	}
	lease := op.leaseMS
	if h.watch = 0; lease == 0 {
		lease, h.watch = m.watchdogMS, op.conn
	}
	m.begin(h, lease, sp)
	return true
}

// begin sets a lease that starts in a span.
func (m *model) begin(h *holding, leaseMS int64, sp span) {
	h.leaseMS, h.endLow, h.endHigh = leaseMS, sp.fromMS+leaseMS, sp.toMS+m.roundMS+leaseMS
}

// give makes token the holder's new token. It returns false if the token is not greater than all before.
func (s *state) give(to *holding, token int64) bool {
	if token <= s.last {
		return false
	}
	for _, l := range s.locks {
		for i := range l {
			if h := &l[i]; h != to && h.tokenHigh == ever {
				h.tokenHigh = token - 1
			}
		}
	}
	s.last = token
	to.tokenLow, to.tokenHigh = token, token
	return true
}

// learn uses the holder's token in a reply. It returns false if that token is not possible.
func (s *state) learn(h *holding, token int64) bool {
	if token < h.tokenLow || token > h.tokenHigh {
		return false
	}
	h.tokenLow, h.tokenHigh = token, token
	s.last = max(s.last, token)
	return true
}

// porcupine returns the model in the form for the checker. The inputs of a history are its operations.
func (m *model) porcupine() porcupine.Model {
	nm := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, input, _ any) []any {
			next := m.step(s.(state), input.(*operation))
			list := make([]any, len(next))
			for i := range next {
				list[i] = next[i]
			}
			return list
		},
		Equal:             func(a, b any) bool { return a.(state).equals(b.(state)) },
		Hash:              func(s any) uint64 { return s.(state).hash() },
		DescribeOperation: func(input, _ any) string { return input.(*operation).String() },
		DescribeState:     func(s any) string { return s.(state).String() },
	}
	return nm.ToModel()
}
