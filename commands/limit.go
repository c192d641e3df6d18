package commands

import (
	"lockserver/internal/decimal"
	"lockserver/internal/gcra"
	"lockserver/internal/keyevent"
	"lockserver/store"
)

// A limiter is a string key that holds the state of package gcra. The key expires when the limiter is full,
// so an idle limiter takes no memory. A refused take changes nothing, with one exception: if the limiter is
// emptier than the given terms allow, it becomes empty by these terms (gcra.Answer.Emptied).

// takeCall is one call of LIMIT.TAKE.
type takeCall struct {
	key  []byte
	rate *gcra.Rate
	takeOptions
}

// takeOptions holds the options of LIMIT.TAKE and LIMIT.MTAKE, which follow the rates.
type takeOptions struct {
	cost   int64
	waits  bool
	waitMS int64 // 0 means no limit
	// owner waits without blocking its client (NOTIFY). If it is nil the client is blocked.
	owner []byte
}

func (l *takeCall) read(c *Ctx) error {
	if l.readPlain(c) {
		return nil
	}
	a := c.Args()
	l.key = a.Key()
	l.rate = readRate(c, a)
	l.takeOptions.read(a)
	if a.Err() == nil && l.cost > l.rate.Burst() {
		a.Fail(ErrLimitCostBurst)
	}
	return a.Err()
}

// readPlain reads a call without options and with a valid rate, as most calls are. It returns false for any
// other call.
func (l *takeCall) readPlain(c *Ctx) bool {
	if len(c.Argv) != 5 {
		return false
	}
	burst, ok1 := decimal.ParseInt(c.Argv[2])
	count, ok2 := decimal.ParseInt(c.Argv[3])
	periodMS, ok3 := decimal.ParseInt(c.Argv[4])
	if !ok1 || !ok2 || !ok3 || burst < 1 || count < 1 || periodMS < 1 {
		return false
	}
	l.key, l.cost = c.Argv[1], 1
	var ok bool
	l.rate, ok = c.rateOf(burst, count, periodMS)
	return ok
}

// read reads the options. The cost is 1 if the call does not have COST.
func (l *takeOptions) read(a *Scanner) {
	cost := false
	l.cost = 1
	for a.More() {
		switch a.Option() {
		case "COST":
			if cost {
				a.Syntax()
			}
			cost = true
			l.cost = readCost(a)
		case "WAIT":
			if l.waits {
				a.Syntax()
			}
			l.waits, l.waitMS = true, a.IntOr(ErrTimeout)
			if l.waitMS < 0 {
				a.Fail(ErrTimeoutSign)
			}
		case "NOTIFY":
			if l.owner != nil {
				a.Syntax()
			}
			l.readOwner(a)
		}
	}
	if l.owner != nil && !l.waits {
		a.Syntax()
	}
}

// readCost reads the number of units that a call takes or gives back.
func readCost(a *Scanner) int64 {
	cost := a.IntOr(ErrLimitCost)
	if cost < 0 {
		a.Fail(ErrLimitCost)
	}
	return cost
}

// readOwner reads the name of the waiting owner.
func (l *takeOptions) readOwner(a *Scanner) {
	l.owner = a.Bytes()
	if a.Err() == nil {
		if err := CheckOwner(l.owner); err != nil {
			a.Fail(err)
		}
	}
}

// readTerms reads a burst, a count and a period in milliseconds.
func readTerms(a *Scanner) (burst, count, periodMS int64) {
	burst, count, periodMS = a.IntOr(ErrLimitRate), a.IntOr(ErrLimitRate), a.IntOr(ErrLimitRate)
	if burst < 1 || count < 1 || periodMS < 1 {
		a.Fail(ErrLimitRate)
	}
	return burst, count, periodMS
}

// readRate reads the burst, count and period of a limiter and returns its rate.
func readRate(c *Ctx, a *Scanner) *gcra.Rate {
	burst, count, periodMS := readTerms(a)
	r, ok := c.rateOf(burst, count, periodMS)
	if !ok {
		a.Fail(ErrLimitLong)
	}
	return r
}

// rateOf returns gcra.NewRate of these terms. It keeps the last rate, because most calls have the terms of
// the call before. The result is valid until the next call.
func (c *Ctx) rateOf(burst, count, periodMS int64) (r *gcra.Rate, ok bool) {
	if terms := [...]int64{burst, count, periodMS}; terms != c.terms {
		rate, ok := gcra.NewRate(burst, count, periodMS)
		if !ok {
			return nil, false
		}
		c.rate, c.terms = rate, terms
	}
	return &c.rate, true
}

