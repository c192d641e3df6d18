package raft

import (
	"lockserver/commands"
	"lockserver/internal/resp"
)

// Members returns the reply to RAFT MEMBERS. It asks the others, and takes as long as the slowest answer.
func (m *Member) Members() (Reply, error) {
	s := m.engine.Survey()
	return func(c *commands.Ctx) {
		c.Out.Array(len(s.Peers))
		times := m.engine.Times()
		for _, p := range s.Peers {
			s.writeMember(c.Out, p, times.tripUS(p.ID))
		}
	}, nil
}

// role returns the name of a member's role in RAFT MEMBERS.
func (s *Status) role(p Peer, o *Observation) string {
	switch {
	case p.ID == s.Leader.ID:
		return "leader"
	case p.Learner:
		return "learner"
	case !o.Reachable && o.Why != "":
		return "unreachable"
	case o.Role == rebuilding.String() || o.Role == stopped.String():
		return o.Role
	}
	return "follower"
}

// writeMember writes a member as this one knows it. tripUS is the round trip to the member; -1: it is not
// known.
func (s *Status) writeMember(out *resp.Writer, p Peer, tripUS int64) {
	o := s.observation(p)
	since := o.Report.SinceMS
	if !o.Reachable {
		since = o.SinceMS
	}
	words := []string{"id", p.ID, "role", s.role(p, &o), "raft-address", p.Raft, "client-address", p.Client, "incarnation", p.Incarnation,
		"refused", s.refused(p)}
	more := []string{"unreachable", oneLineOf(o.Why), "version", o.Version, "last-snapshot-error", oneLineOf(o.Snapshot.Error),
		"damaged", oneLineOf(o.Damaged)}
	numbers := []struct {
		name string
		is   int64
	}{
		{"reachable", flag(o.Reachable)}, {"voter", flag(!p.Learner)}, {"last-index", int64(o.Last)}, {"commit-index", int64(o.Commit)},
		{"applied-index", int64(o.Applied)}, {"lag", int64(o.Lag)}, {"lag-ms", o.LagMS}, {"last-contact-ms", o.HeardMS},
		{"leader-contact-ms", o.ContactMS}, {"since-ms", since}, {"started-ms", o.StartedMS}, {"clock-ms", o.NowMS},
		{"disk-free", o.DiskFree}, {"disk-size", o.DiskSize}, {"last-snapshot-index", int64(o.Snapshot.Index)},
		{"last-snapshot-ms", o.Snapshot.AtMS}, {"last-snapshot-bytes", o.Snapshot.Bytes}, {"clock-skew-ms", o.SkewMS},
		{"round-trip-p99-us", tripUS}, {"log-sync-p99-us", o.SyncUS},
	}
	out.Map((len(words)+len(more))/2 + len(numbers) + checkFields)
	for _, w := range words {
		out.BulkString(w)
	}
	s.check(p).writeTo(out)
	for _, w := range more {
		out.BulkString(w)
	}
	for _, n := range numbers {
		out.BulkString(n.name)
		out.Int(n.is)
	}
}

// flag returns 1 for true, and 0 for false.
func flag(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
