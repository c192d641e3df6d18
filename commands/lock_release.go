package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/internal/lockhistory"
	"lockserver/store"
)

// release gives back one hold. It returns 1 if that was the last hold, else 0.
func release(c *Ctx, key, owner []byte, held heldLock, edit store.HashEdit) int64 {
	c.Host.Confirmed(c, key, owner, held.token)
	e := c.NewEvent(key, owner)
	e.Kind, e.Token = lockhistory.Released, held.token
	// plant:release-hold
	if held.holds > 1 {
		edit.SetInt(owner, held.holds-1)
		c.Notify(keyevent.Generic, "unlock", key)
		e.Reason = lockhistory.Partly
		c.Host.LockEvent(c)
		return 0
	}
	e.Plain = true
	c.Host.LockEvent(c)
	remove(c, key, edit, false)
	return 1
}

// remove ends a lock. The change wakes native waiters; Redisson's clients need a message.
func remove(c *Ctx, key []byte, edit store.HashEdit, forced bool) {
	edit.Remove()
	if c.Host.Released(c, key, forced) {
		announce(c, key, tellAll)
	}
	c.NotifyTaken(keyevent.Generic, "unlock", key, true)
}

// unlock gives back one hold.
func unlock(c *Ctx) error {
	a := c.Args()
	key, owner := a.Key(), a.Bytes()
	token, shared := readUnlock(a)
	// plant:unlock-token
	if err := a.Err(); err != nil {
		return err
	}
	if err := CheckOwner(owner); err != nil {
		return err
	}
	held, edit, kind := openLock(c.DB, key, owner)
	if kind != plainLock || shared {
		v, err := viewOf(edit.Hash(), owner, held, kind)
		if err == nil {
			unlockShare(c, key, owner, token, shared, v, edit)
		}
		return err
	}
	// plant:unlock-owner
	if held.holds == 0 || token != 0 && token != held.token {
		if token != 0 {
			c.Host.StaleToken(c)
		}
		c.Out.Null()
		return nil
	}
	c.Out.Int(release(c, key, owner, held, edit))
	return nil
}

// readUnlock reads the options of UNLOCK. token is 0 if any token will do; shared says to give back a shared
// hold.
func readUnlock(a *Scanner) (token int64, shared bool) {
	for a.More() {
		switch w := a.Option(); {
		case w == "TOKEN" && token == 0:
			token = readTokenNumber(a)
		case w == "SHARED" && !shared:
			shared = true
		default:
			a.Syntax()
		}
	}
	return token, shared
}

// readTokenNumber reads a fencing token, which must be positive.
func readTokenNumber(a *Scanner) int64 {
	token := a.Int()
	if a.Err() == nil && token <= 0 {
		a.Fail(ErrNotInteger)
	}
	return token
}

// readMunlock reads the options of MUNLOCK: TOKENS with a token for each of n keys, and SHARED.
func readMunlock(a *Scanner, n int) (tokens []int64, shared bool) {
	for a.More() {
		switch w := a.Option(); {
		case w == "TOKENS" && tokens == nil:
			tokens = make([]int64, n)
			for i := range tokens {
				tokens[i] = readTokenNumber(a)
			}
		case w == "SHARED" && !shared:
			shared = true
		default:
			a.Syntax()
		}
	}
	return tokens, shared
}

// munlock gives back one hold of each key. If one of the keys is no lock, nothing changes.
func munlock(c *Ctx) error {
	a := c.Args()
	keys := lockKeys(a)
	owner := a.Bytes()
	tokens, shared := readMunlock(a, len(keys))
	if err := a.Err(); err != nil {
		return err
	}
	if err := CheckOwner(owner); err != nil {
		return err
	}
	for _, key := range keys {
		r := c.DB.Peek(key)
		if !r.Is(store.Hash) {
			return ErrWrongType
		}
		if _, err := viewLock(r.Hash(), owner); err != nil {
			return err
		}
	}
	c.Out.Array(len(keys))
	for i, key := range keys {
		held, edit, kind := openLock(c.DB, key, owner)
		// plant:munlock-each
		stale := tokens != nil && tokens[i] != held.token
		switch {
		case kind != plainLock || shared:
			token := int64(0)
			if tokens != nil {
				token = tokens[i]
			}
			v, _ := viewOf(edit.Hash(), owner, held, kind) // no error: it was looked at before
			unlockShare(c, key, owner, token, shared, v, edit)
			continue
		case held.holds > 0 && !stale:
			c.Out.Int(release(c, key, owner, held, edit))
			continue
		case tokens != nil:
			c.Host.StaleToken(c)
		}
		c.Out.Null()
	}
	return nil
}

// lockForce releases all holds of a lock, or those of one owner. It opens a latch for which clients wait.
func lockForce(c *Ctx) error {
	a := c.Args()
	key, owner := a.Key(), []byte(nil)
	for a.More() {
		a.Option() // OWNER is the only option
		if owner != nil {
			a.Syntax()
		}
		owner = a.Bytes()
	}
	if err := a.Err(); err != nil {
		return err
	}
	if owner != nil {
		if err := CheckOwner(owner); err != nil {
			return err
		}
	}
	if _, ok := FindLatch(c, key); ok && owner == nil {
		openLatch(c, key)
		c.Out.Int(1)
		return nil
	}
	held, edit, kind := openLock(c.DB, key, owner)
	if kind != plainLock {
		return forceShares(c, key, owner, edit, kind)
	}
	if !held.taken || owner != nil && held.holds == 0 {
		c.Out.Int(0)
		return nil
	}
	e := LockEvent{Kind: lockhistory.Forced, Token: held.token, Plain: true}
	holder, _, _ := holder(edit.Hash(), nil)
	c.RecordEvent(key, holder, e)
	// plant:lock-force
	remove(c, key, edit, true)
	c.Out.Int(1)
	return nil
}
