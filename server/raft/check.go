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
func (c *checking) Undecided() error {
	if c.undecided == 0 {
		return nil
	}
	return fmt.Errorf("the data of the members differs at the index %d, and none of it is that of a majority", c.undecided)
}

// checkNow begins a check if it is time for one. It is called about once a second.
func (c *checking) checkNow() {
	every := c.every(c.m.options.CheckEvery)
	switch {
	case every <= 0 || c.running || c.wantsMark || c.m.snapping || c.m.holding || !c.m.engine.Leads():
	case c.last.IsZero():
		c.last = time.Now() // the first one is due when the time is over
	case time.Since(c.last) >= every:
		c.again++
		c.beginCheck()
	}
}

// beginCheck has the leader make a mark.
func (c *checking) beginCheck() {
	c.last = time.Now()
	if c.m.state == leading {
		c.wantsMark, c.m.tick = true, true // an entry of this leader's is before the mark
		c.m.EndSlice()
		return
	}
	if c.m.state != following || !c.m.engine.Leads() {
		return
	}
	mark := markOf(c.m.applied, c.m.head.ClockMS, c.m.head.Token).appendTo(nil) // nothing is executed: the data is that of the log
	c.m.host.Background(func() { _ = c.m.engine.Propose(mark)() })
}

// beginMarked is begin, and adds a mark behind the effects of all executed commands. It cuts the data at
// that place.
func (c *checking) beginMarked() (f flight, entries [][]byte) {
	if c.m.quiet || c.m.unseen {
		return f, nil // the mark is made when entries may be proposed
	}
	c.wantsMark = false
	c.m.host.HandOn()
	// plant:check-mark
	f, entries = c.m.begin()
	if len(entries) == 0 {
		return f, entries
	}
	e := markOf(c.m.after, c.m.host.NowMS(), c.m.host.LastToken())
	entries = append(entries, e.appendTo(nil))
	c.cutAt(c.m.after)
	return f, entries
}

// meetMark handles a mark of the log. Under the host's lock.
func (a openedMember) meetMark(index uint64, at place, again bool) {
	m := a.member
	switch {
	case again, at != m.applied: // the others have digested theirs long ago; or the mark is void
	case m.checking.at == at && m.checking.index == 0: // this member has made the mark
		m.checking.index = index
		m.tellSum()
	case m.state == following && (m.input == nil || m.input.Whole()):
		if m.cutAt(at) {
			m.checking.index = index
		}
		m.host.EndUnit()
	}
}

// cutAt takes a cut of the data, which is at that place of the history, and begins to digest the cut. It
// returns false if another cut is being digested.
func (c *checking) cutAt(at place) bool {
	if c.running {
		return false
	}
	cut := c.m.host.Cut(persistence.History{ID: at.id, Offset: at.offset}, persistence.Agreed{})
	version, users := c.m.usersSum()
	c.at, c.index, c.sum, c.running = at, 0, "", true
	c.cut++
	c.m.host.Background(func() {
		d, ok := cut.Digest(c.m.ending)
		c.m.host.Slice(func() {
			cut.Release()
			c.running = false
			if ok && c.at == at {
				c.sum = fmt.Sprintf("%d%s-%x%s", digest.ExactVersion, version, d, users)
				c.tellSum()
			}
			c.m.host.EndUnit()
		})
	})
	return true
}

// tellSum passes the checksum to the engine, as soon as the index of the mark and the checksum are known.
func (c *checking) tellSum() {
	if c.index == 0 || c.sum == "" {
		return
	}
	c.m.counts.checks++
	c.m.engine.Checked(Checksum{c.index, c.sum})
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
			resumes, m.checking.undecided = m.checking.undecided > 0, 0
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
func (c *checking) suspend(index uint64) {
	if c.undecided == 0 {
		c.m.host.Log().Error("raft: the data of the members differs, and none of it is that of a majority: no member serves. RAFT MEMBERS says which differ. "+
			"Start those that are away. Or make the member with the right data the leader (RAFT TRANSFER), stop another, remove its directory raft, and start it", "index", index)
	}
	c.undecided = index
	c.last = time.Now()
	c.m.depose("the data of the members differs")
	c.m.changed()
}

// stayFor is the time for which a stopped member still answers the others. They ask about every 3 seconds,
// so they learn its state and its checksum.
const stayFor = 5 * time.Second

// part ends the part of a stopped member in the group. If it leads, it first hands the lead to another
// member.
func (c *checking) part() {
	if c.m.engine.Leads() {
		_ = c.m.engine.Transfer("")
	}
	select {
	case <-time.After(stayFor):
	case <-c.m.closed:
	}
	_ = c.m.engine.Close()
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
func (c *checking) Check() (Reply, error) {
	if !c.m.engine.Leads() {
		return nil, c.m.errNotHere()
	}
	before, busy := int64(0), false
	c.m.host.Slice(func() {
		if busy = c.running || c.wantsMark; !busy {
			before = c.cut
			c.beginCheck()
		}
		c.m.host.EndUnit()
	})
	if busy {
		return nil, commands.Error("ERR a check is being made")
	}
	index := uint64(0)
	if err := c.look(mostChecking, func() bool {
		c.m.host.Locked(func() {
			if c.cut > before && !c.running {
				index = c.index
			}
		})
		return index > 0
	}); err != nil {
		return nil, err
	}
	if err := c.look(mostComparing, func() bool { return c.m.Status().Compared >= index }); err != nil && c.m.ending() {
		return nil, err
	}
	s := c.m.Status()
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
func (c *checking) look(atMost time.Duration, is func() bool) error {
	for begun := time.Now(); !is(); time.Sleep(lookEvery) {
		switch {
		case c.m.ending() || !c.m.engine.Leads():
			return commands.Error("ERR this member leads no more: ask the one that does")
		case time.Since(begun) > atMost:
			return commands.Error("ERR the check goes on: RAFT MEMBERS will have what it finds")
		}
	}
	return nil
}

// writeChecks writes the fields of INFO about checks.
func (c *checking) writeChecks(t *info.Text, s *Status) {
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
	t.Flag("raft_check_in_progress", c.running)
	t.Line("raft_checks", c.m.counts.checks)
	t.Line("raft_members_differ", differ)
}
