package linearizability

import "lockserver/internal/plant"

// faults are all that are tried. Each must break the lock only now and then, or only for one of its promises,
// so that it says something that it is found.
var faults = []plant.Fault{
	plant.New("UNLOCK skips the owner check", plant.Before("commands/lock_release.go",
		"\tif held.holds == 0 || token != 0 && token != held.token {\n\t\tif token != 0 {", `
	if planted("UNLOCK skips the owner check") && held.taken && held.holds == 0 {
		remove(c, key, edit, false)
		c.Out.Int(1)
		return nil
	}
`)),
	plant.New("UNLOCK ignores TOKEN", plant.After("commands/lock_release.go", "\ttoken, shared := readUnlock(a)\n", `
	if planted("UNLOCK ignores TOKEN") {
		token = 0
	}
`)),
	plant.New("UNLOCK forgets re-entry", plant.Instead("commands/lock_release.go", "if held.holds > 1 {",
		`if held.holds > 1 && !planted("UNLOCK forgets re-entry") {`)),
	plant.New("LOCK.FORCE does nothing", plant.Instead("commands/lock_release.go", "\tremove(c, key, edit, true)\n\tc.Out.Int(1)\n\treturn nil\n}\n", `
	if !planted("LOCK.FORCE does nothing") {
		remove(c, key, edit, true)
	}
	c.Out.Int(1)
	return nil
}
`)),
	plant.New("two waiters are woken", plant.After("server/parked.go", "\t\t\tif ex.try(w) {\n", `
				if next != nil && next.waiter.row.Name == "lock" && planted("two waiters are woken") {
					second := next.waiter
					next = next.next
					ex.answer(second, func(c *commands.Ctx) error {
						c.Out.Int(c.Host.NextToken(0))
						return nil
					})
				}
`)),
	plant.New("a release wakes nobody", plant.Instead("server/parking.go", "\tif q := p.queueOf(db, key); q != nil {\n\t\tp.makeReady(q)", `
	if q := p.queueOf(db, key); q != nil && !planted("a release wakes nobody") {
		p.makeReady(q)`)),
	plant.New("a waiter is told nil and has the lock", plant.Instead("commands/lock.go",
		"\tok, err := l.acquireAll(c)\n\tif !ok && err == nil {\n\t\tl.tryAgain(c)", `
	mark := c.Out.Mark()
	ok, err := l.acquireAll(c)
	if ok && l.grants[0].token%3 == 0 && planted("a waiter is told nil and has the lock") {
		c.Out.Rollback(mark)
		l.refuse(c)
	}
	if !ok && err == nil {
		l.tryAgain(c)`)),
	plant.New("a token is given twice", plant.Instead("server/durability/tokens.go", "\tt.last = max(t.last+1, floor+1, nowUS)\n", `
	before := t.last
	t.last = max(t.last+1, floor+1, nowUS)
	if before > floor && t.last%3 == 0 && planted("a token is given twice") {
		t.last = before
	}
`)),
	plant.New("a re-entry gets a new token", plant.Instead("commands/lock.go", "\tif held.holds == 0 || token == 0 {",
		"\tif held.holds == 0 || token == 0 || planted(\"a re-entry gets a new token\") {")),
	plant.New("a dead connection is granted a lock",
		plant.Instead("server/client.go", "\tif s.waiter != nil {\n\t\tex.unpark(s.waiter)",
			"\tif s.waiter != nil && !planted(\"a dead connection is granted a lock\") {\n\t\tex.unpark(s.waiter)"),
		plant.Instead("server/send.go", "\tif s.conn.PeerGone() {\n",
			"\tif s.conn.PeerGone() && !planted(\"a dead connection is granted a lock\") {\n"),
		plant.Instead("server/parked.go", "func (ex *executor) undo(w *waiter) {\n",
			"func (ex *executor) undo(w *waiter) {\n\tif planted(\"a dead connection is granted a lock\") {\n\t\treturn\n\t}\n"),
	),
	plant.New("a lease ends 2 ms early", plant.Before("commands/lock_state.go", "\treturn startMS + l.ms, nil\n", `
	if planted("a lease ends 2 ms early") && l.ms > 2 {
		return startMS + l.ms - 2, nil
	}
`)),
	plant.New("a lease ends 2 ms late", plant.Before("commands/lock_state.go", "\treturn startMS + l.ms, nil\n", `
	if planted("a lease ends 2 ms late") {
		return startMS + l.ms + 2, nil
	}
`)),
	plant.New("the watchdog outlives its connection", plant.Instead("server/client.go", "\tex.forget(s)\n", `
	if !planted("the watchdog outlives its connection") {
		ex.forget(s)
	}
`)),
	plant.New("the watchdog sleeps", plant.Before("server/watchdog.go", "\t\tif d.Renewal.Doubted {\n", `
		if planted("the watchdog sleeps") {
			return 0
		}
`)),
	plant.New("RENEW with a time keeps the watchdog", plant.Instead("commands/lock_renew.go", "\tif l.unit != \"\" {\n",
		"\tif l.unit != \"\" && !planted(\"RENEW with a time keeps the watchdog\") {\n")),
	plant.New("RENEW brings back an expired lock", plant.Before("commands/lock_renew.go",
		"\tif held.holds == 0 || token != 0 && token != held.token {\n", `
	if planted("RENEW brings back an expired lock") && !held.taken {
		edit.SetInt(owner, 1)
		edit.SetInt(tokenField, c.Host.NextToken(0))
		held.holds, token = 1, 0
	}
`)),
	plant.New("RENEW skips the owner check", plant.Before("commands/lock_renew.go",
		"\tif held.holds == 0 || token != 0 && token != held.token {\n", `
	if planted("RENEW skips the owner check") && held.taken {
		held.holds, token = 1, 0
	}
`)),
	// Without WAIT: one that waits would try again for what it took itself, for ever.
	plant.New("MLOCK keeps what it can get", plant.Before("commands/lock_many.go", "\tif !all {\n", `
	for _, key := range l.keys {
		if all || l.waits || !planted("MLOCK keeps what it can get") {
			break
		}
		if ok, _ := l.admits(c, key); ok {
			l.takeAt(c, key)
		}
	}
`)),
	plant.New("MUNLOCK gives back only the first", plant.Instead("commands/lock_release.go", "\tfor i, key := range keys {\n\t\theld, edit, err := openLock(c.DB, key, owner)\n", `
	for i, key := range keys {
		held, edit, err := openLock(c.DB, key, owner)
		if held.holds > 0 && i > 0 && planted("MUNLOCK gives back only the first") {
			c.Out.Int(1)
			continue
		}
`)),
}
