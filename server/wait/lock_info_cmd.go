package wait

import (
	"math"
	"slices"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/internal/waiting"
	"lockserver/server/acl"
	"lockserver/server/attach"
	"lockserver/store"
)

// The replies about locks and about their waiters.

func lockRows() []commands.Row {
	return []commands.Row{
		{Name: "lock.info", Group: commands.Lock, Since: "0.1.0", Flags: commands.ReadOnly, Run: lockInfo,
			Summary:    "Tells who holds a lock, since when and for how long, and who waits for it.",
			Complexity: "O(N) where N is the number of holders and waiters that it shows, and at most 10,000 others that it looks at",
			Args: []commands.Arg{commands.Key("key", commands.RO|commands.Access),
				commands.Opt(commands.Int("count").After("COUNT"))}},
		{Name: "lock.waiters", Group: commands.Lock, Since: "0.1.0", Flags: commands.ReadOnly, Run: lockWaiters,
			Tips:       []string{"nondeterministic_output_order", "request_policy:all_shards"},
			Summary:    "Tells who waits for locks, those who have waited longest first, and who holds what they wait for.",
			Complexity: "O(N) where N is the number of waiters it looks at",
			Args:       []commands.Arg{commands.Opt(commands.Str("owner").After("OWNER")), commands.Opt(commands.Int("count").After("COUNT"))}},
		{Name: "lock.deadlocks", Group: commands.Lock, Since: "0.1.0", Flags: commands.ReadOnly, Run: lockDeadlocks,
			Tips:       []string{"nondeterministic_output_order", "request_policy:all_shards"},
			Summary:    "Lists the deadlock cycles that were refused lately, the latest first.",
			Complexity: "O(N) where N is the number of cycles",
			Args:       []commands.Arg{commands.Opt(commands.Int("count").After("COUNT"))}},
		{Name: "lock.stats", Group: commands.Lock, Since: "0.1.0", Flags: commands.ReadOnly, Run: lockStats,
			Tips:       []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
			Summary:    "Tells how many locks are held and waited for, how long waits took, and what went wrong.",
			Complexity: "O(N) where N is the number of databases", Databases: commands.Databases{All: true}},
	}
}

// countOption reads the one option that these commands have; -1: it was not given.
func countOption(a *commands.Scanner) (n int64, err error) {
	n = -1
	for a.More() {
		if a.Option() == "COUNT" {
			if n = a.IntOr(commands.ErrNotPositive); n < 1 {
				a.Fail(commands.ErrNotPositive)
			}
		}
	}
	return n, a.Err()
}

// UsualListed is how many holders, and how many waiters, are listed without COUNT, and mostListed with it.
const UsualListed, mostListed = 1000, 10_000

// boundList returns how many of a list are shown if COUNT is most, where -1 stands for a list that is shown
// whole.
func boundList(most int64, lengths ...int) int64 {
	switch {
	case most >= 0:
		return min(most, mostListed)
	case slices.Max(lengths) > UsualListed:
		return UsualListed
	}
	return -1
}

// waitersFor is how many wait for the lock at a key.
func waitersFor(c *commands.Ctx, key []byte) int {
	if q := partyOf(c).Waits.Queues.Of(c.DB.ID(), key); q != nil {
		return q.OfLocks()
	}
	return 0
}

func lockInfo(c *commands.Ctx) error {
	a := c.Args()
	key := a.Key()
	most, err := countOption(a)
	if err != nil {
		return err
	}
	if latch, ok := commands.FindLatch(c, key); ok {
		writeLatch(c, key, latch, most)
		return nil
	}
	l, err := commands.FindLock(c.DB, key)
	if err != nil {
		return err
	}
	if !l.Held() {
		c.Out.Null()
		return nil
	}
	most = boundList(most, l.Shares, waitersFor(c, key))
	if l.Shares > 0 {
		writeShares(c, key, &l, most)
		return nil
	}
	ws := partyOf(c).Waits
	holder, sinceMS := ws.holderOf(c, key, l.Token)
	r, watched := ws.Watchdog.renewalOf(c.DB, key, &l)
	switch s := sessionFor(r.Keeper); {
	case !watched:
	case s != nil && !s.Ended():
		holder = s
	default:
		watched = ws.Watchdog.Attached.IsAttached(l.Owner)
	}
	out := c.Out
	fields := 9
	if most >= 0 {
		fields++
	}
	confirmBy := ws.confirmByMS(c, key, l.Owner)
	if confirmBy != 0 {
		fields++
	}
	words := ws.LockEvents.classFields(key)
	if trace, traced := ws.LockEvents.Traces[l.Token]; traced {
		words = append(words, "trace", trace.String())
	}
	out.Map(fields + len(words)/2)
	out.BulkString("owner")
	out.Bulk(l.Owner)
	out.BulkString("holds")
	out.Int(l.Holds)
	writeKnown(out, "token", l.Token)
	out.BulkString("ttl")
	out.Int(l.TTLMS(c.DB.Store().NowUS()))
	out.BulkString("watchdog")
	out.Bool(watched)
	writeClient(out, holder)
	writeKnown(out, "held-since", sinceMS)
	writeAttached(out, &ws.Watchdog.Attached, l.Owner)
	if confirmBy != 0 {
		writeKnown(out, "confirm-by", confirmBy)
	}
	writeWords(out, words)
	writeQueue(c, key, most)
	return nil
}

