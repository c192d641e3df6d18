package server

import (
	"lockserver/commands"
	"lockserver/internal/histogram"
	"lockserver/server/info"
)

// What is counted and shown of delayed entries (DELAY.ADD). fireDelayed adds them to their streams.

// delayed counts the delayed entries that were added to their streams.
type delayed struct {
	fired int64
	late  histogram.Histogram // how late, in microseconds
}

// add returns a function that counts an entry added now.
func (d *delayed) add(nowUS int64) func(dueMS int64) {
	return func(dueMS int64) {
		d.fired++
		d.late.Add(nowUS - dueMS*1000)
	}
}

// DelayFigures is what a server tells of delayed entries.
type DelayFigures struct {
	// Pending is how many entries wait, by database: of the first, and of those that have any.
	Pending map[int]int64
	// Fired is how many were added to their streams since the start, and Late is how late.
	Fired int64
	Late  histogram.Histogram
}

// delayFigures returns the figures of this moment.
func (ex *executor) delayFigures() DelayFigures {
	f := DelayFigures{Pending: map[int]int64{0: 0}, Fired: ex.delayed.fired, Late: ex.delayed.late}
	for id := range ex.store.Len() {
		if _, n := commands.Delayed(ex.store.DB(id)); n > 0 {
			f.Pending[id] = n
		}
	}
	return f
}

// infoDelays is ours.
func (ex *executor) infoDelays(t *info.Text) {
	streams, pending := 0, int64(0)
	for id := range ex.store.Len() {
		s, n := commands.Delayed(ex.store.DB(id))
		streams, pending = streams+s, pending+n
	}
	t.Line("delayed_streams", streams)
	t.Line("delayed_pending", pending)
	t.Line("delayed_fired", ex.delayed.fired)
	t.Line("delayed_late_max_us", ex.delayed.late.MaxUS)
}
