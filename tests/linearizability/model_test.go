package linearizability

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// A lock as a sequence of operations: each takes effect at one moment, between its call and its
// return. The model does not know the moment itself, only that moments do not run backwards, so a
// lease ends in a range of milliseconds, and around that range an operation may find the lock held or
// free. Everywhere else it may not.

// state is all locks at one moment.
type state struct {
	nowMS int64 // no earlier than this: the latest earliest moment of all operations so far
	last  int64 // the highest token given out so far is at least this
	locks [maxKeys]lockState
}

// lockState is one lock; the zero value is a free one.
type lockState struct {
	owner int // 0: nobody
	holds int64
	// The token lies in this range; it is one number unless nobody was told it.
	tokenLow, tokenHigh int64
	// The lease, as last set by a command, is so long, and ends in this range.
	leaseMS         int64
	endLow, endHigh int64
	watch           int    // the connection while which lives the lease is renewed; 0: none
	undo            [2]int // connections that may be found not to have read their grant; 0: none
}

// life is what is known about a connection's end, in the server's milliseconds; ever: it did not end.
type life struct {
	endingMS int64 // it was there until this
	goneMS   int64 // it was gone from this on
}

// model is what the locks of one history are held against.
type model struct {
	watchdogMS int64
	// lateMS is how late the server's timers may be.
	lateMS int64
	lives  []life // by the number of the connection
}

// span is the range of moments at which an operation can take effect.
type span struct {
	fromMS, toMS int64
	// lateMS is how much earlier a lease may have ended that the operation still found running.
	lateMS int64
}

func (m *model) span(s *state, op *operation) (sp span, ok bool) {
	sp = span{fromMS: op.call.ms, toMS: op.ret.ms}
	if op.kind == acquire && op.refused && op.waitMS > 0 {
		// A timer that fires in the millisecond in which a lease ends comes first.
		sp.fromMS += op.waitMS
		sp.lateMS = m.lateMS + 1
	}
	sp.fromMS = max(sp.fromMS, s.nowMS)
	return sp, sp.fromMS <= sp.toMS
}

// ends returns the range in which a lease ends, the watchdog included.
func (m *model) ends(l *lockState) (low, high int64) {
	low, high = l.endLow, l.endHigh
	if l.watch != 0 {
		c := m.lives[l.watch]
		renewed := c.endingMS - m.watchdogMS/3 - 1 - m.lateMS
		low, high = max(low, renewed+m.watchdogMS), max(high, c.goneMS+m.watchdogMS)
	}
	return low, high
}

// step returns every state that an operation may lead to; none: it cannot have happened here.
func (m *model) step(s state, op *operation) []state {
	sp, ok := m.span(&s, op)
	if !ok {
		return nil
	}
	s.nowMS = sp.fromMS
	for k := range s.locks { // every lease so far began before this operation can have ended
		l := &s.locks[k]
		l.endHigh = min(l.endHigh, sp.toMS+l.leaseMS)
	}
	// What the operation finds: each lease that it looks at has ended, or has not.
	found := []state{s}
	for k := range s.locks {
		l := &s.locks[k]
		if !op.asks(k, l) {
			continue
		}
		low, high := m.ends(l)
		lives, ended := sp.fromMS-sp.lateMS < high, sp.toMS >= low
		var next []state
		for _, f := range found {
			if lives {
				next = append(next, f)
			}
			if ended {
				f.locks[k] = lockState{}
				next = append(next, f)
			}
		}
		found = next
	}
	var after []state
	if op.unknown {
		after = append(after, s) // it never reached the server, or changed nothing
	}
	for _, f := range found {
		after = m.apply(after, f, op, sp)
	}
	return after
}

// asks says whether it matters to an operation that the lease of a lock has ended.
func (op *operation) asks(key int, l *lockState) bool {
	switch {
	case l.owner == 0 || op.kind == flush:
		return false
	case op.kind == takeBack:
		return slices.Contains(l.undo[:], op.undoes)
	case op.kind == release || op.kind == renew:
		return slices.Contains(op.keys, key) && l.owner == op.owner // a stranger gets nil in any case
	}
	return slices.Contains(op.keys, key)
}