// writeWords writes names and values of fields.
func writeWords(out *resp.Writer, words []string) {
	for _, w := range words {
		out.BulkString(w)
	}
}

// writeQueue writes the fields about the waiters for a lock.
func writeQueue(c *commands.Ctx, key []byte, most int64) {
	q := partyOf(c).Waits.Queues.Of(c.DB.ID(), key)
	n := 0
	if q != nil {
		n = q.OfLocks()
	}
	if most >= 0 {
		c.Out.BulkString("waiting")
		c.Out.Int(int64(n))
		n = min(n, int(min(most, math.MaxInt)))
	}
	c.Out.BulkString("waiters")
	c.Out.Array(n)
	writeWaiters(c, q, n)
}

// writeShares is the reply of LOCK.INFO for a lock that has had shared holders; of those, too, only the
// first are shown if there is a limit, and their number.
func writeShares(c *commands.Ctx, key []byte, l *commands.LockState, most int64) {
	out, r := c.Out, c.DB.PeekLive(key)
	fields, shown := 4, int64(l.Shares)
	if most >= 0 {
		fields, shown = 6, min(shown, most)
	}
	if l.Limit > 0 {
		fields += 2
	}
	class := partyOf(c).Waits.LockEvents.classFields(key)
	out.Map(fields + len(class)/2)
	writeWords(out, class)
	out.BulkString("mode")
	out.BulkString(l.Mode())
	out.BulkString("ttl")
	out.Int(commands.KeyLeftMS(r.Ref, c.DB.Store().NowUS()))
	if l.Limit > 0 {
		sem, _ := commands.FindSemaphore(c.DB, key) // it was found before
		out.BulkString("limit")
		out.Int(sem.Limit)
		out.BulkString("available")
		out.Int(sem.Available())
	}
	if most >= 0 {
		out.BulkString("holding")
		out.Int(int64(l.Shares))
	}
	out.BulkString("holders")
	list, n := out.DeferArray(), int64(0)
	commands.EachHolder(r, func(h commands.Holder) bool {
		if n++; n <= shown {
			writeHolder(c, key, &h, l.Limit > 0)
		}
		return n < shown
	})
	out.SetArray(list, int(min(n, shown)))
	writeQueue(c, key, most)
}

// writeHolder writes one holder of a shared lock or of a semaphore.
func writeHolder(c *commands.Ctx, key []byte, h *commands.Holder, semaphore bool) {
	out := c.Out
	w := &partyOf(c).Waits.Watchdog
	client, watched := w.shareOf(c.DB.ID(), key, h.Owner, h.Token)
	fields := 9
	confirmBy := partyOf(c).Waits.confirmByMS(c, key, h.Owner)
	if confirmBy != 0 {
		fields++
	}
	trace, traced := partyOf(c).Waits.LockEvents.Traces[h.Token]
	if traced {
		fields++
	}
	out.Map(fields)
	out.BulkString("owner")
	out.Bulk(h.Owner)
	out.BulkString("mode")
	if semaphore {
		out.BulkString("semaphore")
	} else {
		out.BulkString(h.Mode())
	}
	out.BulkString("holds")
	out.Int(h.Holds())
	writeKnown(out, "token", h.Token)
	out.BulkString("ttl")
	out.Int(h.TTLMS(c.DB.Store().NowUS()))
	out.BulkString("watchdog")
	out.Bool(watched)
	writeClient(out, client)
	writeKnown(out, "held-since", partyOf(c).Waits.LockEvents.sinceMS(c.DB.Store().NowUS(), h.Token))
	writeAttached(out, &w.Attached, h.Owner)
	if confirmBy != 0 {
		writeKnown(out, "confirm-by", confirmBy)
	}
	if traced {
		out.BulkString("trace")
		out.BulkString(trace.String())
	}
}

