package waiting

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// table is a simple model of locks, semaphores and lists, with the queues in front of them. It replaces the
// server, and has calls of its own that wait.
type table struct {
	qs     *Queues
	keys   map[string]*value
	calls  []*call // the calls that wait, in the order in which they are served
	began  int     // the number of calls that have begun to wait
	nowUS  int64   // the clock, which may go back
	seenUS int64   // the clock at the last wait
	timeUS int64   // how far it went on from wait to wait
	step   int64   // microseconds for a level; 0: a higher level always comes first
	events []string
	// grants holds the grants that are not confirmed. tokens holds the last token of each lock.
	grants Grants
	tokens int64
	// refused is called before a wait that had begun is refused.
	refused func(c *call)
}

// value is the value at a key.
type value struct {
	limit    int32 // of a semaphore; 0: the value is not a semaphore
	holds    map[string]*hold
	elements int // of a list
}

// hold counts an owner's holds of a lock.
type hold struct{ exclusive, shared, permits int32 }

func (h *hold) units() int32 {
	switch {
	case h == nil:
		return 0
	case h.exclusive > 0:
		return All
	case h.shared > 0:
		return 1
	}
	return h.permits
}

// call is a command that can wait.
type call struct {
	Waiter
	t       *table
	name    string // of the wait
	keys    []string
	owner   string // empty: the call waits for an element of a list
	shared  bool
	permits int32 // 0: the call wants locks
	once    bool  // the permits that the owner has already count
	notify  bool  // the grant must be confirmed
	grant   *Grant
	level   int
	number  int // of the wait
	atUS    int64
}

// before reports whether a call is served before another one: the higher level first, and a level counts as a
// step of time.
func (t *table) before(a, b *call) bool {
	switch ahead := int64(a.level-b.level) * t.step; {
	case t.step == 0 && a.level != b.level:
		return a.level > b.level
	case a.atUS-ahead != b.atUS:
		return a.atUS-ahead < b.atUS
	}
	return a.number < b.number
}

// add returns a list of calls with one more, in the order in which they are served.
func (t *table) add(calls []*call, c *call) []*call {
	at := slices.IndexFunc(calls, func(other *call) bool { return t.before(c, other) })
	if at < 0 {
		at = len(calls)
	}
	return slices.Insert(slices.Clone(calls), at, c)
}

// setStep sets the step of levels.
func (t *table) setStep(us int64) {
	t.step = us
	t.qs.SetAging(us)
	calls := t.calls
	t.calls = nil
	for _, c := range calls {
		t.calls = t.add(t.calls, c)
	}
}

// fails reports whether a call asks for more permits than the semaphore has: it ends when its turn comes.
func (t *table) fails(c *call) bool {
	v := t.at(c.keys[0])
	return c.permits > v.limit && v.lacks(c) > 0
}

// lacks is how many permits a call needs.
func (v *value) lacks(c *call) int32 {
	if h := v.holds[c.owner]; c.once && h != nil {
		return max(0, c.permits-h.permits)
	}
	return c.permits
}

// finish runs the turn of a call that can go.
func (t *table) finish(c *call) {
	if !t.fails(c) {
		t.give(c)
	}
}

func newTable() *table {
	t := &table{keys: map[string]*value{}, refused: func(*call) {}}
	t.qs = New(1, Locks{Find: t.find, Held: t.held, EachHolder: t.eachHolder, Kind: t.kind})
	return t
}

func (t *table) at(key string) *value {
	if t.keys[key] == nil {
		t.keys[key] = &value{holds: map[string]*hold{}}
	}
	return t.keys[key]
}

// severally reports whether several owners can hold a lock.
func (v *value) severally() bool {
	for _, h := range v.holds {
		if h.shared > 0 {
			return true
		}
	}
	return v.limit > 0
}

func (t *table) find(_ int, key string) (l Lock) {
	v := t.at(key)
	if !v.severally() {
		for owner := range v.holds {
			l.Owner = []byte(owner)
		}
		return l
	}
	l.Holders, l.Limit = len(v.holds), All
	if v.limit > 0 {
		l.Limit = v.limit
	}
	return l
}

func (t *table) held(_ int, key, owner string) int32 { return t.at(key).holds[owner].units() }

func (t *table) eachHolder(_ int, key string, visit func(owner []byte, units int32) bool) {
	v := t.at(key)
	for _, owner := range slices.Sorted(maps.Keys(v.holds)) {
		if !visit([]byte(owner), v.holds[owner].units()) {
			return
		}
	}
}

// kindList is the kind of a list with elements.
const kindList = 1

