package raft

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind says what an alarm is about. The kinds are values of a label of metrics: do not change.
type Kind string

// The kinds.
const (
	AlarmStopped     Kind = "stopped"     // this member has stopped for good
	AlarmWaiting     Kind = "waiting"     // this server is in no group yet
	AlarmNoLeader    Kind = "no-leader"   // this member knows of no leader
	AlarmDiffers     Kind = "differs"     // members have different data
	AlarmRefused     Kind = "refused"     // a connection between members was refused
	AlarmDisk        Kind = "disk"        // this member cannot write to its disk
	AlarmDamaged     Kind = "damaged"     // the disk of a member was damaged
	AlarmSnapshot    Kind = "snapshot"    // the last snapshot could not be made
	AlarmUnreachable Kind = "unreachable" // a member does not answer the leader
	AlarmBehind      Kind = "behind"      // a member does not have what is committed
	AlarmClock       Kind = "clock"       // the clocks of members differ
	AlarmCertificate Kind = "certificate" // a certificate ends soon
	// AlarmClientAddress: no server answers at the client address of a member
	AlarmClientAddress Kind = "client-address"
	AlarmSlots         Kind = "slots" // a slot of the cluster has two owners, or the group cannot own its slots
	AlarmMove          Kind = "move"  // slots do not move on, or commands wait too long for their move
	AlarmMap           Kind = "map"   // another shard of the cluster has been silent: the map of it may be old
)

// Kinds are all kinds.
var Kinds = []Kind{AlarmStopped, AlarmWaiting, AlarmNoLeader, AlarmDiffers, AlarmRefused, AlarmDisk, AlarmDamaged, AlarmSnapshot, AlarmUnreachable, AlarmBehind, AlarmClock,
	AlarmCertificate, AlarmClientAddress, AlarmSlots, AlarmMap, AlarmMove}

// Alarm is something that an operator has to look at, in one line.
type Alarm struct {
	Kind Kind
	Text string
}

const (
	// behindFor is the age of a member's data from which there is an alarm.
	behindFor = 10 * time.Second
	// silentFor is the time without an answer of a member from which there is an alarm.
	silentFor = 5 * time.Second
	// leastFree is the number of free bytes on a disk below which there is an alarm: two files of the log.
	leastFree = 128 << 20
	// endsWithin is the rest of a certificate's life below which there is an alarm.
	endsWithin = 14 * 24 * time.Hour
)

// refused returns why the last connection between this member and p was refused a moment ago, whichever of
// the two opened it; empty: it was not refused.
func (s *Status) refused(p Peer) string {
	for _, r := range s.Refusals {
		if r.ID == p.ID || r.Raft == p.Raft {
			return r.Why
		}
	}
	return ""
}

// alarms returns the alarms of this member, about itself and about others. Under the host's lock.
func (m *Member) alarms(s *Status) (all []Alarm) {
	add := func(k Kind, format string, args ...any) { all = append(all, Alarm{k, fmt.Sprintf(format, args...)}) }
	if m.failed != nil {
		add(AlarmStopped, "this member has stopped: %v", m.failed)
	}
	if s.Waiting != "" {
		add(AlarmWaiting, "this server is in no group yet: %s", s.Waiting)
	}
	if s.Waiting == "" && s.Leader.ID == "" && m.failed == nil {
		add(AlarmNoLeader, "%s", noLeader)
	}
	if err := m.Undecided(); err != nil {
		add(AlarmDiffers, "no member serves: %v", err)
	}
	for _, c := range s.Checks {
		if p, is := Find(s.Peers, c.ID); is && p.Incarnation == c.Incarnation && c.Finding == Differs {
			add(AlarmDiffers, "'%s' has other data than the group, at the index %d", c.ID, c.Index)
		}
	}
	for _, r := range s.Refusals {
		if r.ID != "" {
			add(AlarmRefused, "'%s' is refused: %s", r.ID, r.Why)
		} else {
			add(AlarmRefused, "%s: %s", r.Raft, r.Why)
		}
	}
	slots, maps, moves := m.Owned.faults(m)
	for _, fault := range slots {
		add(AlarmSlots, "%s", fault)
	}
	for _, fault := range maps {
		add(AlarmMap, "%s", fault)
	}
	for _, fault := range moves {
		add(AlarmMove, "%s", fault)
	}
	m.ownAlarms(s, add)
	m.othersAlarms(s, add)
	for i := range all {
		all[i].Text = strings.Map(oneLine, all[i].Text)
	}
	slices.SortFunc(all, func(a, b Alarm) int { return cmp.Compare(a.Text, b.Text) })
	return all
}

// young reports whether this member began to ask the others only a moment ago. The others may be starting
// as well.
func (s *Status) young() bool {
	for i := range s.Observed {
		if o := &s.Observed[i]; o.ID == s.ID && o.StartedMS > 0 {
			return time.Duration(o.NowMS-o.StartedMS)*time.Millisecond <= silentFor
		}
	}
	return false
}

