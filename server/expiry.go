package server

import (
	"lockserver/commands"
	"lockserver/internal/histogram"
	"lockserver/server/info"
)

// What is counted and shown of delayed entries (DELAY.ADD).

// DelayFigures is what a server tells of delayed entries.
type DelayFigures struct {
	// Pending is how many entries wait, by database: of the first, and of those that have any.
	Pending map[int]int64
	// Fired is how many were added to their streams since the start, and Late is how late.
	Fired int64
	Late  histogram.Histogram
	// Recurred is how many of Fired recur, and Skipped is how many times of recurring entries were missed and
	// not made up for (MISSED SKIP).
	Recurred, Skipped int64
}

// delayFigures returns the figures of this moment.
func (ex informant) delayFigures() DelayFigures {
	f := DelayFigures{Pending: map[int]int64{0: 0}, Fired: ex.Counts.Delayed.Fired, Late: ex.Counts.Delayed.Late,
		Recurred: ex.Counts.Delayed.Recurred, Skipped: ex.Counts.Delayed.Skipped}
	for id := range ex.Store.Len() {
		if _, n := commands.Delayed(ex.Store.DB(id)); n > 0 {
			f.Pending[id] = n
		}
	}
	return f
}

// infoDelays is ours.
func (ex informant) infoDelays(t *info.Text) {
	streams, pending := 0, int64(0)
	for id := range ex.Store.Len() {
		s, n := commands.Delayed(ex.Store.DB(id))
		streams, pending = streams+s, pending+n
	}
	t.Line("delayed_streams", streams)
	t.Line("delayed_pending", pending)
	t.Line("delayed_fired", ex.Counts.Delayed.Fired)
	t.Line("delayed_recurred", ex.Counts.Delayed.Recurred)
	t.Line("delayed_skipped", ex.Counts.Delayed.Skipped)
	t.Line("delayed_late_max_us", ex.Counts.Delayed.Late.MaxUS)
}