func (t *table) kind(_ int, key string) uint8 {
	if t.at(key).elements > 0 {
		return kindList
	}
	return 0
}

// admits reports whether a lock has the units for a call, without regard to the queue. ahead says that the
// call need not queue.
func (v *value) admits(c *call) (ok, ahead bool) {
	if c.permits > 0 {
		free, lacks := v.limit, v.lacks(c)
		for _, h := range v.holds {
			free -= h.permits
		}
		return lacks == 0 || free >= lacks || c.permits > v.limit, lacks == 0
	}
	mine := v.holds[c.owner]
	if mine != nil {
		return mine.exclusive > 0 || c.shared || len(v.holds) == 1, true
	}
	if !c.shared {
		return len(v.holds) == 0, false
	}
	for _, h := range v.holds {
		if h.exclusive > 0 {
			return false, false
		}
	}
	return true, false
}

// take lets a call take its locks or element, if that is possible now.
func (t *table) take(c *call) bool {
	if c.owner == "" {
		for _, key := range c.keys {
			if v := t.at(key); v.elements > 0 {
				v.elements--
				return true
			}
		}
		return false
	}
	for _, key := range c.keys {
		if ok, ahead := t.at(key).admits(c); !ok || !ahead && t.qs.Awaited(0, []byte(key)) {
			return false
		}
	}
	t.finish(c)
	return true
}

func (t *table) give(c *call) {
	for _, key := range c.keys {
		v := t.at(key)
		h := v.holds[c.owner]
		if h == nil {
			h = &hold{}
			v.holds[c.owner] = h
		}
		switch {
		case c.once:
			h.permits = max(h.permits, c.permits)
		case c.permits > 0:
			h.permits += c.permits
		case c.shared:
			h.shared++
		default:
			h.exclusive++
		}
		t.qs.Changed(0, []byte(key))
	}
}

// release gives back one hold, or some permits.
func (t *table) release(key, owner string, shared bool, permits int32) bool {
	v := t.at(key)
	h := v.holds[owner]
	switch {
	case h == nil, h.permits < permits, permits == 0 && shared && h.shared == 0: // released since it was granted
		return false
	case permits > 0:
		h.permits -= permits
	case shared || h.exclusive == 0:
		h.shared--
	default:
		h.exclusive--
	}
	if *h == (hold{}) {
		delete(v.holds, owner)
	}
	t.qs.Changed(0, []byte(key))
	return true
}

// Try implements Call.
func (c *call) Try() (done, stop bool) {
	fails := c.t.fails(c)
	if !c.t.take(c) {
		return false, false
	}
	c.end(!fails)
	if fails {
		c.t.events = append(c.t.events, fmt.Sprintf("%s fails: there are not so many", c.name))
		return true, false
	}
	c.t.events = append(c.t.events, fmt.Sprintf("%s is granted", c.name))
	if c.notify {
		c.grant = &Grant{Waiter: &c.Waiter, Keys: c.keys}
		for range c.keys {
			c.t.tokens++
			c.grant.Tokens = append(c.grant.Tokens, c.t.tokens)
		}
		c.t.grants.Add(c.grant)
	}
	return true, false
}

// confirm confirms the grants of an owner that include the lock at a key, and returns the names of their
// waits.
func (t *table) confirm(key, owner string) (names []string) {
	for _, g := range t.grants.Of(0, []byte(key), []byte(owner)) {
		t.grants.Remove(g)
		names = append(names, g.Waiter.Call().(*call).name)
	}
	return names
}

// passOn gives back a grant that was not confirmed in time.
func (t *table) passOn(g *Grant) {
	t.grants.Remove(g)
	c := g.Waiter.Call().(*call)
	for _, key := range c.keys {
		t.release(key, c.owner, c.shared, c.permits)
	}
	t.events = append(t.events, c.name+" is not confirmed")
}

// Refuse implements Call.
func (c *call) Refuse(cycle Cycle) {
	c.t.refused(c)
	c.end(false)
	c.t.events = append(c.t.events, fmt.Sprintf("%s is refused: %s", c.name, cycle))
}

func (c *call) end(granted bool) {
	c.t.qs.Leave(&c.Waiter, granted)
	c.t.calls = slices.DeleteFunc(c.t.calls, func(other *call) bool { return other == c })
}

// String spells a cycle out.
func (c Cycle) String() string {
	var b strings.Builder
	for _, l := range c {
		fmt.Fprintf(&b, "%s -> %s -> ", l.Waiter.Owner(), l.Key)
	}
	return b.String() + c[0].Waiter.Owner()
}

