package wait

import (
	"math"
	"slices"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/hotkeys"
	"lockserver/internal/lockclass"
	"lockserver/internal/lockhistory"
	"lockserver/internal/resp"
)

// LOCK.HISTORY and LOCK.HOT, and the classes in LOCK.STATS.

func lockHistoryRows() []commands.Row {
	return []commands.Row{
		{Name: "lock.history", Group: commands.Lock, Since: "0.1.0", Flags: commands.ReadOnly, Run: lockHistory,
			Tips:       []string{"nondeterministic_output_order", "request_policy:all_shards"},
			Summary:    "Tells what happened to locks: who waited, who held them, since when, and how that ended.",
			Complexity: "O(N) where N is the number of events that the server keeps",
			Args: []commands.Arg{commands.Opt(commands.Str("lock").After("KEY")), commands.Opt(commands.Str("owner").After("OWNER")),
				commands.Opt(commands.Int("since-unix-milliseconds").After("SINCE")), commands.Opt(commands.Int("until-unix-milliseconds").After("UNTIL")),
				commands.Opt(commands.Int("id").After("AFTER")), commands.Opt(commands.Int("count").After("COUNT"))}},
		{Name: "lock.hot", Group: commands.Lock, Since: "0.1.0", Flags: commands.ReadOnly, Run: lockHot,
			Tips:       []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
			Summary:    "Lists the locks that were waited for or held longest, had most waiters, or were granted most often.",
			Complexity: "O(1)", Databases: commands.Databases{All: true},
			Args: []commands.Arg{commands.Opt(commands.OneOf("measure", commands.Flag("WAIT"), commands.Flag("HOLD"), commands.Flag("WAITERS"),
				commands.Flag("GRANTS")).After("BY")), commands.Opt(commands.Int("count").After("COUNT"))}},
	}
}

const (
	// usualEvents is how many events LOCK.HISTORY returns without COUNT, and mostEvents how many at most.
	usualEvents, mostEvents = 100, 10_000
)

// historyCall is one call of LOCK.HISTORY.
type historyCall struct {
	q     lockhistory.Query
	after bool // the oldest events behind a number are wanted, instead of the latest
	count int
}

func readHistory(c *commands.Ctx) (h historyCall, err error) {
	h.q.DB, h.count = c.DB.ID(), usualEvents
	a := c.Args()
	timeUS := func() int64 {
		ms := a.IntOr(commands.ErrNotPositive)
		if ms < 0 || ms > math.MaxInt64/1000-1 {
			a.Fail(commands.ErrNotPositive)
		}
		return ms * 1000
	}
	for a.More() {
		switch a.Option() {
		case "KEY":
			h.q.Key = a.Bytes()
		case "OWNER":
			h.q.Owner = a.Bytes()
		case "SINCE":
			h.q.SinceUS = timeUS()
		case "UNTIL":
			h.q.UntilUS = timeUS() + 999
		case "AFTER":
			if h.q.After, h.after = a.IntOr(commands.ErrNotPositive), true; h.q.After < 0 {
				a.Fail(commands.ErrNotPositive)
			}
		case "COUNT":
			n := a.IntOr(commands.ErrNotPositive)
			if n < 1 {
				a.Fail(commands.ErrNotPositive)
			}
			h.count = int(min(n, mostEvents))
		}
	}
	return h, a.Err()
}

// lockHistory replies the events of locks that the client may read, the oldest first.
func lockHistory(c *commands.Ctx) error {
	h, err := readHistory(c)
	if err != nil {
		return err
	}
	s := partyOf(c)
	ring := s.Waits.LockEvents.Ring
	sinceUS, why := ring.Since()
	out := c.Out
	out.Map(4)
	out.BulkString("known-since")
	out.Int(sinceUS / 1000)
	out.BulkString("reason")
	if !ring.On() {
		why = "off"
	}
	out.BulkString(why)
	out.BulkString("last-id")
	out.Int(ring.LastID())
	out.BulkString("events")
	var found []lockhistory.Event
	visit := func(e *lockhistory.Event) bool {
		if e.Key == nil || s.User.MayRead(h.q.DB, e.Key) {
			found = append(found, *e)
		}
		return len(found) < h.count
	}
	if h.after {
		ring.Oldest(h.q, visit)
	} else {
		ring.Latest(h.q, visit)
		slices.Reverse(found)
	}
	out.Array(len(found))
	for i := range found {
		writeHistory(out, &found[i])
	}
	return nil
}