// limitTake takes the cost from a limiter. If the limiter does not have it, the call waits or replies so.
func limitTake(c *Ctx) error {
	var l takeCall
	if err := l.read(c); err != nil {
		return err
	}
	a, err := l.take(c)
	if err != nil {
		return err
	}
	if a.Allowed || !l.waits {
		if !a.Allowed {
			c.countRefused(l.key, l.cost)
		}
		l.reply(c, a)
		return nil
	}
	err = l.wait(c, Wait{Keys: [][]byte{l.key}, Try: tryTake, TimedOut: refuseTake}, false)
	if err == nil {
		l.tryAgain(c, a)
	}
	return err
}

// wait makes the client, or the owner of a call with NOTIFY, wait for its turn at the keys of w. many says
// that the call is LIMIT.MTAKE.
func (l *takeOptions) wait(c *Ctx, w Wait, many bool) error {
	w.DeadlineMS, w.Queue = c.WaitEndMS(l.waitMS), true
	if l.owner != nil {
		w.Notify, w.Owner, w.Units, w.Permits, w.Lock = true, l.owner, 1, true, waitingUnits(many, len(w.Keys))
	}
	return c.Block(w)
}

// take takes the cost, unless the rate does not allow it or another waiter comes first.
func (l *takeCall) take(c *Ctx) (gcra.Answer, error) {
	// plant:limit-queue
	if l.cost > 0 && c.Queues.Awaited(c.DB.ID(), l.key) {
		return l.refused(c)
	}
	return takeFrom(c, l.key, l.rate, l.cost)
}

// refused returns the answer to a call that is refused whatever the limiter holds. Nothing changes.
func (l *takeCall) refused(c *Ctx) (gcra.Answer, error) {
	_, s, nowNS, err := findLimiter(c, l.key)
	return behindOthers(l.rate, s, nowNS, l.cost), err
}

// behindOthers returns the answer to a call that comes behind waiters, whatever the limiter holds.
func behindOthers(rate *gcra.Rate, s gcra.State, nowNS, cost int64) gcra.Answer {
	a, retryNS := rate.Take(s, nowNS, 0), int64(1_000_000) // a lower limit: how long the others wait is not known
	if would := rate.Take(s, nowNS, cost); !would.Allowed {
		retryNS = would.RetryNS + a.ResetNS - would.ResetNS // the limiter stays as far from full as it is
	}
	a.Allowed, a.RetryNS = false, retryNS
	return a
}

// tryAgain makes the queue of the limiter try again at the time when this call can take its cost.
func (l *takeCall) tryAgain(c *Ctx, a gcra.Answer) {
	nowNS, _ := gcra.NowNS(c.DB.Store().NowUS())
	c.Host.TryAgainAt(c, l.key, gcra.CeilMS(nowNS+a.RetryNS))
}

// tryTake is the Wait.Try of a call at the head of the queue.
func tryTake(c *Ctx) (bool, error) {
	var l takeCall
	if err := l.read(c); err != nil {
		return false, err
	}
	a, err := l.take(c)
	if err != nil {
		return false, err
	}
	if !a.Allowed {
		l.tryAgain(c, a)
		return false, nil
	}
	l.reply(c, a)
	return true, nil
}

// refuseTake is the Wait.TimedOut of such a call.
func refuseTake(c *Ctx) {
	var l takeCall
	_ = l.read(c)        // no error: it was read before
	a, _ := l.refused(c) // no error: tryTake ends the wait when the key is no limiter any more
	c.countRefused(l.key, l.cost)
	l.reply(c, a)
}

func (l *takeCall) reply(c *Ctx, a gcra.Answer) {
	c.Out.Ints(int64(boolInt(a.Allowed)), l.rate.Burst(), a.Remaining, gcra.CeilMS(a.RetryNS), gcra.CeilMS(a.ResetNS))
}