// othersAlarms adds the alarms about other members. The leader knows best how old the data of each member
// is.
func (m *Member) othersAlarms(s *Status, add func(k Kind, format string, args ...any)) {
	young := s.young()
	for i := range s.Observed {
		o := &s.Observed[i]
		silent := time.Duration(o.HeardMS) * time.Millisecond
		if o.ClientFault != "" {
			add(AlarmClientAddress, "no server for clients answers at the client address of '%s': %s", o.ID, o.ClientFault)
		}
		if o.Damaged != "" && o.ID != s.ID {
			add(AlarmDamaged, "the disk of '%s' was damaged: %s", o.ID, o.Damaged)
		}
		switch {
		case o.ID == s.ID:
			if o.DiskFree >= 0 && o.DiskFree < leastFree {
				add(AlarmDisk, "the disk of this member has %d MB left", o.DiskFree>>20)
			}
		case o.Role == stopped.String(): // in its last answer: it ends soon after
			add(AlarmStopped, "'%s' has stopped: its log says why", o.ID)
		case !o.Reachable && o.Why != "" && o.HeardMS < 0:
			if young {
				continue
			}
			add(AlarmUnreachable, "'%s' has not answered yet: %s", o.ID, o.Why)
		case !o.Reachable && o.Why != "" && silent > silentFor:
			add(AlarmUnreachable, "'%s' has not answered for %v: %s", o.ID, silent.Truncate(time.Second), o.Why)
		case o.Reachable && m.state == leading && time.Duration(o.LagMS)*time.Millisecond > behindFor:
			add(AlarmBehind, "'%s' does not have %d committed entries", o.ID, o.Lag)
		}
	}
	if m.state != leading {
		return
	}
	for _, o := range s.others() {
		if skew := time.Duration(o.SkewMS) * time.Millisecond; skew.Abs() >= mostBehind {
			add(AlarmClock, "the clock of '%s' is %s that of this member, which leads: %s", o.ID, apart(skew), setClocks)
		}
	}
}

// setClocks says what an operator does about clocks that differ.
const setClocks = "set the clocks of all members (NTP, chrony)"

// apart says in words how far a clock is ahead of another one.
func apart(skew time.Duration) string {
	where := "ahead of"
	if skew < 0 {
		where = "behind"
	}
	return fmt.Sprint(skew.Abs().Round(100*time.Millisecond), " ", where)
}

// ownAlarms adds what is wrong with this member's machine.
func (m *Member) ownAlarms(s *Status, add func(k Kind, format string, args ...any)) {
	if s.DiskError != "" {
		add(AlarmDisk, "this member cannot write to its disk: %s", s.DiskError)
	}
	if s.Damaged != "" {
		add(AlarmDamaged, "the disk of this member was damaged: %s. Its files are in raft/damaged-*: remove them when they are not needed", s.Damaged)
	}
	if m.attempt.Error != "" {
		add(AlarmSnapshot, "the last snapshot could not be made: %s", m.attempt.Error)
	}
	if lag := m.lag(); lag > behindFor && s.Leader.ID != "" && m.failed == nil {
		add(AlarmBehind, "this member does not have what was committed in the last %v", lag.Truncate(time.Second))
	}
	if skew := time.Duration(m.distance.skewMS) * time.Millisecond; m.state == following && skew.Abs() >= mostBehind {
		add(AlarmClock, "the clock of this machine is %s that of the member that leads: %s", apart(skew), setClocks)
	}
	if m.options.CertificateEnds != nil {
		if ends := m.options.CertificateEnds(); !ends.IsZero() && time.Until(ends) < endsWithin {
			verb := "ends"
			if time.Now().After(ends) {
				verb = "has ended"
			}
			add(AlarmCertificate, "a certificate of this server %s at %s", verb, ends.UTC().Format(time.RFC3339))
		}
	}
}

// texts are the lines of alarms.
func texts(all []Alarm) []string {
	lines := make([]string, len(all))
	for i, a := range all {
		lines[i] = a.Text
	}
	return lines
}

// Alarms returns the alarms of this member, about itself and about others.
func (m *Member) Alarms() []Alarm {
	s := m.engine.Status()
	return m.alarms(&s)
}

const noLeader = "the raft group has no leader"

// AwaitsAdd reports whether this server waits to be added to a group.
func (m *Member) AwaitsAdd() bool { return m.engine.Status().Waiting == AwaitsAdd }

// Unknowing returns the reason for which this server knows of no leader; nil: no reason is known.
func (m *Member) Unknowing() error {
	s := m.engine.Status()
	all := slices.DeleteFunc(m.alarms(&s), func(a Alarm) bool { return a.Kind == AlarmNoLeader })
	if len(all) > 0 {
		return errors.New(noLeader + ": " + strings.Join(texts(all), "; "))
	}
	return errors.New(noLeader)
}
