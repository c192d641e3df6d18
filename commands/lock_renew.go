package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/internal/lockhistory"
)

// renewCall is a call of RENEW or SEM.RENEW.
type renewCall struct {
	key, owner []byte
	lease      lease
	endMS      int64 // of the lease
	token      int64 // 0 means any token
}

// readRenew reads the words of a call and validates them.
func readRenew(c *Ctx) (r renewCall, err error) {
	a := c.Args()
	r.key, r.owner = a.Key(), a.Bytes()
	for a.More() {
		switch w := a.Option(); w {
		case "PX", "EX":
			r.lease.read(c, a, w)
		case "TOKEN":
			if r.token != 0 {
				a.Syntax()
			}
			r.token = readTokenNumber(a)
		}
	}
	if err = a.Err(); err != nil {
		return r, err
	}
	if err = CheckOwner(r.owner); err != nil {
		return r, err
	}
	r.endMS, err = r.lease.endMS(c)
	return r, err
}

// taken reports whether the client renews the lease from now on, because the call names a lease.
func (r *renewCall) taken() bool { return r.lease.unit != "" }

// renew restarts the lease of a held lock.
func renew(c *Ctx) error {
	r, err := readRenew(c)
	if err != nil {
		return err
	}
	held, edit, kind := openLock(c.DB, r.key, r.owner)
	if kind != plainLock {
		return r.share(c, edit, kind)
	}
	// plant:renew-owner
	if held.holds == 0 || r.token != 0 && r.token != held.token {
		if r.token != 0 {
			c.Host.StaleToken(c)
		}
		c.Out.Int(0)
		return nil
	}
	edit.Expire(r.endMS)
	c.Host.Confirmed(c, r.key, r.owner, held.token)
	c.RecordEvent(r.key, r.owner, LockEvent{Kind: lockhistory.Renewed, Token: held.token})
	c.Notify(keyevent.Generic, "renew", r.key)
	// plant:renew-watchdog
	if r.taken() {
		r.lease.mark(held, edit)
		c.Host.StopRenewing(c, r.key)
	}
	c.Out.Int(1)
	return nil
}
