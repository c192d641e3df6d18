package server

import "lockserver/commands"

// The commands on the queue of a lock, and what bounds it.

func lockQueueRows() []commands.Row {
	return []commands.Row{
		{Name: "lock.cancel", Group: commands.Lock, Since: "0.1.0", Flags: commands.Write | commands.Fast, Run: lockCancel,
			Summary:    "Ends an owner's waits for a lock; a blocked client gets nil.",
			Complexity: "O(N) where N is the smaller of the number of waiters for the lock and that of the owner's waits",
			Args:       []commands.Arg{commands.Key("key", commands.RW|commands.Delete), commands.Str("owner")}},
	}
}

// lockCancel ends the waits of an owner that stand in the queue of a lock. An MLOCK that waits for the lock
// ends as a whole.
func lockCancel(c *commands.Ctx) error {
	a := c.Args()
	key, owner := a.Key(), a.Bytes()
	if err := a.Err(); err != nil {
		return err
	}
	if err := commands.CheckOwner(owner); err != nil {
		return err
	}
	ex, found := sessionOf(c).executor, int64(0)
	for {
		w := ex.queues.Find(c.DB.ID(), key, owner)
		if w == nil {
			break
		}
		found = 1
		ex.timeOut(w.Call().(*parkedCall))
	}
	c.Out.Int(found)
	return nil
}

// limitWaiters refuses a wait for a lock that has as many waiters as it may have.
func (ex *executor) limitWaiters(c *commands.Ctx, wait *commands.Wait) error {
	most := ex.config.LockMaxWaiters
	if most == 0 || wait.Owner == nil {
		return nil
	}
	for _, key := range wait.Keys {
		if q := ex.queues.Of(c.DB.ID(), key); q != nil && int64(q.OfLocks()) >= most {
			ex.counts.limited++
			return commands.ErrLockWaiters(key, most)
		}
	}
	return nil
}
