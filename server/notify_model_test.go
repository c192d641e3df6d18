package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// TestNotifyModel compares random waits with NOTIFY, of connections that attach and break, with a model. Each
// wait has one outcome, in the order of the queue. Half of the waits have a priority, and waiters age. Each
// connection hears of what it should, and of nothing else. A lock is not kept by an owner that has not
// confirmed it, and no place is lost or kept for too long.
func TestNotifyModel(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	heard, passed := map[string]int{}, 0
	for round := range testkit.Steps(4, 40) {
		m := &notifyModel{t: t, heard: heard, clock: NewManualClock(time.UnixMilli(1_750_000_000_000)), rand: rand.New(rand.NewPCG(seed, uint64(round))),
			locks: map[string]*grantedLock{}, queues: map[string][]*modelWait{}}
		m.srv = startWith(t, Options{Clock: m.clock}, nil)
		for range 4 {
			m.conns = append(m.conns, m.connect())
		}
		m.setAging(round)
		for range 500 {
			m.step()
			m.check()
		}
		require.NoError(t, m.srv.Close())
		passed += m.passed
	}
	t.Log(heard, passed)
	require.Positive(t, passed, "no wait has passed another one")
	for _, outcome := range []string{"lock-granted", "lock-refused timeout", "lock-refused cancelled", "lock-refused unconfirmed"} {
		require.Positive(t, heard[outcome], outcome)
	}
}

type notifyModel struct {
	t      *testing.T
	rand   *rand.Rand
	clock  *ManualClock
	srv    *instance
	conns  []*modelConn
	locks  map[string]*grantedLock
	queues map[string][]*modelWait
	log    []string
	heard  map[string]int // how often each kind of outcome was heard of
	// agingMS is the time in which a waiter gains a level; 0: never.
	agingMS int64
	passed  int // waits that entered a queue before others
}

// modelWait is a wait in a queue.
type modelWait struct {
	owner   string
	level   int64
	sinceMS int64
	endMS   int64      // 0: never
	by      *modelConn // the connection that asked; nil: it has gone
	untilMS int64      // for how long its place is kept; 0: as long as a connection lives
}

// grantedLock is a lock that is held.
type grantedLock struct {
	owner string
	token int64 // 0: no connection has heard of it
	holds int
	byMS  int64      // when it has to be confirmed; 0: it need not
	by    *modelConn // that asked; nil: it has gone
}

// setAging sets the time in which a waiter gains a level.
func (m *notifyModel) setAging(round int) {
	m.agingMS = []int64{10_000, 0, 1000, 4000}[round%4]
	require.Equal(m.t, "+OK", m.do(m.conns[0], "CONFIG", "SET", "lock-priority-aging", strconv.FormatInt(m.agingMS, 10)).String())
}

// enter puts a wait into a queue: before each wait with a lower level, if a level counts as agingMS of
// waiting.
func (m *notifyModel) enter(key string, w *modelWait) {
	q := m.queues[key]
	at := slices.IndexFunc(q, func(other *modelWait) bool {
		if m.agingMS == 0 {
			return w.level > other.level
		}
		return w.sinceMS-w.level*m.agingMS < other.sinceMS-other.level*m.agingMS
	})
	if at < 0 {
		at = len(q)
	}
	m.passed += len(q) - at
	m.queues[key] = slices.Insert(slices.Clone(q), at, w)
}

// place is the time for which a place is kept, and a grant can be confirmed, in milliseconds.
const place = 10_000

func (m *notifyModel) nowMS() int64 { return m.clock.NowUS() / 1000 }

func (m *notifyModel) connect() *modelConn {
	c := &modelConn{Client: testkit.Dial(m.t, m.srv.Dial)}
	c.Hello(3)
	return c
}

// fail has the last steps in its message.
func (m *notifyModel) where() string { return strings.Join(m.log[max(0, len(m.log)-30):], "\n") }

func (m *notifyModel) attached(owner string) (list []*modelConn) {
	for _, c := range m.conns {
		if yes, _ := c.keeps(owner); yes {
			list = append(list, c)
		}
	}
	return list
}

// tell makes the connections that are attached to an owner, and the one that asked, expect a push. %T is a
// token.
func (m *notifyModel) tell(owner string, by *modelConn, push string) {
	to := m.attached(owner)
	if by != nil && !slices.Contains(to, by) {
		to = append(to, by)
	}
	for _, c := range to {
		c.expected = append(c.expected, push)
	}
}

func granted(key, owner string) string { return fmt.Sprintf(`>["lock-granted" %q %%T %q]`, key, owner) }

func refusedFor(key, why, owner string) string {
	return fmt.Sprintf(`>["lock-refused" %q %q %q]`, key, why, owner)
}

// do runs a command and returns its reply. What the client hears is before or behind it.
func (m *notifyModel) do(c *modelConn, args ...string) resp.Value {
	c.Send(args...)
	for {
		v := c.Receive()
		if v.Kind != resp.Push {
			return v
		}
		m.hear(c, v)
	}
}

