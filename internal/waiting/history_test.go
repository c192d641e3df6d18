package waiting

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// history is a random history of a table, together with the judgement of a model that looks at everything.
type history struct {
	*testing.T
	table   *table
	random  *rand.Rand
	log     []string
	refused int // waits that were refused after they had begun
	cycles  int // waits that would have closed a cycle
	levels  bool
}

// future is the possible rest of a history: the holds, and the calls that are left.
type future struct {
	*table
	left []*call
}

func (f *future) clone() *future {
	keys := make(map[string]*value, len(f.keys))
	for key, v := range f.keys {
		copied := &value{limit: v.limit, holds: make(map[string]*hold, len(v.holds))}
		for owner, has := range v.holds {
			own := *has
			copied.holds[owner] = &own
		}
		keys[key] = copied
	}
	return &future{&table{keys: keys, qs: f.qs}, slices.Clone(f.left)}
}

// waits reports whether an owner has a call in the future.
func (f *future) waits(owner string) bool {
	return slices.ContainsFunc(f.left, func(c *call) bool { return c.owner == owner })
}

// play lets all calls go that can. Owners that do not wait release all their holds. A call goes if its owner
// waits for nothing else: that harms no other call. The other calls that can go are tried in every order.
// gone is called with each call that goes.
func (f *future) play(gone map[*call]bool, seen map[string]bool) {
	for again := true; again; {
		again = false
		for _, v := range f.keys {
			maps.DeleteFunc(v.holds, func(owner string, _ *hold) bool { return !f.waits(owner) })
		}
		for i, c := range f.left {
			if !f.canGo(i) {
				continue
			}
			gone[c] = true
			if rest := slices.Delete(slices.Clone(f.left), i, i+1); !(&future{left: rest}).waits(c.owner) {
				f.finish(c)
				f.left, again = rest, true
				break
			}
		}
	}
	if len(f.left) == 0 {
		return
	}
	if state := fmt.Sprint(f.table, len(f.left)); !seen[state] {
		seen[state] = true
		for i, c := range f.left {
			if f.canGo(i) {
				next := f.clone()
				next.finish(c)
				next.left = slices.Delete(next.left, i, i+1)
				next.play(gone, seen)
			}
		}
	}
}

func (f *future) canGo(i int) bool { return canGo(f.table, f.left[i], f.left[:i]) }

// stuck returns the calls for locks that can never go, whatever the owners do.
func (h *history) stuck(calls []*call) []*call {
	all := &future{h.table, slices.DeleteFunc(slices.Clone(calls), func(c *call) bool { return c.owner == "" })}
	f := all.clone()
	f.qs = New(1, Locks{})
	gone := map[*call]bool{}
	f.play(gone, map[string]bool{})
	return slices.DeleteFunc(all.left, func(c *call) bool { return gone[c] })
}

// canGo reports whether a call that stands behind others can have its locks.
func canGo(t *table, c *call, before []*call) bool {
	for _, key := range c.keys {
		ok, ahead := t.at(key).admits(c)
		queues := slices.ContainsFunc(before, func(b *call) bool { return b.owner != "" && slices.Contains(b.keys, key) })
		if !ok || !ahead && queues {
			return false
		}
	}
	return true
}

func (h *history) describe(c *call) string {
	return fmt.Sprintf("%s(%s %v shared=%v permits=%d once=%v level=%d at=%d)", c.name, c.owner, c.keys, c.shared, c.permits, c.once, c.level, c.atUS)
}

func (h *history) fail(format string, args ...any) {
	h.Helper()
	for _, line := range h.log {
		h.Log(line)
	}
	h.Log("\n" + h.table.String())
	h.Fatalf(format, args...)
}

// wait lets a new call wait, and requires that it is refused if, and only if, it could never go.
func (h *history) wait(c *call) {
	t := h.table
	got := t.begin(c)
	h.log = append(h.log, h.describe(c)+": "+got)
	if got == "granted" || got == "not so many" {
		return
	}
	calls := t.calls
	refused := got != "waits"
	if refused {
		calls = t.add(calls, c)
	}
	left := h.stuck(calls)
	if !refused && h.open() {
		return
	}
	if refused != (len(left) > 0) || refused && !slices.Contains(left, c) && c.level == 0 {
		for _, c := range calls {
			h.log = append(h.log, h.describe(c))
		}
		h.log = append(h.log, "stuck:")
		for _, c := range left {
			h.log = append(h.log, h.describe(c))
		}
		h.fail("refused: %v, and %d could never go", refused, len(left))
	}
	if refused {
		h.cycles++
	}
}

