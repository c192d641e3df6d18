package commands

import (
	"bytes"

	"lockserver/internal/decimal"
	"lockserver/internal/gcra"
)

// LIMIT.MTAKE is LIMIT.TAKE of several limiters: it takes the cost from all of them at one moment, or from
// none of them. While it waits it has taken nothing and has a place in the queue of each, as MLOCK has
// (lock_many.go). So two calls cannot wait for each other.

// manyCall is one call of LIMIT.MTAKE.
type manyCall struct {
	limits []oneLimit
	takeOptions
}

// manyAnswer holds the outcome of a call. Each figure is that of the most restrictive limiter: the fewest
// units, the longest wait, the furthest from full.
type manyAnswer struct {
	gcra.Answer
	refused int    // the number of the first limiter that refuses, from 1; 0 means that all allow it
	slowest []byte // the key of the limiter with the longest RetryNS
}

// read reads the call. Its limiters are in memory of c; done releases them.
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
	m.limits = c.manyLimits(int(n))
	for i := range m.limits {
		l := &m.limits[i]
		l.key = a.Key()
		burst, count, periodMS := readTerms(a)
		if a.Err() == nil && !l.setTerms(burst, count, periodMS) {
			a.Fail(ErrLimitLong)
		}
		if m.namedBefore(i) {
			a.Fail(ErrLimitTwice)
		}
	}
	m.takeOptions.read(a)
	for i := range m.limits {
		if a.Err() == nil && m.cost > m.limits[i].rate.Burst() {
			a.Fail(ErrLimitCostBurst)
		}
	}
	return a.Err()
}

// readPlain reads a valid call without options, as most calls are. It returns false for any other call.
func (m *manyCall) readPlain(c *Ctx) bool {
	n := (len(c.Argv) - 2) / 4
	if named, ok := decimal.ParseInt(c.Argv[1]); !ok || named != int64(n) || n < 1 || n > mostLimits || len(c.Argv) != 2+4*n {
		return false
	}
	m.limits, m.cost = c.manyLimits(n), 1
	for i := range m.limits {
		l, words := &m.limits[i], c.Argv[2+4*i:]
		l.key = words[0]
		burst, ok1 := decimal.ParseInt(words[1])
		count, ok2 := decimal.ParseInt(words[2])
		periodMS, ok3 := decimal.ParseInt(words[3])
		if !ok1 || !ok2 || !ok3 || !l.setTerms(burst, count, periodMS) || m.namedBefore(i) {
			return false
		}
	}
	return true
}

// manyLimits returns n limiters. They still have the terms and rates of the last call.
func (c *Ctx) manyLimits(n int) []oneLimit {
	if c.limits == nil {
		c.limits = new([mostLimits]oneLimit)
	}
	return c.limits[:n]
}

// namedBefore reports whether an earlier limiter of the call has the key of the one at i.
func (m *manyCall) namedBefore(i int) bool {
	for j := range i {
		if bytes.Equal(m.limits[j].key, m.limits[i].key) {
			return true
		}
	}
	return false
}

// done drops the references to the words of the call.
func (m *manyCall) done() {
	for i := range m.limits {
		m.limits[i].key = nil
	}
}

// limitManyTake takes the cost from all limiters. If one of them does not have it, the call waits or replies
// so.
func limitManyTake(c *Ctx) error {
	var m manyCall
	defer m.done()
	if err := m.read(c); err != nil {
		return err
	}
	a, err := m.take(c)
	if err != nil {
		return err
	}
	if a.Allowed || !m.waits {
		m.count(c, &a)
		a.reply(c)
		return nil
	}
	w := Wait{Try: tryManyTake, TimedOut: refuseManyTake}
	for i := range m.limits {
		w.Keys = append(w.Keys, m.limits[i].key)
	}
	err = m.wait(c, w, true)
	if err == nil {
		m.tryAgain(c, &a)
	}
	return err
}

