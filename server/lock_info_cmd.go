package server

import (
	"lockserver/commands"
	"lockserver/internal/resp"
)

func lockRows() []commands.Row {
	return []commands.Row{
		{Name: "lock.info", Group: commands.Lock, Since: "0.1.0", Flags: commands.ReadOnly, Run: lockInfo,
			Summary:    "Tells who holds a lock, since when and for how long, and who waits for it.",
			Complexity: "O(N) where N is the number of waiters",
			Args:       []commands.Arg{commands.Key("key", commands.RO|commands.Access)}},
	}
}

func lockInfo(c *commands.Ctx) error {
	key := c.Args().Key()
	l, err := commands.FindLock(c.DB, key)
	if err != nil {
		return err
	}
	if l.Holds == 0 {
		c.Out.Null()
		return nil
	}
	ex := sessionOf(c).executor
	holder, sinceMS := ex.holderOf(c.DB.Peek(key).Note())
	r := ex.watchdog.find(c.DB, key)
	watched := r != nil && string(r.owner) == string(l.Owner) && r.token == l.Token
	if watched {
		holder = r.session
	}
	out := c.Out
	out.Map(8)
	out.BulkString("owner")
	out.Bulk(l.Owner)
	out.BulkString("holds")
	out.Int(l.Holds)
	writeKnown(out, "token", l.Token)
	out.BulkString("ttl")
	out.Int(l.TTLMS(c.NowMS()))
	out.BulkString("watchdog")
	out.Bool(watched)
	writeClient(out, holder)
	writeKnown(out, "held-since", sinceMS)
	out.BulkString("waiters")
	ex.writeWaiters(c, key)
	return nil
}

// writeKnown writes a field that is null if it is 0.
func writeKnown(out *resp.Writer, field string, n int64) {
	out.BulkString(field)
	if n == 0 {
		out.Null()
		return
	}
	out.Int(n)
}

// writeClient writes the field that tells of a connection; null if there is none (any more).
func writeClient(out *resp.Writer, s *session) {
	out.BulkString("client")
	if s == nil {
		out.Null()
		return
	}
	out.Map(3)
	out.BulkString("id")
	out.Int(s.id)
	out.BulkString("address")
	out.BulkString(s.info.addr)
	out.BulkString("name")
	out.BulkString(s.info.name)
}

// writeWaiters writes who stands in the key's queue, in order.
func (ex *executor) writeWaiters(c *commands.Ctx, key []byte) {
	list := c.Out.DeferArray()
	n := 0
	if q := ex.parking.queues[c.DB.ID()][string(key)]; q != nil {
		for pl := q.first; pl != nil; pl = pl.next {
			w := pl.waiter
			if w.claimant == nil {
				continue // it waits for something else than a lock
			}
			c.Out.Map(4)
			c.Out.BulkString("owner")
			c.Out.Bulk(w.wait.Owner)
			writeClient(c.Out, w.session)
			writeKnown(c.Out, "waiting-since", w.sinceMS)
			writeKnown(c.Out, "deadline", w.wait.DeadlineMS)
			n++
		}
	}
	c.Out.SetArray(list, n)
}
