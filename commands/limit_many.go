package commands

import (
	"bytes"
	"math"

	"lockserver/internal/gcra"
	"lockserver/store"
)

// LIMIT.MTAKE is LIMIT.TAKE of several limiters: it takes the cost from all of them at one moment, or from
// none of them. While it waits it has taken nothing and has a place in the queue of each, as MLOCK has
// (lock_many.go). So two calls cannot wait for each other.

// manyCall is one call of LIMIT.MTAKE, with its outcome.
type manyCall struct {
	n int // the number of limiters: they are the first ones of Ctx.limits
	takeOptions
	manyAnswer
}

// manyAnswer holds the outcome of a call. Each figure is that of the most restrictive limiter: the fewest
// units, the longest wait, the furthest from full.
type manyAnswer struct {
	remaining, retryNS, resetNS int64
	refused                     int // the number of the first limiter that refuses, from 1; 0 means that all allow it
	slowest                     int // the limiter with the longest retryNS, from 0
}

// keyOf returns the key of the limiter at i of the call. The words of its terms follow it.
func keyOf(c *Ctx, i int) []byte { return c.Argv[2+4*i] }

// read reads the call. Its limiters are valid until the next call.
func (m *manyCall) read(c *Ctx) error {
	if m.readPlain(c) {
		return nil
	}
	a := c.Args()
	n := a.IntOr(ErrNumKeysZero)
	switch {
	case n < 1:
		a.Fail(ErrNumKeysZero)
	case n > int64(a.Left()/4):
		a.Fail(ErrTooManyKeys)
	case n > mostLimits:
		a.Fail(ErrLimitsMany)
	}
	if a.Err() != nil {
		return a.Err()
	}
	m.setLimits(c, int(n))
	for i := range m.n {
		a.Key()
		readTerms(a)
		if a.Err() == nil && !c.limits[i].setTerms((*[4][]byte)(c.Argv[2+4*i:])) {
			a.Fail(ErrLimitLong)
		}
		if namedBefore(c, i) {
			a.Fail(ErrLimitTwice)
		}
	}
	m.takeOptions.read(a)
	for i := range m.n {
		if a.Err() == nil && m.cost > c.limits[i].rate.Burst() {
			a.Fail(ErrLimitCostBurst)
		}
	}
	return a.Err()
}

// readPlain reads a valid call without options for at most nine limiters, as most calls are. It returns false
// for any other call.
func (m *manyCall) readPlain(c *Ctx) bool {
	number := c.Argv[1]
	if len(number) != 1 || number[0]-'1' > 8 || len(c.Argv) != 2+4*int(number[0]-'0') {
		return false
	}
	m.setLimits(c, int(number[0]-'0'))
	m.cost = 1
	words := c.Argv[2:]
	for i := range m.n {
		if !c.limits[i].setTerms((*[4][]byte)(words)) || i > 0 && namedBefore(c, i) {
			return false
		}
		words = words[4:]
	}
	return true
}

// setLimits gives the call n limiters. They still have the terms and rates of the last call.
func (m *manyCall) setLimits(c *Ctx, n int) {
	if c.limits == nil {
		c.limits = new([mostLimits]oneLimit)
	}
	m.n = n
}

// namedBefore reports whether an earlier limiter of the call has the key of the one at i.
func namedBefore(c *Ctx, i int) bool {
	for j := range i {
		if bytes.Equal(keyOf(c, j), keyOf(c, i)) {
			return true
		}
	}
	return false
}

// limitManyTake takes the cost from all limiters. If one of them does not have it, the call waits or replies
// so.
func limitManyTake(c *Ctx) error {
	var m manyCall
	if err := m.read(c); err != nil {
		return err
	}
	if err := m.take(c); err != nil {
		return err
	}
	if m.refused == 0 || !m.waits {
		if m.refused > 0 {
			m.count(c)
		}
		m.reply(c)
		return nil
	}
	w := Wait{Try: tryManyTake, TimedOut: refuseManyTake}
	for i := range m.n {
		w.Keys = append(w.Keys, keyOf(c, i))
	}
	err := m.wait(c, w, true)
	if err == nil {
		m.tryAgain(c)
	}
	return err
}