// holderOf reads what a lock keeps about its holder. sinceMS is when the lock was acquired, 0 if that is not
// known. s is the client that acquired it, nil if it has gone. Of several clients with the same low bits it
// is the last client that was there at that time. After a restart there is no record: the token has the time.
func (ws *Waits) holderOf(c *commands.Ctx, key []byte, token int64) (s *Party, sinceMS int64) {
	record := c.DB.LockRecord(key)
	if record == 0 {
		return nil, ws.LockEvents.sinceMS(c.DB.Store().NowUS(), token)
	}
	low, sinceMS := store.ReadLockRecord(record)
	return ws.Server.Acquired(low, sinceMS), sinceMS
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

// writeClient writes the field about a connection, or null if the connection has ended.
func writeClient(out *resp.Writer, s *Party) {
	out.BulkString("client")
	if s == nil {
		out.Null()
		return
	}
	writeClientInfo(out, s.Number, &s.Info)
}

// writeAttached writes the connections that are attached to an owner or to a prefix of it.
func writeAttached(out *resp.Writer, t *attach.Table[*Party], owner []byte) {
	out.BulkString("attached")
	all, _ := t.All(owner)
	out.Array(len(all))
	for _, s := range all {
		writeClientInfo(out, s.Number, &s.Info)
	}
}

func writeClientInfo(out *resp.Writer, id int64, info *ClientInfo) {
	out.Map(3)
	out.BulkString("id")
	out.Int(id)
	out.BulkString("address")
	out.BulkString(info.Addr)
	out.BulkString("name")
	out.BulkString(info.Name)
}

// writeWaiters writes the first n of those that wait for a lock in a queue, in the order in which they are
// granted.
func writeWaiters(c *commands.Ctx, q *waiting.Queue, n int) {
	if n == 0 {
		return
	}
	for _, w := range partyOf(c).Waits.Queues.InGrantOrder(q, n) {
		call := ParkedOf(w)
		c.Out.Map(call.fields())
		call.write(c.Out)
	}
}

// fields is how many fields write writes.
func (w *Parked) fields() int {
	n := 4 + notifyFields(&w.Waiter)
	if w.lock.Semaphore() {
		n++
	}
	if w.lock.Traced() {
		n++
	}
	if w.Level() > 0 {
		n++
	}
	return n
}

// write writes the fields that describe a waiter.
func (w *Parked) write(out *resp.Writer) {
	out.BulkString("owner")
	out.BulkString(w.Owner())
	if w.lock.Semaphore() {
		out.BulkString("permits")
		out.Int(int64(w.Units()))
	}
	w.writeWaitingClient(out)
	writeKnown(out, "waiting-since", w.sinceUS/1000)
	writeKnown(out, "deadline", w.DeadlineMS())
	if notifyFields(&w.Waiter) > 0 {
		out.BulkString("notify")
		out.Bool(true)
	}
	if trace, ok := w.lock.Trace(w.Words); ok {
		out.BulkString("trace")
		out.BulkString(trace.String())
	}
	w.writePriority(out)
}

// writePriority writes the field that waiters with a priority have besides the others.
func (w *Parked) writePriority(out *resp.Writer) {
	if w.Level() > 0 {
		out.BulkString("priority")
		out.Int(int64(w.Level()))
	}
}

// writeWaitingClient writes the field that tells of the connection that waits, or that keeps the place of a
// wait with NOTIFY; null if that has ended.
func (w *Parked) writeWaitingClient(out *resp.Writer) {
	if w.Party.Ended() {
		writeClient(out, nil)
	} else {
		writeClient(out, w.Party)
	}
}

// notifyFields is how many fields more a waiter has if it blocks no client.
func notifyFields(w *waiting.Waiter) int {
	if _, ok := w.Call().(*queuedWait); ok {
		return 1
	}
	return 0
}

// confirmByMS is when the owner of a lock must have confirmed that it was granted, in milliseconds since
// 1970; 0: it need not.
func (ws *Waits) confirmByMS(c *commands.Ctx, key, owner []byte) (atMS int64) {
	for _, g := range ws.Grants.Of(c.DB.ID(), key, owner) {
		atMS = g.Waiter.Call().(*queuedWait).DeadlineMS()
	}
	return atMS
}

// lockWaiters tells of the waiters for locks of the database that the client may read, all or those of an
// owner, and then of clients that wait for latches. It looks at no more than waiting.SearchLimit of each.
func lockWaiters(c *commands.Ctx) error {
	qs, user := partyOf(c).Waits.Queues, partyOf(c).User
	w, next := qs.Oldest(), (*waiting.Waiter).Later
	most, owned := int64(-1), false
	for a := c.Args(); a.More(); {
		switch a.Option() {
		case "OWNER":
			w, next, owned = nil, (*waiting.Waiter).Younger, true
			if of := qs.Owner(a.Bytes()); of != nil {
				w = of.First()
			}
		case "COUNT":
			if most = a.IntOr(commands.ErrNotPositive); most < 1 {
				a.Fail(commands.ErrNotPositive)
			}
		}
		if err := a.Err(); err != nil {
			return err
		}
	}
	var found []*Parked
	for looked := 0; w != nil && len(found) < commands.PieceOf(most) && looked < waiting.SearchLimit; w = next(w) {
		looked += w.Places()
		if call := ParkedOf(w); w.DB() == c.DB.ID() && call.readable(user) {
			found = append(found, call)
		}
	}
	var forLatches []*Parked
	if left := commands.PieceOf(most) - len(found); left > 0 && !owned {
		forLatches = latchWaiters(c, left)
	}
	c.Out.Array(len(found) + len(forLatches))
	for _, w := range found {
		c.Out.Map(w.fields() + 1)
		w.write(c.Out)
		c.Out.BulkString("locks")
		w.writeLocks(c)
	}
	for _, w := range forLatches {
		c.Out.Map(latchWaiterFields + 2)
		w.writeForLatch(c)
		c.Out.BulkString("mode")
		c.Out.BulkString(commands.LatchMode)
		c.Out.BulkString("locks")
		w.writeLocks(c)
	}
	return nil
}

// readable reports whether a user may read all keys that a waiter waits for.
func (w *Parked) readable(u *acl.User) bool {
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		if !u.MayRead(w.DB(), []byte(pl.Key())) {
			return false
		}
	}
	return true
}

