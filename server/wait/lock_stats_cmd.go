package wait

import (
	"iter"
	"maps"
	"slices"

	"lockserver/commands"
	"lockserver/internal/lockclass"
	"lockserver/internal/resp"
	"lockserver/internal/waiting"
	"lockserver/server/stats"
)

// LOCK.STATS, and the same figures for scrapes and the console.

// LockFigures are the figures of each database that has any.
func (ws *Waits) LockFigures() map[int]*stats.LockFigures {
	all := make(map[int]*stats.LockFigures)
	for id := range ws.Store.Len() {
		db := ws.Store.DB(id)
		f := ws.Stats.NewLockFigures(id, int64(db.Keys().Holders()), int64(ws.Queues.LenOfLocks(id)), db.LeasesExpired())
		f.Latches, f.LatchWaiters = int64(ws.Queues.LatchKeys(id)), int64(ws.Queues.LatchWaiters(id))
		if f.Any() {
			all[id] = &f
		}
	}
	return all
}

// lockStats tells of all databases together, and of each that has something to tell.
func lockStats(c *commands.Ctx) error {
	figures := partyOf(c).Waits.LockFigures()
	var sum stats.LockFigures
	for _, f := range figures {
		sum.Merge(f)
	}
	c.Out.Map(lockFigureFields + 2)
	writeLockFigures(c.Out, &sum)
	c.Out.BulkString("classes")
	writeClasses(c.Out, partyOf(c).Waits.LockEvents.Classes.All())
	c.Out.BulkString("databases")
	c.Out.Map(len(figures))
	for _, id := range slices.Sorted(maps.Keys(figures)) {
		c.Out.BulkInt(int64(id))
		c.Out.Map(lockFigureFields)
		writeLockFigures(c.Out, figures[id])
	}
	return nil
}

// lockFigureFields is how many fields writeLockFigures writes.
const lockFigureFields = 10

func writeLockFigures(out *resp.Writer, f *stats.LockFigures) {
	for _, count := range []struct {
		name string
		n    int64
	}{{"held", f.Held}, {"waiting", f.Waiting}, {"handoffs", f.Handoffs}, {"waits", f.Waits.Count}} {
		out.BulkString(count.name)
		out.Int(count.n)
	}
	for _, wait := range []struct {
		name string
		us   int64
	}{{"wait-p50", f.Waits.Percentile(50)}, {"wait-p99", f.Waits.Percentile(99)}, {"wait-max", f.Waits.MaxUS}} {
		out.BulkString(wait.name)
		out.Double(float64(wait.us) / 1000)
	}
	for _, count := range []struct {
		name string
		n    int64
	}{{"expired", f.Expired}, {"deadlocks", f.Deadlocks}, {"stale-tokens", f.StaleTokens}} {
		out.BulkString(count.name)
		out.Int(count.n)
	}
}

// oldestWaitsSought limits the waiters that OldestWaitUS and ClassFigures look at.
const oldestWaitsSought = 1000

// oldestWaits returns the waits for locks among the oldest waiters, with their ages in microseconds. oldest
// is the first in the list of all waiters.
func oldestWaits(oldest *waiting.Waiter, nowUS int64) iter.Seq2[*waiting.Waiter, int64] {
	return func(yield func(*waiting.Waiter, int64) bool) {
		for w, looked := oldest, 0; w != nil && looked < oldestWaitsSought; w, looked = w.Later(), looked+1 {
			if call := ParkedOf(w); !call.lock.Limiter() && !yield(w, max(0, nowUS-call.sinceUS)) {
				return
			}
		}
	}
}

// OldestWaitUS returns the age of the oldest wait for a lock, or 0 if all of the 1,000 oldest waits are for
// limiters.
func (ws *Waits) OldestWaitUS() int64 {
	for _, age := range oldestWaits(ws.Queues.Oldest(), ws.Store.NowUS()) {
		return age
	}
	return 0
}

// ClassFigures returns the figures of all classes of locks. oldest is the first in the list of all waiters. A
// class has the age of the last waiter that was looked at if its own waiters are behind it, and so younger.
func (st *lockEvents) ClassFigures(oldest *waiting.Waiter, nowUS int64) []lockclass.Figures {
	all, sought := st.Classes.All(), 0
	list := make([]lockclass.Figures, len(all))
	for i, class := range all {
		if list[i] = *class; class.Waiting > 0 {
			sought++
		}
	}
	age := int64(0)
	for w, since := range oldestWaits(oldest, nowUS) {
		if sought == 0 {
			break
		}
		age = since
		for pl := w.First(); pl != nil; pl = pl.Sibling() {
			i := slices.Index(all, st.classOf(&keyOf{text: []byte(pl.Key())}))
			if i >= 0 && list[i].OldestUS == 0 {
				list[i].OldestUS = max(1, age)
				sought--
			}
		}
	}
	for i := range list {
		if list[i].Waiting > 0 && list[i].OldestUS == 0 {
			list[i].OldestUS = age
		}
	}
	return list
}
