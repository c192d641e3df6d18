package commands

// guard runs another command if a token is the current token of a held lock. Both happen in one unit, so that
// no other owner can take the lock in between. With the token of a shared holder only commands that read may
// run. With that of a semaphore's holder any command may run, although there are other holders.
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

// guardable reports whether the command may run under GUARD: it must act on data, not on the connection, a
// transaction or a subscription. So commands are refused that a transaction does not queue or that a script
// may not call. Commands that scripts may not call because they block are allowed: here they do not block. A
// script is one unit.
func guardable(r *Row) bool {
	switch {
	case r.Inner != 0, r.Group == Connection, r.Flags&(NoMulti|Immediate) != 0:
		return false
	}
	return !r.Flags.Has(NoScript) || r.Flags.Has(Blocking) || runsScript(r)
}

// runsScript reports whether the command runs a script or a function. Only such commands of that group have
// keys.
func runsScript(r *Row) bool { return r.Group == Scripting && len(r.Keys()) > 0 }
