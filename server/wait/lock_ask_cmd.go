package wait

import (
	"lockserver/commands"
	"lockserver/internal/keyevent"
	"lockserver/internal/lockhistory"
	"lockserver/server/attach"
)

// LOCK.ASK asks the holders of a lock to let go. It changes no data: the holders decide. It is a write
// command so that the leader or the master runs it.

const (
	// mostReason is the largest size of a reason in bytes.
	mostReason = 1024
	// mostAsked bounds the holders that one call asks: a semaphore may have 100,000.
	mostAsked = 1000
)

func lockAskRows() []commands.Row {
	return []commands.Row{
		{Name: "lock.ask", Group: commands.Lock, Since: "0.1.0", Flags: commands.Write | commands.Fast, Cats: commands.CatAsk, Run: lockAsk,
			Summary:    "Asks the holders of a lock or a semaphore to let go; returns the number of attached clients that got the message.",
			Complexity: "O(N) where N is the number of holders, at most 1,000, and of the clients that are attached to them",
			Args:       []commands.Arg{commands.Key("key", commands.RO|commands.Access), commands.Opt(commands.Str("text").After("REASON"))}},
	}
}

func lockAsk(c *commands.Ctx) error {
	a := c.Args()
	key, reason := a.Key(), []byte(nil)
	for a.More() {
		a.Option() // REASON is the only option
		if reason != nil {
			a.Syntax()
		}
		reason = a.Bytes()
	}
	if err := a.Err(); err != nil {
		return err
	}
	if len(reason) > mostReason {
		return commands.ErrLongReason(mostReason)
	}
	l, err := commands.FindLock(c.DB, key)
	if err != nil {
		return err
	}
	if !l.Held() {
		c.Out.Int(0)
		return nil
	}
	ws, heard, asked := partyOf(c).Waits, int64(0), 0
	commands.EachHolder(c.DB.PeekLive(key), func(h commands.Holder) bool {
		n := attach.AskedOf(string(h.Owner), string(key), h.Token, string(reason))
		heard += attachHost{ws}.tell(c.DB.ID(), &n)
		e := commands.LockEvent{Kind: lockhistory.Asked, Token: h.Token}
		e.Mode, e.Permits = heldAs(&h, &l)
		c.RecordEvent(key, h.Owner, e)
		asked++
		return asked < mostAsked
	})
	ws.Outcomes += int(heard)
	if ws.Asks++; heard > 0 {
		ws.AsksHeard++
	}
	c.Notify(keyevent.Generic, "ask", key)
	c.Out.Int(heard)
	return nil
}
