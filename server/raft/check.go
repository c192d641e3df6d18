package raft

import (
	"fmt"
	"time"

	"lockserver/commands"
	"lockserver/persistence"
	"lockserver/persistence/digest"
	"lockserver/server/info"
)

// Members compare their data now and then. The leader puts a mark into the log. Each member takes a cut of
// its data when it comes to the mark, and digests it in the background. The engine sends the result to the
// others, and reports the finding to the machine.
//
// The leader's data runs ahead of the log. So the leader takes its cut when it makes the mark, behind all
// that it has executed. The cut is of the place that the mark names, and counts if the mark comes back from
// the log.
//
// A member with other data than the majority stops for good: see Member.stop. If no majority has the same
// data, it is not known which data is right. Then no member serves until a later check finds a majority, see
// Member.undecided.

// check returns the newest check of a member with its present disk.
func (s *Status) check(p Peer) (c Check) {
	for _, c := range s.Checks {
		if c.ID == p.ID && c.Incarnation == p.Incarnation {
			return c
		}
	}
	return c
}

// Undecided returns why no member serves although one may lead; nil: members serve.
func (m *Member) Undecided() error {
	if m.check.undecided == 0 {
		return nil
	}
	return fmt.Errorf("the data of the members differs at the index %d, and none of it is that of a majority", m.check.undecided)
}

// checkNow begins a check if it is time for one. It is called about once a second.
func (m *Member) checkNow() {
	every := m.check.every(m.options.CheckEvery)
	switch {
	case every <= 0 || m.check.running || m.check.wantsMark || m.snapping || m.holding || !m.engine.Leads():
	case m.check.last.IsZero():
		m.check.last = time.Now() // the first one is due when the time is over
	case time.Since(m.check.last) >= every:
		m.check.again++
		m.beginCheck()
	}
}

// beginCheck has the leader make a mark.
func (m *Member) beginCheck() {
	m.check.last = time.Now()
	if m.state == leading {
		m.check.wantsMark, m.tick = true, true // an entry of this leader's is before the mark
		m.EndSlice()
		return
	}
	if m.state != following || !m.engine.Leads() {
		return
	}
	mark := markOf(m.applied, m.head.ClockMS, m.head.Token).appendTo(nil) // nothing is executed: the data is that of the log
	m.host.Background(func() { _ = m.engine.Propose(mark)() })
}

// beginMarked is begin, and adds a mark behind the effects of all executed commands. It cuts the data at
// that place.
func (m *Member) beginMarked() (f flight, entries [][]byte) {
	if m.quiet || m.unseen {
		return f, nil // the mark is made when entries may be proposed
	}
	m.check.wantsMark = false
	m.host.HandOn()
	// plant:check-mark
	f, entries = m.begin()
	if len(entries) == 0 {
		return f, entries
	}
	e := markOf(m.after, m.host.NowMS(), m.host.LastToken())
	entries = append(entries, e.appendTo(nil))
	m.cutAt(m.after)
	return f, entries
}

// meetMark handles a mark of the log. Under the host's lock.
func (a openedMember) meetMark(index uint64, at place, again bool) {
	m := a.member
	switch {
	case again, at != m.applied: // the others have digested theirs long ago; or the mark is void
	case m.check.at == at && m.check.index == 0: // this member has made the mark
		m.check.index = index
		m.tellSum()
	case m.state == following && (m.input == nil || m.input.Whole()):
		if m.cutAt(at) {
			m.check.index = index
		}
		m.host.EndUnit()
	}
}

// cutAt takes a cut of the data, which is at that place of the history, and begins to digest the cut. It
// returns false if another cut is being digested.
func (m *Member) cutAt(at place) bool {
	if m.check.running {
		return false
	}
	cut := m.host.Cut(persistence.History{ID: at.id, Offset: at.offset}, persistence.Agreed{})
	version, users := m.usersSum()
	m.check.at, m.check.index, m.check.sum, m.check.running = at, 0, "", true
	m.check.cut++
	m.host.Background(func() {
		d, ok := cut.Digest(m.ending)
		m.host.Slice(func() {
			cut.Release()
			m.check.running = false
			if ok && m.check.at == at {
				m.check.sum = fmt.Sprintf("%d%s-%x%s", digest.ExactVersion, version, d, users)
				m.tellSum()
			}
			m.host.EndUnit()
		})
	})
	return true
}

// tellSum passes the checksum to the engine, as soon as the index of the mark and the checksum are known.
func (m *Member) tellSum() {
	if m.check.index == 0 || m.check.sum == "" {
		return
	}
	m.counts.checks++
	m.engine.Checked(Checksum{m.check.index, m.check.sum})
}

// otherDataError is the reason that a member stops with when its data is not that of the majority.
type otherDataError struct{ index uint64 }

