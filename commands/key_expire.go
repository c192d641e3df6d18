package commands

import (
	"math"

	"lockserver/internal/decimal"
	"lockserver/internal/keyevent"
	"lockserver/store"
)

func expire(c *Ctx) error { return setDeadline(c, 1000, c.NowMS()) }

func pexpire(c *Ctx) error { return setDeadline(c, 1, c.NowMS()) }

func expireat(c *Ctx) error { return setDeadline(c, 1000, 0) }

func pexpireat(c *Ctx) error { return setDeadline(c, 1, 0) }

// setDeadline runs EXPIRE and its relatives. Times count in units of unitMS from baseMS on. A time in the
// past removes the key, and counts as success. Errors are reported in the order of Redis: the options, then
// the time. For a missing key the reply is 0.
func setDeadline(c *Ctx, unitMS, baseMS int64) error {
	a := c.Args()
	key, num := a.Key(), a.Bytes()
	cond := readExpireCond(a)
	if err := a.Err(); err != nil {
		return err
	}
	n, ok := decimal.ParseInt(num)
	if !ok {
		return ErrNotInteger
	}
	if n > math.MaxInt64/unitMS || n < math.MinInt64/unitMS || n*unitMS > math.MaxInt64-baseMS {
		return ErrInvalidExpire(c.Row.FullName())
	}
	atMS := n*unitMS + baseMS
	r := c.DB.FindToWrite(key)
	if !r.OK() || !cond.allows(r.DeadlineMS(), atMS) {
		c.Out.Int(0)
		return nil
	}
	if r.Kind() == store.Hash {
		if baseMS != 0 && n > 0 && IsLease(r) {
			atMS = max(LeaseEndMS(c, n*unitMS), baseMS+1) // the present millisecond would count as past
		}
		atMS = max(atMS, standInEndMS(r.Hash()))
	}
	c.DB.Expire(key, atMS)
	c.notifyDeadline(key, atMS)
	c.Out.Int(1)
	return nil
}

// expireCond holds the conditions of EXPIRE; a call may have several.
type expireCond struct{ nx, xx, gt, lt bool }

// readNext reads a condition if the next word is one, and reports whether it did.
func (cond *expireCond) readNext(a *Scanner) bool {
	switch a.MaybeOption() {
	case "NX":
		cond.nx = true
	case "XX":
		cond.xx = true
	case "GT":
		cond.gt = true
	case "LT":
		cond.lt = true
	default:
		return false
	}
	return true
}

func readExpireCond(a *Scanner) expireCond {
	var cond expireCond
	for a.More() {
		if !cond.readNext(a) {
			a.Fail(ErrUnsupportedOption(a.Bytes()))
		}
	}
	switch {
	case cond.nx && (cond.xx || cond.gt || cond.lt):
		a.Fail(ErrExpireNXWithOthers)
	case cond.gt && cond.lt:
		a.Fail(ErrExpireGTAndLT)
	}
	return cond
}

// allows reports whether newMS may replace the deadline oldMS. An oldMS of 0 means no deadline, which counts
// as later than any time.
func (cond expireCond) allows(oldMS, newMS int64) bool {
	switch {
	case cond.nx && oldMS != 0, cond.xx && oldMS == 0:
		return false
	case cond.gt && (oldMS == 0 || newMS <= oldMS):
		return false
	case cond.lt && oldMS != 0 && newMS >= oldMS:
		return false
	}
	return true
}

func persist(c *Ctx) error {
	if c.DB.FindToWrite(c.Argv[1]).OK() && c.DB.Persist(c.Argv[1]) {
		c.Notify(keyevent.Generic, "persist", c.Argv[1])
		c.Out.Int(1)
	} else {
		c.Out.Int(0)
	}
	return nil
}

func ttl(c *Ctx) error { return replyDeadline(c, 1000, c.NowMS()) }

func pttl(c *Ctx) error { return replyDeadline(c, 1, c.NowMS()) }

func expiretime(c *Ctx) error { return replyDeadline(c, 1000, 0) }

func pexpiretime(c *Ctx) error { return replyDeadline(c, 1, 0) }

// replyDeadline replies a key's deadline in units of unitMS since baseMS, rounded to the nearest. It replies
// -1 for a key without a deadline and -2 for a missing key.
func replyDeadline(c *Ctx, unitMS, baseMS int64) error {
	r := c.DB.Look(c.Argv[1])
	switch {
	case !r.OK():
		c.Out.Int(-2)
	case r.DeadlineMS() == 0:
		c.Out.Int(-1)
	default:
		leftMS := max(r.DeadlineMS()-baseMS, 0)
		if baseMS != 0 && IsLease(r) {
			leftMS = LeaseLeftMS(r.DeadlineMS(), c.DB.Store().NowUS())
		}
		c.Out.Int(leftMS/unitMS + (leftMS%unitMS+unitMS/2)/unitMS)
	}
	return nil
}