func (m *notifyModel) hear(c *modelConn, v resp.Value) {
	text := v.String()
	m.heard[v.Elems[0].Str+map[bool]string{true: " " + v.Elems[2].Str}[v.Elems[0].Str == "lock-refused"]]++
	if len(v.Elems) == 4 && v.Elems[0].Str == "lock-granted" {
		key, owner := v.Elems[1].Str, v.Elems[3].Str
		text = granted(key, owner)
		if l := m.locks[key]; l != nil && l.owner == owner {
			require.Contains(m.t, []int64{0, v.Elems[2].Int}, l.token, m.where())
			l.token = v.Elems[2].Int
		}
	}
	i := slices.Index(c.expected, text)
	require.GreaterOrEqual(m.t, i, 0, "%s\nhears %s instead of %v", m.where(), v, c.expected)
	c.expected = slices.Delete(c.expected, i, i+1)
}

// serve grants free locks to the heads of their queues.
func (m *notifyModel) serve() {
	for key, q := range m.queues {
		if len(q) > 0 && m.locks[key] == nil {
			w := q[0]
			m.queues[key] = q[1:]
			m.locks[key] = &grantedLock{owner: w.owner, holds: 1, byMS: m.nowMS() + place, by: w.by}
			m.tell(w.owner, w.by, granted(key, w.owner))
		}
	}
}

// leave ends a wait without the lock.
func (m *notifyModel) leave(key string, w *modelWait, why string) {
	m.queues[key] = slices.DeleteFunc(slices.Clone(m.queues[key]), func(other *modelWait) bool { return other == w })
	m.tell(w.owner, w.by, refusedFor(key, why, w.owner))
}

// due does what falls due at this moment.
func (m *notifyModel) due() {
	now := m.nowMS()
	for key, q := range m.queues {
		for _, w := range q {
			switch {
			case w.endMS != 0 && w.endMS <= now:
				m.leave(key, w, "timeout")
			case w.untilMS != 0 && w.untilMS <= now:
				m.leave(key, w, "cancelled")
			}
		}
	}
	for key, l := range m.locks {
		if l.byMS != 0 && l.byMS <= now {
			m.tell(l.owner, l.by, refusedFor(key, "unconfirmed", l.owner))
			delete(m.locks, key)
		}
	}
	m.serve()
}

// advance moves the clock from one moment at which something falls due to the next.
func (m *notifyModel) advance(byMS int64) {
	for end := m.nowMS() + byMS; m.nowMS() < end; {
		next := end
		for _, q := range m.queues {
			for _, w := range q {
				for _, at := range []int64{w.endMS, w.untilMS} {
					if at > m.nowMS() {
						next = min(next, at)
					}
				}
			}
		}
		for _, l := range m.locks {
			if l.byMS > m.nowMS() {
				next = min(next, l.byMS)
			}
		}
		m.clock.Advance(time.Duration(next-m.nowMS()) * time.Millisecond)
		m.due()
	}
}

// orphan keeps the places for a while that no connection keeps any more.
func (m *notifyModel) orphan() {
	for _, q := range m.queues {
		for _, w := range q {
			if w.by == nil && w.untilMS == 0 && len(m.attached(w.owner)) == 0 {
				w.untilMS = m.nowMS() + place
			}
		}
	}
}

// close ends a connection.
func (m *notifyModel) close(c *modelConn) {
	m.check()
	before := m.srv.connected()
	c.Close()
	eventually(m.t, func() bool { return m.srv.connected() < before }, "it has gone")
	i := slices.Index(m.conns, c)
	m.conns[i] = m.connect()
	for _, q := range m.queues {
		for _, w := range q {
			if w.by == c {
				w.by = nil
			}
		}
	}
	for _, l := range m.locks {
		if l.by == c {
			l.by = nil
		}
	}
	m.clock.Advance(0) // before anything else the places have found other connections
	m.orphan()
}

// wants returns the key that an owner may ask for without a deadlock: it waits at one key at a time, and asks
// for keys in their order.
func (m *notifyModel) wants(owner string) string {
	least := 0
	for i := range 3 {
		key := "k" + strconv.Itoa(i)
		if slices.ContainsFunc(m.queues[key], func(w *modelWait) bool { return w.owner == owner }) {
			return key
		}
		if l := m.locks[key]; l != nil && l.owner == owner {
			least = i
		}
	}
	return "k" + strconv.Itoa(least+m.rand.IntN(3-least))
}

// ask is a LOCK with NOTIFY.
func (m *notifyModel) ask(c *modelConn, owner string) {
	key, waitMS := m.wants(owner), int64(m.rand.IntN(3)*m.rand.IntN(20_000))
	words, level := []string{"LOCK", key, owner, "PX", "1000000000", "WAIT", strconv.FormatInt(waitMS, 10)}, int64(0)
	if m.rand.IntN(2) == 0 {
		level = m.rand.Int64N(10)
		words = append(words, "PRIORITY", strconv.FormatInt(level, 10))
	}
	m.log = append(m.log, strings.Join(words, " "))
	v := m.do(c, append(words, "NOTIFY")...)
	l := m.locks[key]
	i := slices.IndexFunc(m.queues[key], func(w *modelWait) bool { return w.owner == owner })
	switch {
	case l == nil:
		m.locks[key] = &grantedLock{owner: owner, token: v.Int, holds: 1}
		require.Positive(m.t, v.Int, m.where())
	case l.owner == owner:
		if l.byMS == 0 {
			l.holds++
		}
		require.Contains(m.t, []int64{0, v.Int}, l.token, m.where())
		l.byMS, l.token = 0, v.Int
	default:
		require.Equal(m.t, "+QUEUED", v.String(), m.where())
		w := &modelWait{owner: owner, level: level, sinceMS: m.nowMS()}
		if i >= 0 { // asked again, it keeps its place
			w = m.queues[key][i]
		} else {
			m.enter(key, w)
		}
		if w.by, w.untilMS, w.endMS = c, 0, 0; waitMS > 0 {
			w.endMS = m.nowMS() + waitMS
		}
	}
}

