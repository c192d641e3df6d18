package raft

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockserver/server/info"
)

// A follower knows how old its data is. A few times a second it asks the leader how far the history goes. The
// leader answers with what was committed when it still led, which it has the others confirm after the
// question came. When the follower has come to that place, it has all that any client had been answered when
// it asked. The time is that of the follower's own clock, so clocks that differ do not matter.

// Position is how far the leader's history goes, and what its clocks show.
type Position struct {
	Offset int64  // in bytes: all of it is committed
	Commit uint64 // the index of the newest entry that is committed
	// ClockMS is the clock of the leader's machine, and TimeMS the group's time, in milliseconds since 1970.
	// A leader of an older version says the group's time in place of both: TimeMS is 0 then.
	ClockMS, TimeMS int64
}

// Text is the form in which members send it, do not change. Words may be added.
func (p Position) Text() string {
	return fmt.Sprint(p.Offset, " ", p.Commit, " ", p.ClockMS, " ", p.TimeMS)
}

// ParsePosition reads Position.Text.
func ParsePosition(text string) (p Position, err error) {
	if n, err := fmt.Sscan(text, &p.Offset, &p.Commit, &p.ClockMS, &p.TimeMS); n < 3 {
		return p, err
	}
	return p, nil
}

var (
	// ErrCannotAsk is returned by an engine that knows no way to ask the leader.
	ErrCannotAsk = errors.New("this member does not answer questions for its position")
	// ErrNoPosition is returned when there is no answer now: no member leads, or none that serves.
	ErrNoPosition = errors.New("no leader has said how far the history goes")
)

// Position implements Machine.
func (a openedMember) Position() (p Position, err error) {
	m := a.member
	term := -1
	m.host.Locked(func() {
		if m.run == a.run && m.state == leading {
			term = m.term
		}
	})
	if term < 0 {
		return p, ErrNoPosition
	}
	// plant:position-proof
	if err := m.engine.Prove()(); err != nil {
		return p, fmt.Errorf("%w: %w", ErrNoPosition, err)
	}
	commit := m.engine.Status().CommitIndex
	err = ErrNoPosition
	m.host.Slice(func() {
		if m.run == a.run && m.state == leading && m.term == term {
			p, err = Position{Offset: m.applied.offset, Commit: commit, ClockMS: m.host.MachineMS(), TimeMS: m.host.NowMS()}, nil
		}
	})
	return p, err
}

// distance is how far a follower is behind the leader. Make it with newDistance: it is not known then.
type distance struct {
	since time.Time // when it was made
	// asOf: this member has all that was committed then; zero: that is not known of any time.
	asOf time.Time
	// ahead are answers that this member has not come to yet, oldest first.
	ahead []answered
	// commit and skewMS are of the newest answer, which came at heard. commit is the newest committed entry.
	// skewMS is how far this machine's clock is ahead of that of the leader's machine, at least. aheadMS is
	// how far the group's time is ahead of that.
	commit          uint64
	skewMS, aheadMS int64
	heard           time.Time
	// failed is why the newest question was not answered; nil: it was.
	failed error
}

func newDistance() distance { return distance{since: time.Now()} }

// answered is an answer to a question that was asked at a time.
type answered struct {
	asked  time.Time
	offset int64
}

// mostAhead is how many answers are kept. Of those that come meanwhile the oldest stay: the member comes to
// them first.
const mostAhead = 16

// learn takes an answer. asked and heard are when it was asked for, and when it came.
func (d *distance) learn(p Position, asked, heard time.Time, nowMS int64) {
	if len(d.ahead) < mostAhead {
		d.ahead = append(d.ahead, answered{asked, p.Offset})
	}
	// The leader has read its clock between asked and heard.
	d.commit, d.heard, d.failed, d.skewMS, d.aheadMS = p.Commit, heard, nil, 0, 0
	if p.TimeMS != 0 {
		d.aheadMS = p.TimeMS - p.ClockMS
	}
	took := heard.Sub(asked).Milliseconds()
	switch least, most := nowMS-took-p.ClockMS, nowMS-p.ClockMS; {
	case least > 0:
		d.skewMS = least
	case most < 0:
		d.skewMS = most
	}
}

