package commands

import "lockserver/internal/keyevent"

// renew starts the lease of a held lock anew. With a time of its own the client has taken the renewal over.
func renew(c *Ctx) error {
	a := c.Args()
	key, owner := a.Key(), a.Bytes()
	var l lease
	token := int64(0)
	for a.More() {
		switch w := a.Option(); w {
		case "PX", "EX":
			l.read(c, a, w)
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
	if err := CheckOwner(owner); err != nil {
		return err
	}
	endMS, err := l.endMS(c)
	if err != nil {
		return err
	}
	held, edit, err := openLock(c.DB, key, owner)
	if err != nil {
		return renewShare(c, key, owner, edit, token, endMS, l.unit != "")
	}
	// plant:renew-owner
	if held.holds == 0 || token != 0 && token != held.token {
		if token != 0 {
			c.Host.StaleToken(c)
		}
		c.Out.Int(0)
		return nil
	}
	edit.Expire(endMS)
	c.Host.Confirmed(c, key, owner, held.token)
	c.Notify(keyevent.Generic, "renew", key)
	// plant:renew-watchdog
	if l.unit != "" {
		l.mark(held, edit)
		c.Host.StopRenewing(c, key)
	}
	c.Out.Int(1)
	return nil
}
