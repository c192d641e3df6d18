package wait

import (
	"lockserver/commands"
	"lockserver/internal/waiting"
)

// SEM.INFO: who holds permits of a semaphore, and who waits for some. And what the commands for operators
// reply about a latch that clients wait for. A latch has no owner, so LOCK.STATS and the classes of locks do
// not count it.

func semaphoreRows() []commands.Row {
	return []commands.Row{
		{Name: "sem.info", Group: commands.Lock, Since: "0.1.0", Flags: commands.ReadOnly, Run: semInfo,
			Summary:    "Tells the limit of a semaphore, how many permits are available, who holds the others, and who waits.",
			Complexity: "O(N) where N is the number of holders and waiters that it shows, and at most 10,000 others that it looks at",
			Args: []commands.Arg{commands.Key("key", commands.RO|commands.Access),
				commands.Opt(commands.Int("count").After("COUNT"))}},
	}
}

// semInfo replies nil if there is no semaphore.
func semInfo(c *commands.Ctx) error {
	a := c.Args()
	key := a.Key()
	most, err := countOption(a)
	if err != nil {
		return err
	}
	sem, err := commands.FindSemaphore(c.DB, key)
	if err != nil {
		return err
	}
	if sem.Limit == 0 {
		c.Out.Null()
		return nil
	}
	most = boundList(most, sem.Holders, waitersFor(c, key))
	out := c.Out
	fields, shown := 5, sem.Holders
	if most >= 0 {
		fields, shown = 7, min(shown, int(most))
	}
	out.Map(fields)
	out.BulkString("limit")
	out.Int(sem.Limit)
	out.BulkString("available")
	out.Int(sem.Available())
	out.BulkString("used")
	out.Int(sem.Used)
	if most >= 0 {
		out.BulkString("holding")
		out.Int(int64(sem.Holders))
	}
	out.BulkString("holders")
	list, n := out.DeferArray(), 0
	commands.EachHolder(c.DB.PeekLive(key), func(h commands.Holder) bool {
		if n < shown {
			writePermits(c, key, &h)
			n++
		}
		return n < shown
	})
	out.SetArray(list, n)
	q := partyOf(c).Waits.Queues.Of(c.DB.ID(), key)
	waiters := 0
	if q != nil {
		waiters = q.OfLocks()
	}
	if most >= 0 {
		out.BulkString("waiting")
		out.Int(int64(waiters))
		waiters = min(waiters, int(most))
	}
	out.BulkString("waiters")
	out.Array(waiters)
	writePermitWaiters(c, q, waiters)
	return nil
}

// writePermits writes a holder.
func writePermits(c *commands.Ctx, key []byte, h *commands.Holder) {
	out := c.Out
	w := &partyOf(c).Waits.Watchdog
	client, watched := w.shareOf(c.DB.ID(), key, h.Owner, h.Token)
	out.Map(7)
	out.BulkString("owner")
	out.Bulk(h.Owner)
	out.BulkString("permits")
	out.Int(h.Shared)
	writeKnown(out, "token", h.Token)
	out.BulkString("ttl")
	out.Int(h.TTLMS(c.DB.Store().NowUS()))
	out.BulkString("watchdog")
	out.Bool(watched)
	writeClient(out, client)
	writeAttached(out, &w.Attached, h.Owner)
}

// writePermitWaiters writes the first n of a queue that wait for permits, in the order in which they are
// granted.
func writePermitWaiters(c *commands.Ctx, q *waiting.Queue, n int) {
	if n == 0 {
		return
	}
	for _, of := range partyOf(c).Waits.Queues.InGrantOrder(q, n) {
		w, out := ParkedOf(of), c.Out
		fields := 5
		if w.Level() > 0 {
			fields++
		}
		out.Map(fields)
		out.BulkString("owner")
		out.BulkString(w.Owner())
		out.BulkString("permits")
		out.Int(int64(w.Units()))
		w.writeWaitingClient(out)
		writeKnown(out, "since", w.sinceUS/1000)
		writeKnown(out, "deadline", w.DeadlineMS())
		w.writePriority(out)
	}
}
