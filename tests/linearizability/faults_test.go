package linearizability

import "lockserver/tests/plant"

// faults are all planted faults. Each must break the lock only sometimes, or only one of its promises, so
// that finding it is an achievement.
var faults = []plant.Fault{
	plant.New("UNLOCK skips the owner check", plant.Insert("unlock-owner", `if held.taken && held.holds == 0 {
		remove(c, key, edit, false)
		c.Out.Int(1)
		return nil
	}`)),
	plant.New("UNLOCK ignores TOKEN", plant.Insert("unlock-token", `token = 0`)),
	plant.New("UNLOCK forgets re-entry", plant.And("release-hold", "false")),
	plant.New("LOCK.FORCE does nothing", plant.Omit("lock-force")),
	plant.New("two waiters are woken", plant.Insert("call-tries", `l, err := commands.FindLock(ws.Store.DB(w.DB()), []byte(w.First().Key()))
	if w.Row.Name == "lock" && err == nil && l.Holds > 0 && string(l.Owner) != w.Owner() {
		ws.Answer(w, func(c *commands.Ctx) error {
			c.Out.Int(c.Host.NextToken(0))
			return nil
		})
		return true, false
	}`)),
	plant.New("a release wakes no waiter", plant.And("wake-queue", "false")),
	plant.New("a waiter gets nil and has the lock", plant.Insert("lock-try", `mark := c.Out.Mark()
	ok, err := l.acquireAll(c)
	if ok && l.grants[0].token%3 == 0 {
		c.Out.Rollback(mark)
		l.refuse(c)
	}
	if !ok && err == nil {
		l.tryAgain(c)
	}
	if l.grants != nil {
		grants := l.grants
		w.grants = &grants
	}
	return ok, err`)),
	plant.New("a token is given twice", plant.Instead("next-token", `before := t.last
	t.last = max(t.last+1, floor+1, nowUS)
	if before > floor && t.last%3 == 0 {
		t.last = before
	}`)),
	plant.New("a re-entry gets a new token", plant.Or("lock-token", "true")),
	plant.New("a dead connection is granted a lock",
		plant.And("leave-queue", "false"), plant.And("peer-gone", "false"), plant.Insert("undo-grant", `return`)),
	plant.New("a lease ends 2 ms early", plant.Insert("lease-end", `if l.ms > 2 {
		return LeaseEndMS(c, l.ms-2), nil
	}`)),
	plant.New("a lease ends 2 ms late", plant.Insert("lease-end", `return LeaseEndMS(c, l.ms+2), nil`)),
	plant.New("the watchdog outlives its connection", plant.Omit("leave-renewals"), plant.And("ended-keeper", "s == nil")),
	plant.New("the watchdog sleeps", plant.Insert("renew-due", `return 0`)),
	plant.New("RENEW with a time keeps the watchdog", plant.And("renew-watchdog", "false")),
	plant.New("RENEW brings back an expired lock", plant.Insert("renew-owner", `if !held.taken {
		edit.SetInt(r.owner, 1)
		edit.SetInt(tokenField, c.Host.NextToken(0))
		held.holds, r.token = 1, 0
	}`)),
	plant.New("RENEW skips the owner check", plant.Insert("renew-owner", `if held.taken {
		held.holds, r.token = 1, 0
	}`)),
	// Only without WAIT: a waiting MLOCK would try again for ever for the keys that it took itself.
	plant.New("MLOCK keeps what it can get", plant.Insert("mlock-all", `for _, key := range l.keys {
		if all || l.waits {
			break
		}
		if ok, _ := l.admits(c, key); ok {
			l.takeAt(c, key)
		}
	}`)),
	plant.New("MUNLOCK gives back only the first", plant.Insert("munlock-each", `if held.holds > 0 && i > 0 {
		c.Out.Int(1)
		continue
	}`)),
}
