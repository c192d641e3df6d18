package wait

import (
	"lockserver/commands"
	"lockserver/internal/lockhistory"
	"lockserver/server/attach"
	"lockserver/store"
)

// The commands on the queue of a lock, and what bounds it.

func lockQueueRows() []commands.Row {
	return []commands.Row{
		{Name: "lock.cancel", Group: commands.Lock, Since: "0.1.0", Flags: commands.Write | commands.Fast, Run: lockCancel,
			Summary:    "Ends an owner's waits for a lock; a blocked client gets nil.",
			Complexity: "O(N) where N is the smaller of the number of waiters for the lock and that of the owner's waits",
			Args:       []commands.Arg{commands.Key("key", commands.RW|commands.Delete), commands.Str("owner")}},
		{Name: "lock.confirm", Group: commands.Lock, Since: "0.1.0", Flags: commands.Write | commands.Fast, Run: lockConfirm,
			Summary:    "Confirms a lock that was granted after a wait with NOTIFY.",
			Complexity: "O(1)",
			Args: []commands.Arg{commands.Key("key", commands.RW|commands.Update), commands.Str("owner"),
				commands.Int("token")}},
	}
}

// lockConfirm confirms a grant. It can be repeated: the reply is 1 as long as the owner holds the lock with
// the token.
func lockConfirm(c *commands.Ctx) error {
	a := c.Args()
	key, owner, token := a.Key(), a.Bytes(), a.Int()
	if err := a.Err(); err != nil {
		return err
	}
	if err := commands.CheckOwner(owner); err != nil {
		return err
	}
	if !c.DB.Peek(key).Is(store.Hash) {
		return commands.ErrWrongType
	}
	if has, held := commands.HoldOf(c.DB, key, owner); !held || has != token {
		c.Host.StaleToken(c)
		c.Out.Int(0)
		return nil
	}
	c.Host.Confirmed(c, key, owner, token)
	c.Out.Int(1)
	return nil
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
	ws, found := partyOf(c).Waits, int64(0)
	for {
		w := ws.Queues.Find(c.DB.ID(), key, owner, nil)
		if w == nil {
			break
		}
		found = 1
		// plant:cancel
		if of, ok := w.Call().(*queuedWait); ok {
			ws.refuseQueued(of, attach.Cancelled)
		} else {
			ws.RefuseFor(lockhistory.Cancelled)
			ws.TimeOut(w.Call().(*Parked))
		}
	}
	c.Out.Int(found)
	return nil
}