// apply appends what an operation makes of what it found.
func (m *model) apply(after []state, s state, op *operation, sp span) []state {
	switch op.kind {
	case acquire:
		return m.acquire(after, s, op, sp)
	case release:
		return m.release(after, s, op)
	case renew:
		return m.renew(after, s, op, sp)
	case remove, force:
		held := int64(0)
		if s.locks[op.keys[0]].owner != 0 {
			held = 1
		}
		if op.unknown || op.values[0] == held {
			s.locks[op.keys[0]] = lockState{}
			after = append(after, s)
		}
	case flush:
		s.locks = [maxKeys]lockState{}
		after = append(after, s)
	case look:
		return m.look(after, s, op)
	case ttl:
		return m.ttl(after, s, op, sp)
	case takeBack:
		return m.takeBack(after, s, op)
	}
	return after
}

// acquire is LOCK and MLOCK: all the keys or none.
func (m *model) acquire(after []state, s state, op *operation, sp span) []state {
	free, kept := true, op.excused != 0
	for _, k := range op.keys {
		if l := &s.locks[k]; l.owner != 0 && l.owner != op.owner {
			free, kept = false, true
		}
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
	lease := op.leaseMS
	if lease == 0 {
		lease = m.watchdogMS
	}
	for i, k := range op.keys {
		l := &s.locks[k]
		switch {
		case l.owner != 0 && op.unknown:
		case l.owner != 0 && !s.learn(k, op.values[i]):
			return after
		case l.owner == 0 && op.unknown:
			*l = lockState{owner: op.owner, tokenLow: s.last + 1, tokenHigh: ever}
			s.last++
		case l.owner == 0:
			if !s.give(k, op.values[i]) {
				return after
			}
			l.owner = op.owner
		}
		if n := slices.Index(l.undo[:], 0); op.unknown && op.waitMS != noWait && n >= 0 {
			l.undo[n] = op.conn
		}
		l.holds++
		l.begin(lease, sp)
		l.watch = 0
		if op.leaseMS == 0 {
			l.watch = op.conn
		}
	}
	return append(after, s)
}

// begin sets a lease of so many milliseconds at a moment of a span.
func (l *lockState) begin(leaseMS int64, sp span) {
	l.leaseMS, l.endLow, l.endHigh = leaseMS, sp.fromMS+leaseMS, sp.toMS+leaseMS
}

// give makes token a new one; false: it is not above every one before.
func (s *state) give(key int, token int64) bool {
	if token <= s.last {
		return false
	}
	for i := range s.locks {
		if l := &s.locks[i]; i != key && l.owner != 0 && l.tokenHigh == ever {
			l.tokenHigh = token - 1
		}
	}
	s.last = token
	s.locks[key].tokenLow, s.locks[key].tokenHigh = token, token
	return true
}

// learn takes in what an operation says the token of a held lock is; false: it cannot be.
func (s *state) learn(key int, token int64) bool {
	l := &s.locks[key]
	if token < l.tokenLow || token > l.tokenHigh {
		return false
	}
	l.tokenLow, l.tokenHigh = token, token
	s.last = max(s.last, token)
	return true
}

// release is UNLOCK and MUNLOCK.
func (m *model) release(after []state, s state, op *operation) []state {
	for i, k := range op.keys {
		l := &s.locks[k]
		mine := l.owner == op.owner
		if op.token != 0 && mine {
			switch isIt := op.token >= l.tokenLow && op.token <= l.tokenHigh; {
			case !isIt:
				mine = false
			case op.unknown && l.tokenLow != l.tokenHigh: // it may be another
			case !op.unknown && op.values[i] == none && l.tokenLow != l.tokenHigh:
				mine = false
			default:
				s.learn(k, op.token)
			}
		}
		value := none
		if mine {
			if l.holds--; l.holds > 0 {
				value = 0
			} else {
				value = 1
				*l = lockState{}
			}
		}
		if !op.unknown && op.values[i] != value {
			return after
		}
	}
	return append(after, s)
}

// renew is RENEW.
func (m *model) renew(after []state, s state, op *operation, sp span) []state {
	k := op.keys[0]
	l := &s.locks[k]
	mine := l.owner == op.owner
	if mine && op.token != 0 {
		certain := l.tokenLow == l.tokenHigh
		mine = op.token >= l.tokenLow && op.token <= l.tokenHigh
		if mine && !certain && !op.unknown {
			if mine = op.values[0] == 1; mine {
				s.learn(k, op.token)
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
			l.watch = 0
		}
		l.begin(lease, sp)
	}
	return append(after, s)
}

// look is HGETALL.
func (m *model) look(after []state, s state, op *operation) []state {
	l := &s.locks[op.keys[0]]
	if op.unknown {
		return after
	}
	if l.owner != op.holder || l.holds != op.holds || l.owner != 0 && !s.learn(op.keys[0], op.values[0]) {
		return after
	}
	return append(after, s)
}

// ttl is PTTL: it says exactly when the lease ends, if only one knew when it was asked.
func (m *model) ttl(after []state, s state, op *operation, sp span) []state {
	l := &s.locks[op.keys[0]]
	if op.unknown {
		return after
	}
	left := op.values[0]
	if l.owner == 0 {
		if left == -2 {
			after = append(after, s)
		}
		return after
	}
	if left < 0 {
		return after
	}
	if l.watch != 0 {
		// The lease moves on with every renewal: this is where it ended when it was asked.
		c := m.lives[l.watch]
		low := max(l.endLow, min(sp.fromMS, c.endingMS)-m.watchdogMS/3-1-m.lateMS+m.watchdogMS)
		high := min(max(l.endHigh, c.goneMS+m.watchdogMS), sp.toMS+m.watchdogMS)
		if sp.toMS+left >= low && sp.fromMS+left <= high {
			after = append(after, s)
		}
		return after
	}
	l.endLow, l.endHigh = max(l.endLow, sp.fromMS+left), min(l.endHigh, sp.toMS+left)
	if l.endLow <= l.endHigh {
		after = append(after, s)
	}
	return after
}

// takeBack is what the server does when a client goes that cannot have read its grant.
func (m *model) takeBack(after []state, s state, op *operation) []state {
	undone := false
	for i := range s.locks {
		l := &s.locks[i]
		n := slices.Index(l.undo[:], op.undoes)
		if l.owner == 0 || n < 0 {
			continue
		}
		undone = true
		l.undo[n] = 0
		if l.holds--; l.holds == 0 {
			*l = lockState{}
		}
	}
	if undone {
		after = append(after, s)
	}
	return after
}

// porcupine is the model in the form in which the checker takes it. The inputs of a
// history are its operations.
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
		Equal:             func(a, b any) bool { return a.(state) == b.(state) },
		Hash:              func(s any) uint64 { return s.(state).hash() },
		DescribeOperation: func(input, _ any) string { return input.(*operation).String() },
		DescribeState:     func(s any) string { return s.(state).String() },
	}
	return nm.ToModel()
}

func (s state) hash() uint64 {
	h := uint64(14695981039346656037)
	mix := func(n int64) { h = (h ^ uint64(n)) * 1099511628211 }
	mix(s.last)
	for i := range s.locks {
		l := &s.locks[i]
		mix(int64(l.owner)<<32 | l.holds)
		mix(l.tokenLow)
		mix(l.endLow)
		mix(l.endHigh)
		mix(int64(l.watch)<<40 | int64(l.undo[0])<<20 | int64(l.undo[1]))
	}
	return h
}

// String is the state as a line of a report.
func (s state) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "from %d ms, last token %d", s.nowMS, s.last)
	for k, l := range s.locks {
		if l.owner == 0 {
			fmt.Fprintf(&b, "; %s free", keyName(k))
			continue
		}
		fmt.Fprintf(&b, "; %s %s x%d token %d", keyName(k), ownerName(l.owner), l.holds, l.tokenLow)
		if l.tokenHigh != l.tokenLow {
			b.WriteString(" or above")
		}
		fmt.Fprintf(&b, " ends %d..%d", l.endLow, l.endHigh)
		if l.watch != 0 {
			fmt.Fprintf(&b, " renewed for conn %d", l.watch)
		}
	}
	return b.String()
}