// writeLocks writes what a waiter waits for: for each lock its key and its owner, nil if it is free; of
// shared ones the owners, up to some.
func (w *Parked) writeLocks(c *commands.Ctx) {
	const most = 64
	left := min(w.Places(), most)
	c.Out.Array(left)
	for pl := w.First(); left > 0; pl, left = pl.Sibling(), left-1 {
		pair, n := c.Out.DeferArray(), 1
		c.Out.BulkString(pl.Key())
		if r := c.DB.PeekLive([]byte(pl.Key())); r.Kind() == store.Hash {
			commands.EachHolder(r, func(h commands.Holder) bool {
				c.Out.Bulk(h.Owner)
				n++
				return n <= most
			})
		}
		if n == 1 {
			c.Out.Null()
			n++
		}
		c.Out.SetArray(pair, n)
	}
}

// writeLatch is the reply of LOCK.INFO.
func writeLatch(c *commands.Ctx, key []byte, l commands.Latch, most int64) {
	q := partyOf(c).Waits.Queues.Of(c.DB.ID(), key)
	n, fields := q.LatchWaiters(), 4
	most = boundList(most, n)
	if most >= 0 {
		fields++
	}
	c.Out.Map(fields)
	c.Out.BulkString("mode")
	c.Out.BulkString(commands.LatchMode)
	c.Out.BulkString("count")
	c.Out.Int(l.Count)
	c.Out.BulkString("ttl")
	c.Out.Int(l.TTLMS)
	if most >= 0 {
		c.Out.BulkString("waiting")
		c.Out.Int(int64(n))
		n = int(min(int64(n), most))
	}
	c.Out.BulkString("waiters")
	c.Out.Array(n)
	for pl := q.First(); n > 0; pl = pl.Next() {
		if pl.Waiter().ForLatch() {
			c.Out.Map(latchWaiterFields)
			ParkedOf(pl.Waiter()).writeForLatch(c)
			n--
		}
	}
}

// latchWaiterFields is how many fields writeForLatch writes.
const latchWaiterFields = 4

// writeForLatch writes the fields that describe a client that waits for a latch.
func (w *Parked) writeForLatch(c *commands.Ctx) {
	c.Out.BulkString("owner")
	c.Out.Null()
	w.writeWaitingClient(c.Out)
	writeKnown(c.Out, "waiting-since", w.sinceUS/1000)
	writeKnown(c.Out, "deadline", w.DeadlineMS())
}

// latchWaiters returns clients that wait for latches of the database that the user may read: at most most of
// them, the latest latch first. It looks at no more than waiting.SearchLimit.
func latchWaiters(c *commands.Ctx, most int) (found []*Parked) {
	s, looked := partyOf(c), 0
	s.Waits.Queues.LatchesBelow(c.DB.ID(), 0, most, func(q *waiting.Queue) {
		for pl := q.First(); pl != nil && len(found) < most && looked < waiting.SearchLimit; pl = pl.Next() {
			looked++
			if call := ParkedOf(pl.Waiter()); pl.Waiter().ForLatch() && call.readable(s.User) {
				found = append(found, call)
			}
		}
	})
	return found
}