// take takes the cost from each limiter, unless the rate of one of them does not allow it or another waiter
// comes first there.
func (m *manyCall) take(c *Ctx) (a manyAnswer, err error) {
	if a, err = m.look(c, false); err != nil || m.cost == 0 {
		return a, err
	}
	moved := false
	for i := range m.limits {
		l := &m.limits[i]
		if a.Allowed || l.answer.Emptied { // an emptied limiter is stored although it refuses: see takeFrom
			if moved {
				l.slot, _ = c.DB.FindState(l.key)
			}
			moved = putLimiter(c, l.slot, l.key, &l.answer.State, "limit.take") || moved
		}
	}
	return a, nil
}

// look asks all limiters and changes nothing. With refuse the answer is that of a call that is refused
// whatever the limiters hold.
func (m *manyCall) look(c *Ctx, refuse bool) (a manyAnswer, err error) {
	var nowNS int64
	for i := range m.limits {
		l := &m.limits[i]
		if l.slot, l.state, nowNS, err = findLimiter(c, l.key); err != nil {
			return a, err
		}
		// plant:mtake-queue
		if refuse || m.cost > 0 && c.Queues.Awaited(c.DB.ID(), l.key) {
			l.answer = behindOthers(&l.rate, l.state, nowNS, m.cost)
		} else {
			l.answer = l.rate.Take(l.state, nowNS, m.cost)
		}
		// plant:mtake-all
		if !l.answer.Allowed && a.refused == 0 {
			a.refused = i + 1
		}
	}
	for i := range m.limits {
		l := &m.limits[i]
		if a.refused > 0 && l.answer.Allowed { // another limiter refuses, so this one keeps its units
			l.answer = l.rate.Take(l.state, nowNS, 0)
		}
		a.add(l, i == 0)
	}
	a.Allowed = a.refused == 0
	return a, nil
}

// add includes the answer of a limiter in the figures.
func (a *manyAnswer) add(l *oneLimit, first bool) {
	if first || l.answer.Remaining < a.Remaining {
		a.Remaining = l.answer.Remaining
	}
	if first || l.answer.RetryNS > a.RetryNS {
		a.RetryNS, a.slowest = l.answer.RetryNS, l.key
	}
	a.ResetNS = max(a.ResetNS, l.answer.ResetNS)
}

// tryAgain makes the queue of the slowest limiter try again at the time when that limiter allows the cost.
func (m *manyCall) tryAgain(c *Ctx, a *manyAnswer) {
	nowNS, _ := gcra.NowNS(c.DB.Store().NowUS())
	c.Host.TryAgainAt(c, a.slowest, gcra.CeilMS(nowNS+a.RetryNS))
}

// tryManyTake is the Wait.Try of a call at the head of a queue.
func tryManyTake(c *Ctx) (bool, error) {
	var m manyCall
	defer m.done()
	if err := m.read(c); err != nil {
		return false, err
	}
	a, err := m.take(c)
	if err != nil {
		return false, err
	}
	if !a.Allowed {
		m.tryAgain(c, &a)
		return false, nil
	}
	a.reply(c)
	return true, nil
}

// refuseManyTake is the Wait.TimedOut of such a call.
func refuseManyTake(c *Ctx) {
	var m manyCall
	defer m.done()
	_ = m.read(c)           // no error: it was read before
	a, _ := m.look(c, true) // no error: tryManyTake ends the wait when a key is no limiter any more
	m.count(c, &a)
	a.reply(c)
}

// count counts a refused call for the first limiter that refuses it.
func (m *manyCall) count(c *Ctx, a *manyAnswer) {
	if a.refused > 0 {
		c.countRefused(m.limits[a.refused-1].key, m.cost)
	}
}

func (a *manyAnswer) reply(c *Ctx) {
	c.Out.Ints(int64(boolInt(a.Allowed)), int64(a.refused), a.Remaining, gcra.CeilMS(a.RetryNS), gcra.CeilMS(a.ResetNS))
}