// request returns the Request of a call.
func (c *call) request() Request {
	r := Request{First: c.keys[0], Units: c.permits, Reentrant: true, Strict: c.owner != "", Level: uint8(c.level), NowUS: c.t.nowUS}
	for _, key := range c.keys {
		r.Keys = append(r.Keys, []byte(key))
	}
	switch {
	case c.owner == "":
		r.Kind = kindList
		return r
	case c.permits > 0:
		r.Reentrant, r.Counts = false, c.once
	case c.shared:
		r.Units = 1
	default:
		r.Units = All
	}
	r.Owner, r.Name = []byte(c.owner), c.owner
	return r
}

// begin runs a call. A call without a name does not wait. It returns the outcome.
func (t *table) begin(c *call) string {
	c.t = t
	if t.fails(c) {
		return "not so many"
	}
	if t.take(c) {
		return "granted"
	}
	if c.name == "" {
		return "not now"
	}
	t.began++
	t.timeUS += max(0, t.nowUS-t.seenUS)
	t.seenUS = t.nowUS
	c.number, c.atUS = t.began, t.timeUS
	r := c.request()
	t.qs.Enter(&c.Waiter, c, &r)
	if cycle := t.qs.Deadlock(&c.Waiter); cycle != nil {
		t.qs.Leave(&c.Waiter, false)
		return "refused: " + cycle.String()
	}
	t.calls = t.add(t.calls, c)
	return "waits"
}

// endUnit serves the waiters, and returns what happened.
func (t *table) endUnit() []string {
	for u := (Unit{Most: math.MaxInt}); t.qs.Serve(&u); {
		continue
	}
	events := t.events
	t.events = nil
	return events
}

// String shows the keys that are held or awaited.
func (t *table) String() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(t.keys)) {
		v := t.keys[key]
		var parts []string
		for _, owner := range slices.Sorted(maps.Keys(v.holds)) {
			switch h := v.holds[owner]; {
			case h.permits > 0:
				parts = append(parts, fmt.Sprintf("%s has %d of %d", owner, h.permits, v.limit))
			case h.exclusive > 0:
				parts = append(parts, owner+" holds it")
			default:
				parts = append(parts, owner+" shares it")
			}
		}
		if v.elements > 0 {
			parts = append(parts, fmt.Sprintf("%d elements", v.elements))
		}
		if q := t.qs.Of(0, []byte(key)); q != nil {
			var names []string
			for pl := q.First(); pl != nil; pl = pl.Next() {
				names = append(names, pl.Waiter().Call().(*call).name)
			}
			parts = append(parts, "queue: "+strings.Join(names, " "))
		}
		if parts == nil {
			parts = []string{"free"}
		}
		fmt.Fprintf(&b, "%s: %s\n", key, strings.Join(parts, ", "))
	}
	return b.String()
}

// check fails unless the invariants of the queues hold, and the queues contain exactly the waiting calls.
func (t *table) check(fail func(format string, args ...any)) {
	qs := t.qs
	if qs.count != len(t.calls) || qs.served != 0 || len(qs.ready) != 0 {
		fail("%d waiters for %d calls, %d queues ready", qs.count, len(t.calls), len(qs.ready))
	}
	ofLocks, places := 0, 0
	for _, c := range t.calls {
		if c.Waiter.owner != nil {
			ofLocks++
		}
		places += c.Places()
		branches := c.Places() > 1 || c.older() != nil || c.Younger() != nil
		for pl := c.First(); pl != nil; pl = pl.Sibling() {
			if has := pl.extra != nil && pl.extra.branch != nil; c.Waiter.owner != nil && has != branches {
				fail("%s branches: %v, and is on the list: %v", c.name, branches, has)
			}
		}
	}
	qs.Each(func(q *Queue) bool {
		calls, prev := t.calls, (*Place)(nil)
		for pl := q.first; pl != nil; prev, pl = pl, pl.next {
			for len(calls) > 0 && !calls[0].Waiter.standsIn(q) {
				calls = calls[1:]
			}
			if places--; pl.queue != q || pl.prev != prev || pl.next == nil && q.last != pl || len(calls) == 0 || &calls[0].Waiter != pl.waiter {
				fail("the queue of %s is out of order", q.key())
			}
			calls = calls[1:]
		}
		return true
	})
	listed, last := 0, uint64(0)
	for w := qs.oldest; w != nil; w = w.later {
		if listed++; w.number <= last {
			fail("the list of all waiters is out of order")
		}
		last = w.number
	}
	if listed != ofLocks || qs.LenOfLocks(0) != ofLocks || places != 0 {
		fail("%d waiters for locks, %d listed, %d counted, %d places too many", ofLocks, listed, qs.LenOfLocks(0), -places)
	}
}