// attach attaches a connection to an owner or a prefix, or ends that.
func (m *notifyModel) attach(c *modelConn, owner string) {
	args, list, text := []string{"LOCK.ATTACH"}, &c.owners, owner
	if m.rand.IntN(2) == 0 {
		text = owner[:8]
		args, list = append(args, "PREFIX"), &c.prefixes
	}
	if m.rand.IntN(3) > 0 {
		m.log = append(m.log, "attach "+text)
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
		for key, l := range m.locks {
			if l.byMS != 0 && (l.owner == text || len(args) > 1 && strings.HasPrefix(l.owner, text)) {
				c.expected = append(c.expected, granted(key, l.owner))
			}
		}
		for _, q := range m.queues {
			for _, w := range q {
				if yes, _ := c.keeps(w.owner); yes {
					w.untilMS = 0
				}
			}
		}
		m.do(c, append(args, text)...) // and from now on it counts, also if it ends within this millisecond
		return
	}
	m.log = append(m.log, "detach "+text)
	*list = slices.DeleteFunc(*list, func(s string) bool { return s == text })
	args[0] = "LOCK.DETACH"
	m.do(c, append(args, text)...)
	m.orphan()
}

// confirm confirms a grant in one of three ways.
func (m *notifyModel) confirm(c *modelConn, key string) {
	l := m.locks[key]
	if l == nil || l.token == 0 {
		return
	}
	m.log = append(m.log, "confirm "+key)
	switch m.rand.IntN(3) {
	case 0:
		require.EqualValues(m.t, 1, m.do(c, "LOCK.CONFIRM", key, l.owner, strconv.FormatInt(l.token, 10)).Int, m.where())
	case 1:
		require.EqualValues(m.t, 1, m.do(c, "RENEW", key, l.owner, "PX", "1000000000").Int, m.where())
	default:
		require.Equal(m.t, l.token, m.do(c, "LOCK", key, l.owner, "PX", "1000000000", "ONCE").Int, m.where())
	}
	l.byMS = 0
}

func (m *notifyModel) step() {
	c, key, owner := m.conns[m.rand.IntN(len(m.conns))], "k"+strconv.Itoa(m.rand.IntN(3)), "owners:"+strconv.Itoa(m.rand.IntN(2))+strconv.Itoa(m.rand.IntN(3))
	l := m.locks[key]
	switch n := m.rand.IntN(100); {
	case n < 35:
		m.ask(c, owner)
	case n < 50 && l != nil:
		m.log = append(m.log, "UNLOCK "+key+" "+l.owner)
		v := m.do(c, "UNLOCK", key, l.owner)
		if l.byMS = 0; l.holds == 1 {
			delete(m.locks, key)
			require.EqualValues(m.t, 1, v.Int, m.where())
		}
		l.holds--
		m.serve()
	case n < 60:
		m.confirm(c, key)
	case n < 66:
		m.log = append(m.log, "LOCK.CANCEL "+key+" "+owner)
		want := int64(0)
		for _, w := range m.queues[key] {
			if w.owner == owner {
				m.leave(key, w, "cancelled")
				want = 1
			}
		}
		require.Equal(m.t, want, m.do(c, "LOCK.CANCEL", key, owner).Int, m.where())
	case n < 80:
		m.attach(c, owner)
	case n < 86:
		m.log = append(m.log, "close")
		m.close(c)
	default:
		byMS := int64(1 + m.rand.IntN(6000))
		m.log = append(m.log, fmt.Sprint("+", byMS))
		m.advance(byMS)
	}
}

// check requires that each connection has heard of all outcomes, and that locks and queues are as in the
// model.
func (m *notifyModel) check() {
	for _, c := range m.conns {
		m.do(c, "PING")
		require.Empty(m.t, c.expected, m.where())
	}
	waiting := 0
	for i := range 3 {
		key := "k" + strconv.Itoa(i)
		waiting += len(m.queues[key])
		if l := m.locks[key]; l != nil {
			require.Equal(m.t, strconv.Itoa(l.holds), m.do(m.conns[0], "HGET", key, l.owner).Str, "%s: %s", m.where(), key)
		} else {
			require.Zero(m.t, m.do(m.conns[0], "EXISTS", key).Int, "%s: %s", m.where(), key)
		}
	}
	require.Equal(m.t, waiting, m.srv.parked(), m.where())
}
