package raft

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// refused is why a member was refused as the caller or the called a moment ago; empty: it was not.
func (s *Status) refused(p Peer) string {
	for _, r := range s.Refusals {
		if r.ID == p.ID || r.Raft == p.Raft {
			return r.Why
		}
	}
	return ""
}

// alarms are what an operator has to look at, each in one line. Under the host's lock.
func (m *Member) alarms(s *Status) (all []string) {
	if m.failed != nil {
		all = append(all, "this member has stopped: "+m.failed.Error())
	}
	if s.Waiting != "" {
		all = append(all, "this server is in no group yet: "+s.Waiting)
	}
	if err := m.Undecided(); err != nil {
		all = append(all, "no member serves: "+err.Error())
	}
	for _, c := range s.Checks {
		if p, is := Find(s.Peers, c.ID); is && p.Incarnation == c.Incarnation && c.Finding == Differs {
			all = append(all, fmt.Sprintf("'%s' has other data than the group, at the index %d", c.ID, c.Index))
		}
	}
	for _, r := range s.Refusals {
		if r.ID != "" {
			all = append(all, "'"+r.ID+"' is refused: "+r.Why)
		} else {
			all = append(all, r.Raft+": "+r.Why)
		}
	}
	for i := range all {
		all[i] = strings.Map(oneLine, all[i])
	}
	slices.Sort(all)
	return all
}

// oneLine takes line ends out of a text.
func oneLine(r rune) rune {
	if r == '\r' || r == '\n' {
		return ' '
	}
	return r
}

// oneLineOf is a text without line ends.
func oneLineOf(text string) string { return strings.Map(oneLine, text) }

// Alarms are what an operator has to look at.
func (m *Member) Alarms() []string {
	s := m.engine.Status()
	return m.alarms(&s)
}

// AwaitsAdd reports whether this server waits to be added to a group.
func (m *Member) AwaitsAdd() bool { return m.engine.Status().Waiting == AwaitsAdd }

// Unknowing is why this server knows of no leader, if more is known than that there is none.
func (m *Member) Unknowing() error {
	s := m.engine.Status()
	if all := m.alarms(&s); len(all) > 0 {
		return errors.New("the raft group has no leader: " + strings.Join(all, "; "))
	}
	return errors.New("the raft group has no leader")
}