// serveWaiters serves the waiters. Afterwards every waiter that is left cannot go now, but could go later.
func (h *history) serveWaiters() {
	h.log = append(h.log, h.table.endUnit()...)
	h.table.check(h.fail)
	for i, c := range h.table.calls {
		if c.owner == "" {
			for _, key := range c.keys {
				if h.table.at(key).elements > 0 {
					h.fail("%s waits, and there is an element", h.describe(c))
				}
			}
		} else if canGo(h.table, c, h.table.calls[:i]) {
			h.fail("%s waits and could go", h.describe(c))
		}
	}
	if left := h.stuck(h.table.calls); len(left) > 0 && !h.open() {
		h.fail("%s and %d others can never go", h.describe(left[0]), len(left)-1)
	}
}

func (h *history) pick(names string, n int) string { return fmt.Sprint(names, h.random.IntN(n)) }

// open reports whether an owner both waits for a lock exclusively, and holds it or waits for it shared. The
// result depends on the order in which the shared waiters are granted meanwhile. If that order leads to a
// deadlock, the wait is refused then.
func (h *history) open() bool {
	for _, c := range h.table.calls {
		for _, key := range c.keys {
			if has := h.table.at(key).holds[c.owner]; c.owner == "" || c.shared || c.permits > 0 {
				continue
			} else if has != nil && has.exclusive == 0 {
				return true
			}
			if slices.ContainsFunc(h.table.calls, func(other *call) bool {
				return other.owner == c.owner && other.shared && slices.Contains(other.keys, key)
			}) {
				return true
			}
		}
	}
	return false
}

// drain lets every owner that does not wait release all its holds, until nothing changes. Then no waiter is
// left.
func (h *history) drain() {
	t := h.table
	for again := true; again; {
		again = false
		for _, key := range slices.Sorted(maps.Keys(t.keys)) {
			for _, owner := range slices.Sorted(maps.Keys(t.at(key).holds)) {
				if (&future{left: t.calls}).waits(owner) {
					continue
				}
				again = true
				delete(t.at(key).holds, owner)
				h.log = append(h.log, fmt.Sprintf("drain %s of %s", key, owner))
				t.qs.Changed(0, []byte(key))
				h.serveWaiters()
			}
		}
	}
	for _, c := range t.calls {
		if c.owner != "" {
			h.fail("%s waits for ever", h.describe(c))
		}
	}
}

// cancel ends a wait of an owner at a key, and requires that Find finds the oldest, or with levels the first
// in the queue.
func (h *history) cancel(owner, key string) {
	t := h.table
	of := slices.DeleteFunc(slices.Clone(t.calls), func(c *call) bool { return c.owner != owner || !slices.Contains(c.keys, key) })
	w := t.qs.Find(0, []byte(key), []byte(owner), nil)
	if w == nil && len(of) == 0 {
		return
	}
	oldest := slices.MinFunc(of, func(a, b *call) int { return a.number - b.number })
	if w == nil || w.Call().(*call) != oldest && w.Call().(*call) != of[0] {
		h.fail("the wait of %s at %s is not the oldest, or not found", owner, key)
	}
	h.log = append(h.log, fmt.Sprintf("cancel %s of %s", key, owner))
	w.Call().(*call).end(false)
}

// endGrant confirms the grants of an owner that include the lock at a key, or gives the oldest of them back.
// It requires that the index returns the same grants as a search through all grants.
func (h *history) endGrant(owner, key string) {
	t := h.table
	var want []*Grant
	n := 0
	t.grants.Each(func(g *Grant) bool {
		n++
		if g.Waiter.Owner() == owner && slices.Contains(g.Keys, key) {
			want = append(want, g)
		}
		return true
	})
	got := t.grants.Of(0, []byte(key), []byte(owner))
	if n != t.grants.Len() || len(want) != len(got) || slices.ContainsFunc(want, func(g *Grant) bool { return !slices.Contains(got, g) }) {
		h.fail("%d of %d grants of %s at %s were found, and %d are counted", len(got), n, owner, key, t.grants.Len())
	}
	switch {
	case len(got) == 0:
	case h.random.IntN(2) == 0:
		h.log = append(h.log, fmt.Sprintf("%v confirmed", t.confirm(key, owner)))
	default:
		t.passOn(got[0])
	}
}

