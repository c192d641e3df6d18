package server

import (
	"lockserver/commands"
	"lockserver/internal/histogram"
	"lockserver/server/info"
	"lockserver/store"
)

// Delayed entries of streams (DELAY.ADD): the server adds them when they are due, in slices between which
// clients are served. What is added, and what is taken out of the keys of the stream, is one unit.

// fireDelayed adds delayed entries that are due to their streams, as a unit of its own, and reports whether
// there may be more. When the next one is due, store.NextAlarmMS tells the ticker. While the log cannot be
// written, nothing is added: it would be added again after a restart.
func (ex *executor) fireDelayed() (more bool) {
	if !ex.firesDelayed() || !ex.store.AlarmDue(store.DelayAlarm) || ex.failed != nil || ex.durable.Loading() {
		return false
	}
	// To contain a panic it is the command that does the same for a client.
	_ = ex.contain(ex.original.Lookup([]byte("xadd")), func() error {
		c := &commands.Ctx{Table: ex.table, DB: ex.store.DB(0), Rand: ex.rand, Host: ex, Queues: ex.queues, Settings: &ex.settings}
		more = commands.FireDelayed(c, ex.store, delayedBudget, ex.delayed.add(ex.store.NowUS()))
		return nil
	})
	ex.endUnit()
	return more && ex.failed == nil
}

// firesDelayed reports whether delayed entries are added to their streams when they are due.
func (ex *executor) firesDelayed() bool { return ex.endsThings() && ex.durable.Broken() == nil }

// delayedBudget is how many delayed entries one slice adds.
const delayedBudget = 128

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
