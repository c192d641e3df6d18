package commands

import (
	"math"

	"lockserver/store"
)

// lockCall is one call of LOCK.
type lockCall struct {
	key, owner []byte
	lease      lease
	waits      bool
	waitMS     int64 // 0: without limit
	granted    int64 // the token, after a wait
}

func readLockCall(a *Scanner) (l lockCall, err error) {
	l.key, l.owner = a.Key(), a.Bytes()
	for a.More() {
		switch w := a.Option(); w {
		case "PX", "EX":
			l.lease.read(a, w)
		case "WAIT":
			if l.waits {
				a.Syntax()
			}
			l.waits, l.waitMS = true, a.IntOr(ErrTimeout)
			if l.waitMS < 0 {
				a.Fail(ErrTimeoutSign)
			}
		}
	}
	if err := a.Err(); err != nil {
		return l, err
	}
	return l, checkOwner(l.owner)
}

// lock acquires, or waits, or answers nil.
func lock(c *Ctx) error {
	l, err := readLockCall(c.Args())
	if err != nil {
		return err
	}
	if _, err := l.lease.endMS(c); err != nil {
		return err
	}
	// Whoever waits goes first: an overdue lease may make the lock free in the very command that finds it so.
	token, err := l.acquire(c, c.Host.Awaited(c.DB, l.key))
	if err != nil {
		return err
	}
	switch {
	case token != 0:
		c.Out.Int(token)
	case l.waits:
		l.park(c)
	default:
		c.Out.Null()
	}
	return nil
}

// acquire takes the lock for its owner and returns the token; 0: it is held, or kept for who waits, and nothing was
// changed.
func (l *lockCall) acquire(c *Ctx, awaited bool) (token int64, err error) {
	endMS, err := l.lease.endMS(c)
	if err != nil {
		return 0, err
	}
	held, edit, err := openLock(c.DB, l.key, l.owner)
	if err != nil {
		return 0, err
	}
	if held.holds == math.MaxInt64 {
		return 0, ErrOverflow
	}
	if held.holds == 0 && (held.taken || awaited) {
		return 0, nil
	}
	token = held.token
	edit.SetInt(l.owner, held.holds+1)
	if held.holds == 0 || token == 0 { // a lock that Redisson's scripts took has no token yet
		token = c.Host.NextToken(token)
		edit.SetInt(tokenField, token)
	}
	edit.Expire(endMS)
	if l.lease.unit == "" {
		c.Host.Renew(c, l.key, l.owner, token)
	} else {
		c.Host.StopRenewing(c, l.key)
	}
	return token, nil
}

// park makes the client wait its turn.
func (l *lockCall) park(c *Ctx) {
	own := *l
	own.key, own.owner = Own(l.key), Own(l.owner)
	w := Wait{Keys: [][]byte{own.key}, Queue: true,
		Try: func(c *Ctx) (bool, error) {
			token, err := own.acquire(c, false)
			if err != nil || token == 0 {
				return false, err
			}
			own.granted = token
			c.Out.Int(token)
			return true, nil
		},
		TimedOut: func(c *Ctx) { c.Out.Null() },
		Undo:     own.giveBack,
	}
	if l.waitMS > 0 && l.waitMS < math.MaxInt64-c.NowMS() {
		w.DeadlineMS = c.NowMS() + l.waitMS
	}
	c.Block(w)
}

// giveBack releases a lock whose grant never reached the client, unless the lock has been released since.
func (l *lockCall) giveBack(c *Ctx) {
	held, edit, err := openLock(c.DB, l.key, l.owner)
	if err == nil && held.holds > 0 && held.token == l.granted {
		release(c, l.key, l.owner, held, edit)
	}
}

// release gives back one hold and returns 1 if it was the last, else 0.
func release(c *Ctx, key, owner []byte, held heldLock, edit store.HashEdit) int64 {
	if held.holds > 1 {
		edit.SetInt(owner, held.holds-1)
		return 0
	}
	edit.Remove()
	c.Host.StopRenewing(c, key)
	return 1
}

// unlock gives back one hold.
func unlock(c *Ctx) error {
	a := c.Args()
	key, owner := a.Key(), a.Bytes()
	token := readToken(a)
	if err := a.Err(); err != nil {
		return err
	}
	if err := checkOwner(owner); err != nil {
		return err
	}
	held, edit, err := openLock(c.DB, key, owner)
	if err != nil {
		return err
	}
	if held.holds == 0 || token != 0 && token != held.token {
		c.Out.Null()
		return nil
	}
	c.Out.Int(release(c, key, owner, held, edit))
	return nil
}

// readToken reads TOKEN and its number where a row allows it; 0: any token will do.
func readToken(a *Scanner) int64 {
	token := int64(0)
	for a.More() {
		if a.Option() == "TOKEN" && token == 0 {
			token = readTokenNumber(a)
		} else {
			a.Syntax()
		}
	}
	return token
}

// readTokenNumber reads a fencing token, which is always positive.
func readTokenNumber(a *Scanner) int64 {
	token := a.Int()
	if a.Err() == nil && token <= 0 {
		a.Fail(ErrNotInteger)
	}
	return token
}

// renew starts the lease of a held lock anew. With a time of its own the client has taken the renewal over.
func renew(c *Ctx) error {
	a := c.Args()
	key, owner := a.Key(), a.Bytes()
	var l lease
	token := int64(0)
	for a.More() {
		switch w := a.Option(); w {
		case "PX", "EX":
			l.read(a, w)
		case "TOKEN":
			if token != 0 {
				a.Syntax()
			}
			token = readTokenNumber(a)
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	if err := checkOwner(owner); err != nil {
		return err
	}
	endMS, err := l.endMS(c)
	if err != nil {
		return err
	}
	held, edit, err := openLock(c.DB, key, owner)
	if err != nil {
		return err
	}
	if held.holds == 0 || token != 0 && token != held.token {
		c.Out.Int(0)
		return nil
	}
	edit.Expire(endMS)
	if l.unit != "" {
		c.Host.StopRenewing(c, key)
	}
	c.Out.Int(1)
	return nil
}
