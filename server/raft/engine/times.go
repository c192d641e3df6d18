package engine

import (
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
	"lockserver/internal/histogram"
	"lockserver/server/raft"
)

// recentFor is the time for which durations are collected as recent. Those of the period before count for
// the same time.
const recentFor = time.Minute

// series counts how long a thing took, each time.
type series struct {
	mu               sync.Mutex
	all, now, before histogram.Histogram
	since            time.Time // of now
}

// add counts a duration that ended at a time.
func (s *series) add(took time.Duration, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roll(at)
	s.all.Add(took.Microseconds())
	s.now.Add(took.Microseconds())
}

// roll begins to collect anew when it is time for that.
func (s *series) roll(at time.Time) {
	age := at.Sub(s.since)
	if age < recentFor {
		return
	}
	if s.before = s.now; age >= 2*recentFor {
		s.before = histogram.Histogram{}
	}
	s.now, s.since = histogram.Histogram{}, at
}

// read returns the counted durations.
func (s *series) read(at time.Time) (is raft.Series) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roll(at)
	is.All, is.Recent = s.all, s.now
	is.Recent.Merge(&s.before)
	return is
}

// times are how long things took since the process started.
type times struct {
	syncs, commits series
	mu             sync.Mutex
	trips          map[hraft.ServerID]*series
}

// trip counts a round trip to a member.
func (t *times) trip(id hraft.ServerID, took time.Duration, at time.Time) {
	t.mu.Lock()
	s := t.trips[id]
	if s == nil {
		if t.trips == nil {
			t.trips = make(map[hraft.ServerID]*series)
		}
		s = new(series)
		t.trips[id] = s
	}
	t.mu.Unlock()
	s.add(took, at)
}

// syncing is a log that tells how long its syncs take.
type syncing interface {
	OnSync(f func(took time.Duration))
}
