package raft

import (
	"strconv"

	"lockserver/internal/histogram"
	"lockserver/server/info"
)

// Series has the durations of an operation since the process started, and in the last minute or two.
type Series struct{ All, Recent histogram.Histogram }

// P99US returns the time in microseconds that 99 of 100 durations of the last minute or two did not exceed;
// -1: there were none.
func (s *Series) P99US() int64 {
	if s.Recent.Count == 0 {
		return -1
	}
	return s.Recent.Percentile(99)
}

// Times are the durations of the operations that a group depends on.
type Times struct {
	// Sync has the durations of syncs of the log. Commit has the durations from a proposal of this leader
	// until the entry is committed and applied.
	Sync, Commit Series
	// Trips are the round trips of this leader's heartbeats. They do not wait for a disk.
	Trips []Trip
}

// Trip has the round trips to a member.
type Trip struct {
	ID string
	Series
}

// MemberLag is the number of committed entries that a member lacks.
type MemberLag struct {
	ID      string
	Entries uint64
}

// Times returns the durations. Any goroutine may call it.
func (m *Member) Times() Times { return m.engine.Times() }

// MemberLags returns the lags of the members that have reported theirs. Any goroutine may call it.
func (m *Member) MemberLags() (all []MemberLag) {
	s := m.engine.Status()
	for _, o := range s.Observed {
		if o.Reported {
			all = append(all, MemberLag{o.ID, o.Lag})
		}
	}
	return all
}

// writeTimes writes the fields of INFO about durations, in microseconds; -1: not known.
func (m *Member) writeTimes(t *info.Text, s *Status) {
	times := m.engine.Times()
	t.Line("raft_log_syncs", times.Sync.All.Count)
	t.Line("raft_log_sync_p99_usec", times.Sync.P99US())
	t.Line("raft_log_sync_max_usec", times.Sync.All.MaxUS)
	t.Line("raft_commit_p99_usec", times.Commit.P99US())
	t.Line("raft_commit_max_usec", times.Commit.All.MaxUS)
	number := 0
	for i := range s.Observed {
		if o := &s.Observed[i]; o.ID != s.ID {
			t.Line("raft_member"+strconv.Itoa(number), "id="+o.ID+",round_trip_p99_usec="+strconv.FormatInt(times.tripUS(o.ID), 10)+",lag_entries="+strconv.FormatUint(o.Lag, 10))
			number++
		}
	}
}

// tripUS returns the round trip to a member that 99 of 100 did not exceed; -1: not known.
func (t *Times) tripUS(id string) int64 {
	for i := range t.Trips {
		if t.Trips[i].ID == id {
			return t.Trips[i].P99US()
		}
	}
	return -1
}