// come drops the answers that a member has come to, which is at an offset.
func (d *distance) come(offset int64) {
	for len(d.ahead) > 0 && d.ahead[0].offset <= offset {
		d.asOf = d.ahead[0].asked
		d.ahead = d.ahead[1:]
	}
}

// age is how old the data is at most; false: that is not known. A machine that has slept for a while may not
// have counted that, so the clock on its wall counts as well.
func (d *distance) age(now time.Time) (time.Duration, bool) {
	if d.asOf.IsZero() {
		return 0, false
	}
	byWall := now.Round(0).Sub(d.asOf.Round(0))
	return max(now.Sub(d.asOf), byWall, -byWall), true
}

// lag is how long this member has not had what was committed: 0 if it leads. Where the age of its data is not
// known, it is the time for which that has been so. Under the host's lock.
func (m *Member) lag() time.Duration {
	if m.state == leading {
		return 0
	}
	if age, known := m.age(); known {
		return age
	}
	return time.Since(m.distance.since)
}

// writeDistance writes the fields of INFO about the lag.
func (m *Member) writeDistance(t *info.Text, s *Status) {
	entries := int64(-1)
	switch {
	case m.state == leading:
		entries = 0
	case !m.distance.heard.IsZero():
		entries = max(0, int64(m.distance.commit)-int64(s.AppliedIndex))
	}
	t.Line("raft_lag_ms", m.lag().Milliseconds())
	t.Line("raft_lag_entries", entries)
	t.Line("raft_clock_skew_ms", m.distance.skewMS)
	t.Line("raft_time_ahead_ms", m.timeAhead().Milliseconds())
	self, away := s.observation(Peer{ID: s.ID, Incarnation: s.Incarnation}), 0
	for i := range s.Observed {
		if o := &s.Observed[i]; o.ID != s.ID && !o.Reachable {
			away++
		}
	}
	t.Line("raft_disk_free_bytes", self.DiskFree)
	t.Line("raft_members_unreachable", away)
	apart := int64(0)
	if m.state == leading {
		for _, o := range s.others() {
			apart = max(apart, o.SkewMS, -o.SkewMS)
		}
	}
	t.Line("raft_members_clock_skew_ms", apart)
}

// ServesReads reports whether this member, which follows, has data that is new enough for reads. Under the
// host's lock.
func (m *Member) ServesReads() bool {
	// plant:reads-age
	age, known := m.age()
	return known && m.options.ReadsMaxLag > 0 && age <= m.options.ReadsMaxLag && m.check.undecided == 0
}

// age is how old the data of this member is at most, if it follows; false: that is not known, or it does not.
func (m *Member) age() (time.Duration, bool) {
	if m.state != following {
		return 0, false
	}
	m.distance.come(m.applied.offset)
	return m.distance.age(time.Now())
}

const (
	// askEvery and askSoonest bound how often a follower asks. Within them it asks three times in the time
	// that its data may be old for reads.
	askEvery   = time.Second
	askSoonest = 20 * time.Millisecond
	// askWithin is how long an answer may take.
	askWithin = 2 * time.Second
)

// measure is the goroutine by which a follower knows how old its data is.
func (m *Member) measure() {
	pause := askEvery
	if most := m.options.ReadsMaxLag; most > 0 {
		pause = min(max(most/3, askSoonest), askEvery)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.host.Background(func() {
		<-m.closed
		cancel()
	})
	if _, err := m.engine.LeaderPosition(ctx); errors.Is(err, ErrCannotAsk) {
		return
	}
	for {
		select {
		case <-m.closed:
			return
		case <-time.After(pause):
		}
		m.measureOnce(ctx)
	}
}

// measureOnce asks the leader, if this member follows.
func (m *Member) measureOnce(ctx context.Context) {
	run := -1
	m.host.Locked(func() {
		if m.state == following {
			run = m.run
		}
	})
	if run < 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	asked := time.Now()
	p, err := m.engine.LeaderPosition(ctx)
	m.host.Slice(func() {
		if m.run != run || m.state != following {
			return
		}
		if m.distance.failed = err; err == nil {
			m.distance.learn(p, asked, time.Now(), m.host.MachineMS())
			m.distance.come(m.applied.offset)
			m.lookAtClocks()
		}
	})
}
