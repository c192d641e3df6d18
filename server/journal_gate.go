package server

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Group commit. Under appendfsync always a reply may not leave before the log is on disk up to the
// position at which the reply was made; that holds for reads as well, for they may show what another
// client has just written. The loop does not wait for the disk: it lays such output aside (owed) and goes
// on. When the log's writer has synced, it opens the gate up to the new position, which sends for the
// owners of the sessions that wait there.
//
// Under the other policies a reply may not leave before the system has the log up to that position, so that a
// process that is killed takes nothing along that somebody was told. That needs no waiting: whoever sends
// writes before (mayLeave), once for all that the round of an event loop has held back.

// gate holds back output until the log is durable. It has a lock of its own, which is held for moments only.
type gate struct {
	// journal is the server's, for those who are not under the executor.
	journal atomic.Pointer[journal]
	// durable is the position up to which the log is on disk, or, as appendfsync has it,
	// with the system. It never falls.
	durable atomic.Int64
	// Positions above lostFrom up to lostTo will never be durable: the disk failed. Who is owed something
	// there is not told anything: the connection is closed. Both never fall.
	lostFrom, lostTo atomic.Int64
	// newest is where a log that was closed ended. Under the executor.
	newest int64

	mu        sync.Mutex
	waiting   []gateWait
	gathering gathering
}

// gateWait is a session that waits for a position.
type gateWait struct {
	session  *session
	position int64
}

// end is a position behind every one so far.
func (g *gate) end() int64 { return max(g.durable.Load(), g.lostTo.Load(), g.newest) }

// lost reports whether what was produced at a position can never be durable.
func (g *gate) lost(position int64) bool {
	return position > g.lostFrom.Load() && position <= g.lostTo.Load()
}

// passes reports whether nothing produced at the position has to wait: it is durable, or it never will be.
func (g *gate) passes(position int64) bool {
	return position <= g.durable.Load() || g.lost(position)
}

// write sees to it that the system has the log up to a position, which output depends on that was not
// laid aside. False: it never will.
func (g *gate) write(position int64) bool {
	if g.lost(position) {
		return false
	}
	j := g.journal.Load()
	return j == nil || j.log.Write(position-j.offset.Load()) // nil: the log was closed, and is whole
}

// mayLeave is called by a transport right before output leaves, for the last time at which it can be kept;
// false: it must not leave at all, what it tells of is lost. Only the owner calls it.
func (s *session) mayLeave() bool {
	return s.needs <= s.executor.gate.durable.Load() || s.executor.gate.write(s.needs)
}

// wait makes the gate send for the session's owner when it opens to the position; false: it is open already.
func (g *gate) wait(s *session, position int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.passes(position) {
		return false
	}
	if !s.owed.waits {
		s.owed.waits = true
		g.waiting = append(g.waiting, gateWait{s, position})
		g.gathering.arrived(len(g.waiting))
	}
	return true
}

// open lets everything up to a position leave, and returns how many sessions waited for that and how many
// wait still. Any goroutine may call it, but one at a time.
func (g *gate) open(durable int64) (freed, left int) {
	if durable > g.durable.Load() {
		g.durable.Store(durable)
	}
	return g.sendFor()
}

// lose says that what was produced up to a position and is not durable never will be.
func (g *gate) lose(position int64) {
	g.lostFrom.Store(g.durable.Load())
	g.lostTo.Store(position)
	g.sendFor()
}

// sendFor sends for the owners of the sessions that need not wait any longer.
func (g *gate) sendFor() (freed, left int) {
	g.mu.Lock()
	var free []*session
	still := g.waiting[:0]
	for _, w := range g.waiting {
		if g.passes(w.position) {
			w.session.owed.waits = false
			free = append(free, w.session)
		} else {
			still = append(still, w)
		}
	}
	clear(g.waiting[len(still):])
	g.waiting = still
	g.mu.Unlock()
	kick(free, nil)
	return len(free), len(still)
}

// owed is a session's output that waits for the log. But for waits, which the gate's lock guards,
// it belongs to the session's owner.
type owed struct {
	out   []byte
	from  int        // out[:from] has been sent
	marks []owedMark // what of it may leave when, in order; empty: nothing is owed
	waits bool       // the session stands in gate.waiting
}