// clThrottle runs CL.THROTTLE of the module redis-cell. Its burst is 1 less than the units that can be taken
// at once. Its times are in seconds: see throttleSeconds.
func clThrottle(c *Ctx) error {
	a := c.Args()
	key, burst, count, seconds, cost := a.Key(), a.Int(), a.Int(), a.Int(), int64(1)
	if a.More() {
		cost = a.Int()
	}
	if a.More() {
		a.Arity()
	}
	switch {
	case a.Err() != nil:
		return a.Err()
	case count == 0 || seconds == 0:
		return ErrThrottleZero
	case burst < 0 || count < 0 || seconds < 0 || cost < 0:
		return ErrThrottleNegative
	case seconds > gcra.Longest/1_000_000_000 || burst+1 < 1:
		return ErrLimitLong
	}
	rate, ok := c.rateOf(burst+1, count, seconds*1000)
	if !ok {
		return ErrLimitLong
	}
	l := takeCall{key: key, rate: rate, takeOptions: takeOptions{cost: cost}}
	answer, err := l.take(c)
	if err != nil {
		return err
	}
	if !answer.Allowed {
		c.countRefused(key, cost)
	}
	retry := int64(-1)
	if !answer.Allowed && !answer.Never {
		retry = throttleSeconds(answer.RetryNS)
	}
	c.Out.Ints(int64(boolInt(!answer.Allowed)), rate.Burst(), answer.Remaining, retry, throttleSeconds(answer.ResetNS))
	return nil
}

// throttleSeconds returns whole seconds. A rest of a millisecond or more is rounded up, a smaller rest is
// dropped.
func throttleSeconds(ns int64) int64 {
	const second, ms = 1_000_000_000, 1_000_000
	if ns%second >= ms {
		return ns/second + 1
	}
	return ns / second
}

// takeFrom takes a cost from the limiter at a key, if the rate allows it.
func takeFrom(c *Ctx, key []byte, rate *gcra.Rate, cost int64) (gcra.Answer, error) {
	slot, s, nowNS, err := findLimiter(c, key)
	if err != nil {
		return gcra.Answer{}, err
	}
	a := rate.Take(s, nowNS, cost)
	if (a.Allowed || a.Emptied) && cost > 0 {
		putLimiter(c, slot, key, &a.State, "limit.take")
	}
	return a, nil
}

// putLimiter writes the state of a limiter that is not full. slot is the result of findLimiter. moved reports
// whether the slots of other keys are no longer valid.
func putLimiter(c *Ctx, slot int, key []byte, s *gcra.State, event string) (moved bool) {
	var text [64]byte
	endMS := s.EndMS()
	// plant:limit-write
	moved = c.DB.PutState(slot, key, s.AppendTo(text[:0]), endMS)
	if c.Settings.Events != 0 {
		c.Notify(keyevent.Generic, event, key)
		c.Notify(keyevent.String, "set", key)
		c.Notify(keyevent.Generic, "expire", key)
	}
	return moved
}

// limitGive gives back units that were taken and not used. The waiters of the limiter get them.
func limitGive(c *Ctx) error {
	a := c.Args()
	key, cost := a.Key(), int64(1)
	rate := readRate(c, a)
	if a.More() {
		a.Option()
		cost = readCost(a)
	}
	if a.More() {
		a.Syntax()
	}
	if err := a.Err(); err != nil {
		return err
	}
	if cost > rate.Burst() {
		return ErrLimitCostBurst
	}
	slot, s, nowNS, err := findLimiter(c, key)
	if err != nil {
		return err
	}
	answer := rate.Give(s, nowNS, cost)
	if slot >= 0 && cost > 0 {
		c.Count(CountGives)
	}
	switch {
	case slot < 0 || cost == 0:
	case answer.ResetNS > 0:
		putLimiter(c, slot, key, &answer.State, "limit.give")
	case c.DB.Delete(key):
		c.Notify(keyevent.Generic, "limit.give", key)
		c.Notify(keyevent.Generic, "del", key)
	}
	l := takeCall{rate: rate}
	l.reply(c, answer)
	return nil
}

// findLimiter returns the state at a key, and the time of this unit. slot is for PutState.
func findLimiter(c *Ctx, key []byte) (slot int, s gcra.State, nowNS int64, err error) {
	nowNS, ok := gcra.NowNS(c.DB.Store().NowUS())
	if !ok {
		return -1, s, 0, ErrLimitClock
	}
	slot, r := c.DB.FindState(key)
	switch {
	case !r.OK():
		return slot, s, nowNS, nil
	case !r.Is(store.String):
		return slot, s, nowNS, ErrWrongType
	}
	if s, ok = gcra.Parse(r.Bytes()); !ok {
		return slot, gcra.State{}, nowNS, ErrLimitState
	}
	return slot, s, nowNS, nil
}