// take takes the cost from each limiter, unless the rate of one of them does not allow it or another waiter
// comes first there.
func (m *manyCall) take(c *Ctx) error {
	if err := m.look(c, false); err != nil || m.cost == 0 {
		return err
	}
	moved := false
	for i := range m.n {
		l, key := &c.limits[i], keyOf(c, i)
		if m.refused == 0 || l.answer.Emptied { // an emptied limiter is stored although it refuses: see takeFrom
			if moved {
				l.slot, _ = c.DB.FindState(key)
			}
			moved = putLimiter(c, l.slot, key, &l.answer.State, "limit.take") || moved
		}
	}
	return nil
}

// look asks all limiters and changes nothing. With refuse the answer is that of a call that is refused
// whatever the limiters hold.
func (m *manyCall) look(c *Ctx, refuse bool) error {
	m.remaining = math.MaxInt64
	for i := range m.n {
		l, key := &c.limits[i], keyOf(c, i)
		behind := refuse
		// plant:mtake-queue
		if m.cost > 0 && c.Queues.Awaited(c.DB.ID(), key) {
			behind = true
		}
		slot, state, nowNS, err := findLimiter(c, key)
		if err != nil {
			return err
		}
		store.ForgetRecent(c.DB)
		l.slot, l.state = slot, state
		if behind {
			l.answer = behindOthers(&l.rate, state, nowNS, m.cost)
		} else {
			l.rate.TakeInto(&l.answer, state, nowNS, m.cost)
		}
		// plant:mtake-all
		if !l.answer.Allowed && m.refused == 0 {
			m.refused = i + 1
		}
		m.add(i, &l.answer)
	}
	if m.refused > 0 {
		m.keepUnits(c)
	}
	return nil
}

// keepUnits makes the limiters of a refused call keep their units, and sums the answers up again.
func (m *manyCall) keepUnits(c *Ctx) {
	m.manyAnswer = manyAnswer{refused: m.refused, remaining: math.MaxInt64}
	nowNS, _ := gcra.NowNS(c.DB.Store().NowUS())
	for i := range m.n {
		l := &c.limits[i]
		if l.answer.Allowed {
			l.answer = l.rate.Take(l.state, nowNS, 0)
		}
		m.add(i, &l.answer)
	}
}

// add includes the answer l of the limiter at i in the figures.
func (m *manyCall) add(i int, l *gcra.Answer) {
	m.remaining, m.resetNS = min(m.remaining, l.Remaining), max(m.resetNS, l.ResetNS)
	if l.RetryNS > m.retryNS {
		m.retryNS, m.slowest = l.RetryNS, i
	}
}

// tryAgain makes the queue of the slowest limiter try again at the time when that limiter allows the cost.
func (m *manyCall) tryAgain(c *Ctx) {
	nowNS, _ := gcra.NowNS(c.DB.Store().NowUS())
	c.Host.TryAgainAt(c, keyOf(c, m.slowest), gcra.CeilMS(nowNS+m.retryNS))
}

// tryManyTake is the Wait.Try of a call at the head of a queue.
func tryManyTake(c *Ctx) (bool, error) {
	var m manyCall
	if err := m.read(c); err != nil {
		return false, err
	}
	if err := m.take(c); err != nil {
		return false, err
	}
	if m.refused > 0 {
		m.tryAgain(c)
		return false, nil
	}
	m.reply(c)
	return true, nil
}

// refuseManyTake is the Wait.TimedOut of such a call.
func refuseManyTake(c *Ctx) {
	var m manyCall
	_ = m.read(c)       // no error: it was read before
	_ = m.look(c, true) // no error: tryManyTake ends the wait when a key is no limiter any more
	m.count(c)
	m.reply(c)
}

// count counts a refused call for the first limiter that refuses it.
func (m *manyCall) count(c *Ctx) { c.countRefused(keyOf(c, m.refused-1), m.cost) }

func (m *manyCall) reply(c *Ctx) {
	c.Out.Ints(int64(boolInt(m.refused == 0)), int64(m.refused), m.remaining, gcra.CeilMS(m.retryNS), gcra.CeilMS(m.resetNS))
}
