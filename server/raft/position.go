package raft

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockserver/server/info"
)

// A follower computes how old its data is. A few times a second it asks the leader for the length of the
// history. The leader asks the others to confirm that it leads. Then it answers with the length that was
// committed. When the follower has applied that length, it has all effects that clients saw before the
// question. The follower uses its own clock only, so differences between clocks do not matter.

// Position is the length of the leader's history, and its clocks.
type Position struct {
	Offset int64  // in bytes: all of it is committed
	Commit uint64 // the index of the newest entry that is committed
	// ClockMS is the clock of the leader's machine, and TimeMS the group's time, in milliseconds since
	// 1970. A leader of an older version sends the group's time as ClockMS, and no TimeMS: that is 0 then.
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
	// ErrCannotAsk is returned by an engine that cannot ask the leader.
	ErrCannotAsk = errors.New("this member does not answer questions for its position")
	// ErrNoPosition is returned if no leader answers now, or the leader does not serve yet.
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

func newDistance() distance { return distance{since: time.Now()} }

// mostAhead bounds the answers that are kept. If there are more, the oldest stay, because the member
// applies their places first.
const mostAhead = 16

// learn takes an answer. asked is the time of the question, and heard that of the answer.
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

// come drops the answers with places up to an offset, which the member has applied.
func (d *distance) come(offset int64) {
	for len(d.ahead) > 0 && d.ahead[0].offset <= offset {
		d.asOf = d.ahead[0].asked
		d.ahead = d.ahead[1:]
	}
}

// age returns an upper bound for the age of the data; false: it is not known. The monotonic clock may not
// count the sleep of a machine, so the wall clock is compared as well.
func (d *distance) age(now time.Time) (time.Duration, bool) {
	if d.asOf.IsZero() {
		return 0, false
	}
	byWall := now.Round(0).Sub(d.asOf.Round(0))
	return max(now.Sub(d.asOf), byWall, -byWall), true
}

// lag returns for how long this member has lacked committed effects: 0 if it leads. If the age of its data
// is not known, lag is the time since it was last known. Under the host's lock.
func (l *lagging) lag() time.Duration {
	if l.m.state == leading {
		return 0
	}
	if age, known := l.age(); known {
		return age
	}
	return time.Since(l.distance.since)
}

// writeDistance writes the fields of INFO about the lag.
func (l *lagging) writeDistance(t *info.Text, s *Status) {
	entries := int64(-1)
	switch {
	case l.m.state == leading:
		entries = 0
	case !l.distance.heard.IsZero():
		entries = max(0, int64(l.distance.commit)-int64(s.AppliedIndex))
	}
	t.Line("raft_lag_ms", l.lag().Milliseconds())
	t.Line("raft_lag_entries", entries)
	t.Line("raft_clock_skew_ms", l.distance.skewMS)
	t.Line("raft_time_ahead_ms", l.timeAhead().Milliseconds())
	self, away := s.observation(Peer{ID: s.ID, Incarnation: s.Incarnation}), 0
	for i := range s.Observed {
		if o := &s.Observed[i]; o.ID != s.ID && !o.Reachable {
			away++
		}
	}
	t.Line("raft_disk_free_bytes", self.DiskFree)
	t.Line("raft_members_unreachable", away)
	apart := int64(0)
	if l.m.state == leading {
		for _, o := range s.others() {
			apart = max(apart, o.SkewMS, -o.SkewMS)
		}
	}
	t.Line("raft_members_clock_skew_ms", apart)
}

// ServesReads reports whether the data of this follower is new enough for reads. Under the host's lock.
func (l *lagging) ServesReads() bool {
	// plant:reads-age
	age, known := l.age()
	return known && l.m.options.ReadsMaxLag > 0 && age <= l.m.options.ReadsMaxLag && l.m.checking.undecided == 0
}

// age returns an upper bound for the age of a follower's data; false: it is not known, or this member
// leads.
func (l *lagging) age() (time.Duration, bool) {
	if l.m.state != following {
		return 0, false
	}
	l.distance.come(l.m.applied.offset)
	return l.distance.age(time.Now())
}

const (
	// askEvery and askSoonest bound the time between two questions. Within these bounds a follower asks
	// three times while its data may get too old for reads.
	askEvery   = time.Second
	askSoonest = 20 * time.Millisecond
	// askWithin bounds the time of an answer.
	askWithin = 2 * time.Second
)

// measure is the goroutine that measures how old a follower's data is.
func (l *lagging) measure() {
	pause := askEvery
	if most := l.m.options.ReadsMaxLag; most > 0 {
		pause = min(max(most/3, askSoonest), askEvery)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.m.host.Background(func() {
		<-l.m.closed
		cancel()
	})
	if _, err := l.m.engine.LeaderPosition(ctx); errors.Is(err, ErrCannotAsk) {
		return
	}
	for {
		select {
		case <-l.m.closed:
			return
		case <-time.After(pause):
		}
		l.measureOnce(ctx)
	}
}

// measureOnce asks the leader, if this member follows.
func (l *lagging) measureOnce(ctx context.Context) {
	run := -1
	l.m.host.Locked(func() {
		if l.m.state == following {
			run = l.m.run
		}
	})
	if run < 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	asked := time.Now()
	p, err := l.m.engine.LeaderPosition(ctx)
	l.m.host.Slice(func() {
		if l.m.run != run || l.m.state != following {
			return
		}
		if l.distance.failed = err; err == nil {
			l.distance.learn(p, asked, time.Now(), l.m.host.MachineMS())
			l.distance.come(l.m.applied.offset)
			l.lookAtClocks()
		}
	})
}