func (e otherDataError) Error() string {
	return fmt.Sprintf("at the index %d it had other data than a majority of the members, which have the same", e.index)
}

// Judge implements Machine.
func (a openedMember) Judge(v Verdict) {
	m := a.member
	resumes := false
	m.host.Slice(func() {
		if m.run != a.run || m.state == stopped {
			return
		}
		switch v.Finding {
		case Differs:
			m.stop(otherDataError{v.Index})
			return
		case Undecided:
			m.suspend(v.Index)
		case Same:
			resumes, m.check.undecided = m.check.undecided > 0, 0
			m.changed()
		}
		m.host.EndUnit()
	})
	if resumes {
		m.host.Log().Info("raft: this member has the data of a majority again, and serves when it leads", "index", v.Index)
		m.host.Background(func() { // it may lead already, without serving
			if m.engine.Leads() {
				m.lead(a.run)
			}
		})
	}
}

// suspend keeps the member from serving.
func (m *Member) suspend(index uint64) {
	if m.check.undecided == 0 {
		m.host.Log().Error("raft: the data of the members differs, and none of it is that of a majority: no member serves. RAFT MEMBERS says which differ. "+
			"Start those that are away. Or make the member with the right data the leader (RAFT TRANSFER), stop another, remove its directory raft, and start it", "index", index)
	}
	m.check.undecided = index
	m.check.last = time.Now()
	m.depose("the data of the members differs")
	m.changed()
}

// stayFor is the time for which a stopped member still answers the others. They ask about every 3 seconds,
// so they learn its state and its checksum.
const stayFor = 5 * time.Second

// part ends the part of a stopped member in the group. If it leads, it first hands the lead to another
// member.
func (m *Member) part() {
	if m.engine.Leads() {
		_ = m.engine.Transfer("")
	}
	select {
	case <-time.After(stayFor):
	case <-m.closed:
	}
	_ = m.engine.Close()
}

const (
	// mostChecking bounds the time that RAFT CHECK waits for this member's digest.
	mostChecking = time.Minute
	// mostComparing bounds the time that RAFT CHECK then waits for the digests of the others.
	mostComparing = 20 * time.Second
	// lookEvery is the pause between two looks at their state.
	lookEvery = 10 * time.Millisecond
)

// Check compares the data of all members. It returns when the data of all members that can be reached has
// been compared.
func (m *Member) Check() (Reply, error) {
	if !m.engine.Leads() {
		return nil, m.errNotHere()
	}
	before, busy := int64(0), false
	m.host.Slice(func() {
		if busy = m.check.running || m.check.wantsMark; !busy {
			before = m.check.cut
			m.beginCheck()
		}
		m.host.EndUnit()
	})
	if busy {
		return nil, commands.Error("ERR a check is being made")
	}
	index := uint64(0)
	if err := m.look(mostChecking, func() bool {
		m.host.Locked(func() {
			if m.check.cut > before && !m.check.running {
				index = m.check.index
			}
		})
		return index > 0
	}); err != nil {
		return nil, err
	}
	if err := m.look(mostComparing, func() bool { return m.Status().Compared >= index }); err != nil && m.ending() {
		return nil, err
	}
	s := m.Status()
	return func(c *commands.Ctx) {
		c.Out.Array(len(s.Peers))
		for _, p := range s.Peers {
			is := s.check(p)
			if is.Index != index && is.Finding != Differs {
				is = Check{}
			}
			c.Out.Map(1 + checkFields)
			c.Out.BulkString("id")
			c.Out.BulkString(p.ID)
			is.writeTo(c.Out)
		}
	}, nil
}

// look waits until a condition holds, while this member leads.
func (m *Member) look(atMost time.Duration, is func() bool) error {
	for begun := time.Now(); !is(); time.Sleep(lookEvery) {
		switch {
		case m.ending() || !m.engine.Leads():
			return commands.Error("ERR this member leads no more: ask the one that does")
		case time.Since(begun) > atMost:
			return commands.Error("ERR the check goes on: RAFT MEMBERS will have what it finds")
		}
	}
	return nil
}

// writeChecks writes the fields of INFO about checks.
func (m *Member) writeChecks(t *info.Text, s *Status) {
	self, _ := Find(s.Peers, s.ID)
	own, differ := s.check(self), 0
	for _, p := range s.Peers {
		if f := s.check(p).Finding; f == Differs || f == Undecided {
			differ++
		}
	}
	t.Line("raft_check_index", own.Index)
	t.Line("raft_check_sum", own.Sum)
	t.Line("raft_check_data", string(own.Finding))
	t.Flag("raft_check_in_progress", m.check.running)
	t.Line("raft_checks", m.counts.checks)
	t.Line("raft_members_differ", differ)
}