// step makes one random change, or a few changes in one unit.
func (h *history) step(owners, number int, semaphores bool) {
	t := h.table
	t.nowUS += int64(h.random.IntN(3) * h.random.IntN(1000))
	if h.levels && h.random.IntN(20) == 0 {
		h.changeTime()
	}
	kinds := 12
	if !semaphores {
		kinds = 9
	}
	switch what := h.random.IntN(20); {
	case what < 9:
		c := &call{name: fmt.Sprint("w", number), owner: h.pick("o", owners)}
		switch kind := h.random.IntN(kinds); {
		case kind == 0:
			c.owner, c.keys = "", []string{h.pick("l", 2), h.pick("l", 2)}
		case kind < 9:
			for range 1 + h.random.IntN(3)/2 + h.random.IntN(4)/3 {
				c.keys = append(c.keys, h.pick("k", 4))
			}
			c.shared = h.random.IntN(2) == 0
		default:
			c.keys = []string{h.pick("s", 2)}
			c.permits, c.once = 1+int32(h.random.IntN(4)), h.random.IntN(3) == 0
			if t.at(c.keys[0]).limit == 0 {
				t.at(c.keys[0]).limit = 4
			}
		}
		c.notify = c.owner != "" && h.random.IntN(3) == 0
		if h.levels && c.owner != "" && h.random.IntN(2) == 0 {
			c.level = h.random.IntN(Levels)
		}
		h.wait(c)
	case what < 10:
		h.endGrant(h.pick("o", owners), h.pick("k", 4))
	case what < 16:
		for range 1 + h.random.IntN(2) {
			key := h.pick("k", 4)
			if semaphores && h.random.IntN(3) == 0 {
				key = h.pick("s", 2)
			}
			if holders := slices.Sorted(maps.Keys(t.at(key).holds)); len(holders) > 0 {
				owner := holders[h.random.IntN(len(holders))]
				permits := t.at(key).holds[owner].permits
				if permits > 0 {
					permits = 1 + int32(h.random.IntN(int(permits)))
				}
				shared := t.at(key).holds[owner].shared > 0 && h.random.IntN(2) == 0
				h.log = append(h.log, fmt.Sprintf("release %s by %s shared=%v permits=%d", key, owner, shared, permits))
				t.release(key, owner, shared, permits)
			}
		}
	case what < 17 && semaphores && h.random.IntN(2) == 0:
		key, limit := h.pick("s", 2), 2+int32(h.random.IntN(3))
		h.log = append(h.log, fmt.Sprintf("%s has limit %d", key, limit))
		t.at(key).limit = limit
		t.qs.Changed(0, []byte(key))
	case what < 17:
		key := h.pick("l", 2)
		h.log = append(h.log, "push "+key)
		t.at(key).elements++
		t.qs.Changed(0, []byte(key))
	case what < 18:
		key, v := h.pick("k", 4), &value{holds: map[string]*hold{}}
		for range h.random.IntN(3) {
			v.holds[h.pick("o", owners)] = &hold{shared: 1}
		}
		if len(v.holds) < 2 && h.random.IntN(2) == 0 {
			for _, has := range v.holds {
				*has = hold{exclusive: 1}
			}
		}
		h.log = append(h.log, fmt.Sprintf("%s is given to %v", key, slices.Sorted(maps.Keys(v.holds))))
		t.keys[key] = v
		t.qs.Changed(0, []byte(key))
	case len(t.calls) > 0 && what < 19:
		h.cancel(h.pick("o", owners), h.pick("k", 4))
	case len(t.calls) > 0:
		c := t.calls[h.random.IntN(len(t.calls))]
		h.log = append(h.log, c.name+" leaves")
		c.end(false)
	}
	h.serveWaiters()
}

// changeTime changes the step of levels, or lets the clock go back.
func (h *history) changeTime() {
	t := h.table
	if back := int64(h.random.IntN(5000)); h.random.IntN(2) == 0 {
		t.nowUS -= back
		h.log = append(h.log, fmt.Sprintf("the clock goes back by %d", back))
		return
	}
	step := []int64{0, 100, 1000, 3000}[h.random.IntN(4)]
	h.log = append(h.log, fmt.Sprintf("a level is gained every %d", step))
	t.setStep(step)
	h.serveWaiters()
}

// TestHistories: in random histories of locks, shared locks, semaphores and lists every refusal is a real
// deadlock and every deadlock is refused. Each waiter that can go goes, and in the end no waiter waits for
// ever.
func TestHistories(t *testing.T) {
	seed := testkit.Seed(t)
	var sum history
	for round := range testkit.Steps(60, 2000) {
		h := &history{T: t, table: newTable(), random: rand.New(rand.NewPCG(seed, uint64(round))), levels: round%4 >= 2}
		h.table.refused = func(c *call) {
			h.refused++
			if !slices.Contains(h.stuck(h.table.calls), c) {
				h.fail("%s is refused and could go", h.describe(c))
			}
		}
		owners, semaphores := 3+h.random.IntN(4), round%2 == 1
		for step := range 150 {
			h.step(owners, step, semaphores)
		}
		h.drain()
		for len(h.table.calls) > 0 {
			h.table.calls[0].end(false)
		}
		h.serveWaiters()
		require.Zero(t, h.table.qs.LenOwners())
		require.Zero(t, h.table.qs.LenQueues())
		sum.refused += h.refused
		sum.cycles += h.cycles
	}
	t.Logf("%d waits would have closed a cycle, and %d were refused later", sum.cycles, sum.refused)
	require.Positive(t, sum.cycles)
	require.Positive(t, sum.refused)
}
