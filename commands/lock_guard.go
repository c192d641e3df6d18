package commands

// guard runs another command if a token is the current one of a lock that is held, in the same unit: no other
// owner can take the lock in between. With the token of a shared holder it only runs what reads. The holders
// of a semaphore are not alone, and may run anything.
func guard(c *Ctx) error {
	a := c.Args()
	key, token, argv := a.Key(), readTokenNumber(a), a.Rest()
	if err := a.Err(); err != nil {
		return err
	}
	row, err := c.Table.Resolve(argv)
	if err != nil {
		return err
	}
	if !guardable(row) {
		return ErrNotGuarded(row.FullName())
	}
	l, err := FindLock(c.DB, key)
	if err != nil {
		return err
	}
	exclusive := l.Holds > 0 && l.Token == token
	if l.Shares > 0 {
		holder := holderWith(c.DB.PeekLive(key), token)
		exclusive = holder.Exclusive > 0
		if holder.Shared > 0 && !exclusive && l.Limit == 0 && !row.Flags.Has(ReadOnly) {
			return ErrSharedGuard
		}
		exclusive = holder.Holds() > 0
	}
	if !exclusive {
		c.Host.StaleToken(c)
		return ErrStaleToken
	}
	return c.Host.Nested(c, row, argv)
}

// guardable reports whether the command may run under GUARD: it acts on data, not on the connection, a
// transaction or a subscription. Those are the ones that a transaction does not queue or a script may not
// call. A command that scripts may not call because it blocks does not block here either. A script is one
// unit.
func guardable(r *Row) bool {
	switch {
	case r.Inner != 0, r.Group == Connection, r.Flags&(NoMulti|Immediate) != 0:
		return false
	}
	return !r.Flags.Has(NoScript) || r.Flags.Has(Blocking) || runsScript(r)
}

// runsScript reports whether the command runs a script or a function: those, and no
// other of their group, have keys.
func runsScript(r *Row) bool { return r.Group == Scripting && len(r.Keys()) > 0 }