// owedMark is a piece of output and its condition.
type owedMark struct {
	end      int // in owed.out
	position int64
	granted  *waiter // whose grant it is, if it can be taken back
}

// mostSpareOwed is the room for such output that a session keeps.
const mostSpareOwed = 64 << 10

// bytes is how much output is laid aside.
func (o *owed) bytes() int { return len(o.out) - o.from }

// owe lays output aside until the log is durable up to a position, behind what is owed
// already. Only the owner calls it.
func (s *session) owe(out []byte, granted *waiter, position int64) {
	o := &s.owed
	if last := len(o.marks) - 1; last >= 0 {
		position = max(position, o.marks[last].position)
	}
	o.out = append(o.out, out...)
	o.marks = append(o.marks, owedMark{len(o.out), position, granted})
}

// sendLater is how output leaves that has to wait for the log, or stands behind what has. hangUp says that
// the connection is to be closed behind it, and is returned when it is time to. Only the owner calls it.
func (s *session) sendLater(out []byte, granted *waiter, position int64, hangUp bool) bool {
	if len(out) > 0 || granted != nil {
		s.owe(out, granted, position)
	}
	s.leaving = s.leaving || hangUp
	return s.settle()
}

// settle sends what may leave by now and says whether the connection is to be
// closed. Only the owner calls it.
func (s *session) settle() (hangUp bool) {
	g, o := &s.executor.gate, &s.owed
	for len(o.marks) > 0 {
		if g.lost(o.marks[0].position) {
			return true
		}
		if !g.passes(o.marks[0].position) {
			if g.wait(s, o.marks[0].position) {
				return false
			}
			continue // it has just opened
		}
		if s.pay() != nil {
			return true
		}
	}
	return s.leaving
}

// pay sends the first pieces, as many as may leave together.
func (s *session) pay() error {
	g, o := &s.executor.gate, &s.owed
	n := 0
	for n < len(o.marks) && g.passes(o.marks[n].position) && !g.lost(o.marks[n].position) {
		if n++; o.marks[n-1].granted != nil {
			break
		}
	}
	last := o.marks[n-1]
	out := o.out[o.from:last.end]
	if o.marks, o.from = o.marks[n:], last.end; len(o.marks) == 0 {
		o.marks, o.from, o.out = o.marks[:0], 0, o.out[:0]
		if cap(o.out) > mostSpareOwed {
			o.out = nil
		}
	}
	if last.granted != nil {
		s.hand(out, last.granted)
		return nil
	}
	if len(out) == 0 {
		return nil
	}
	s.sent += int64(len(out))
	_, err := s.transport.send(out, true)
	return err
}

// owesGrant reports whether what is on its way to the client may have to be taken back.
func (s *session) owesGrant() bool {
	return slices.ContainsFunc(s.owed.marks, func(m owedMark) bool { return m.granted != nil }) || len(s.delivered()) > 0
}

// lingers is asked when the client has closed its sending half: it may still read the replies that it is
// owed, and those that the transport has, if unsent says so. If there are any the session gets them and
// then leaves. It waits for nothing else. Of the commands that were read, those still run that flow control
// has held up. Only the owner calls it.
func (s *session) lingers(unsent bool) bool {
	if len(s.owed.marks) == 0 && !s.stalled && !unsent || s.owesGrant() {
		return false
	}
	ex := s.executor
	ex.mu.Lock()
	defer ex.damaging()
	if s.granted != nil || s.condemned { // what it was given is to be taken back
		ex.mu.Unlock()
		return false
	}
	s.inputEnded = true
	s.leaving = s.leaving || !s.stalled || s.waiter != nil
	var touched []*session
	if w := s.waiter; w != nil {
		busy := ex.scripts.busy.on
		if !busy {
			ex.begin()
		}
		ex.unpark(w)
		if !busy {
			ex.endUnit()
			touched = ex.end()
		}
	}
	ex.mu.Unlock()
	kick(touched, nil)
	return true
}

// grantsOwed takes the grants that have not left out of what is owed, all of which is dropped.
func (s *session) grantsOwed() []grant {
	var grants []grant
	for _, m := range s.owed.marks {
		if m.granted != nil {
			grants = append(grants, grant{waiter: m.granted})
		}
	}
	s.owed.marks, s.owed.out, s.owed.from = nil, nil, 0
	return grants
}