// writeHistory writes an event: a map with the same fields for all kinds, null where a field has no meaning.
func writeHistory(out *resp.Writer, e *lockhistory.Event) {
	text := func(name, value string) {
		if out.BulkString(name); value == "" {
			out.Null()
		} else {
			out.BulkString(value)
		}
	}
	took := func(name string, has bool) {
		if out.BulkString(name); has && e.TookUS >= 0 {
			out.Double(float64(e.TookUS) / 1000)
		} else {
			out.Null()
		}
	}
	out.Map(13)
	out.BulkString("id")
	out.Int(e.ID)
	out.BulkString("time")
	out.Int(e.AtUS / 1000)
	text("event", e.Kind.String())
	text("reason", e.Reason.String())
	out.BulkString("key")
	if e.Key == nil {
		out.Null()
	} else {
		out.Bulk(e.Key)
	}
	text("owner", string(e.Owner))
	writeKnown(out, "token", e.Token)
	text("mode", modeOf(e))
	writeKnown(out, "permits", int64(e.Permits))
	out.BulkString("client")
	if e.Client == 0 {
		out.Null()
	} else {
		out.Map(2)
		out.BulkString("id")
		out.Int(e.Client)
		out.BulkString("address")
		out.BulkString(e.Address)
	}
	trace := ""
	if e.Trace != nil {
		trace = e.Trace.String()
	}
	text("trace", trace)
	ends := lockhistory.EndsHold(e.Kind.String(), e.Reason.String())
	took("held", ends)
	took("waited", lockhistory.EndsWait(e.Kind.String()) && e.Reason != lockhistory.Again)
}

func modeOf(e *lockhistory.Event) string {
	if e.Key == nil {
		return ""
	}
	return e.Mode.String()
}

// The measures of LOCK.HOT.
const (
	hotWait = iota
	hotWaiters
	hotHold
	hotGrants
)

// hotNames are the words of LOCK.HOT, by measure.
var hotNames = [...]string{hotWait: "wait", hotHold: "hold", hotWaiters: "waiters", hotGrants: "grants"}

// lockHot replies the keys with the largest sums of a measure, of all databases.
func lockHot(c *commands.Ctx) error {
	by, most := hotWait, int64(10)
	a := c.Args()
	for a.More() {
		switch a.Option() {
		case "BY":
			word := a.Bytes()
			if by = slices.IndexFunc(hotNames[:], func(name string) bool { return ascii.EqualFold(word, name) }); by < 0 {
				a.Syntax()
			}
		case "COUNT":
			if most = a.IntOr(commands.ErrNotPositive); most < 1 {
				a.Fail(commands.ErrNotPositive)
			}
		default: // a measure without BY
			a.Syntax()
		}
		if err := a.Err(); err != nil {
			return err
		}
	}
	s := partyOf(c)
	sketch, measure := &s.Waits.LockEvents.waited, by
	if by >= hotHold {
		sketch, measure = &s.Waits.LockEvents.Held, by-hotHold
	}
	number := func(name string, n int64) {
		if c.Out.BulkString(name); by == hotWait || by == hotHold {
			c.Out.Double(float64(n) / 1000)
		} else {
			c.Out.Int(n)
		}
	}
	top := slices.DeleteFunc(sketch.Top(measure), func(k hotkeys.Key) bool { return !s.User.MayRead(k.DB, k.Key) })
	top = top[:min(int64(len(top)), most)]
	c.Out.Map(4)
	c.Out.BulkString("by")
	c.Out.BulkString(hotNames[by])
	number("total", sketch.Total[measure])
	number("error", sketch.Error[measure])
	c.Out.BulkString("keys")
	c.Out.Array(len(top))
	for _, k := range top {
		c.Out.Map(4)
		c.Out.BulkString("key")
		c.Out.Bulk(k.Key)
		c.Out.BulkString("db")
		c.Out.Int(int64(k.DB))
		margin := sketch.Margin(measure, k.Sum)
		number("least", max(0, k.Sum-margin))
		number("most", k.Sum+sketch.Error[measure]+margin)
	}
	return nil
}

// writeClasses writes the figures of each class of locks.
func writeClasses(out *resp.Writer, classes []*lockclass.Figures) {
	out.Map(len(classes))
	for _, f := range classes {
		out.BulkString(f.Name)
		out.Map(11)
		for _, count := range []struct {
			name string
			n    int64
		}{{"grants", f.Grants}, {"refusals", f.Refusals}, {"timeouts", f.Timeouts}, {"deadlocks", f.Deadlocks}, {"waiting", f.Waiting}, {"waits", f.Waits.Count}} {
			out.BulkString(count.name)
			out.Int(count.n)
		}
		for _, time := range []struct {
			name string
			us   int64
		}{{"wait-p50", f.Waits.Percentile(50)}, {"wait-p99", f.Waits.Percentile(99)}, {"hold-p50", f.Holds.Percentile(50)}, {"hold-p99", f.Holds.Percentile(99)}} {
			out.BulkString(time.name)
			out.Double(float64(time.us) / 1000)
		}
		out.BulkString("lost")
		out.Map(lockclass.Losses)
		for i, n := range f.Lost {
			out.BulkString(lockclass.LossNames[i])
			out.Int(n)
		}
	}
}
