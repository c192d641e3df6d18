package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/internal/lockhistory"
	"lockserver/store"
)

// semRelease gives permits back.
func semRelease(c *Ctx) error {
	a := c.Args()
	key, owner := a.Key(), a.Bytes()
	permits, token := int64(0), int64(0)
	for a.More() {
		switch w := a.Option(); {
		case w == "PERMITS" && permits == 0:
			permits = readPermits(a, ErrPermits)
		case w == "TOKEN" && token == 0:
			token = readTokenNumber(a)
		default:
			a.Syntax()
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	if err := CheckOwner(owner); err != nil {
		return err
	}
	var v lockView
	var edit store.HashEdit
	if err := openSemaphore(c.DB, key, owner, &v, &edit); err != nil {
		return err
	}
	stale := token != 0 && token != v.mine.token
	if stale {
		c.Host.StaleToken(c)
	}
	if stale || v.owners == 0 || !v.mine.held() || permits > v.mine.shared {
		c.Out.Null()
		return nil
	}
	if permits == 0 {
		permits = v.mine.shared
	}
	c.Host.Confirmed(c, key, owner, v.mine.token)
	c.Out.Int(releasePermits(c, key, owner, &v, &edit, permits))
	return nil
}

// releasePermits gives back permits that the owner holds, and returns how many it still has.
func releasePermits(c *Ctx, key, owner []byte, v *lockView, edit *store.HashEdit, permits int64) (left int64) {
	has := v.mine
	// plant:sem-release
	has.shared -= permits
	e := c.NewEvent(key, owner)
	e.Kind, e.Mode, e.Permits, e.Token = lockhistory.Released, lockhistory.Semaphore, int32(permits), has.token
	if has.shared > 0 {
		e.Reason = lockhistory.Partly
	}
	c.Host.LockEvent(c)
	if has.shared > 0 {
		edit.Update(owner, has.append(c.names[0][:0]))
		c.Notify(keyevent.Generic, "release", key)
		return has.shared
	}
	removeHolder(c, key, owner, v, edit, false)
	return 0
}

// removeHolder removes an owner from a semaphore. With the last holder it removes the semaphore.
func removeHolder(c *Ctx, key, owner []byte, v *lockView, edit *store.HashEdit, forced bool) {
	if v.owners == 1 {
		edit.Remove()
		c.Host.Released(c, key, forced)
		c.NotifyTaken(keyevent.Generic, "release", key, true)
		return
	}
	last := edit.Hash().Deadline(owner) == c.DB.Peek(key).DeadlineMS()
	edit.DeleteHolder(owner)
	if forced {
		c.Host.ForcedShare(c, key, owner)
	} else {
		c.Host.ReleasedShare(c, key, owner, true)
	}
	if last {
		endWithLast(c.DB, key, *edit)
	}
	c.Notify(keyevent.Generic, "release", key)
}

// semRenew restarts the lease of a holder.
func semRenew(c *Ctx) error {
	r, err := readRenew(c)
	if err != nil {
		return err
	}
	var v lockView
	var edit store.HashEdit
	if err := openSemaphore(c.DB, r.key, r.owner, &v, &edit); err != nil {
		return err
	}
	stale := r.token != 0 && r.token != v.mine.token
	if stale {
		c.Host.StaleToken(c)
	}
	if stale || v.owners == 0 || !v.mine.held() {
		c.Out.Int(0)
		return nil
	}
	r.holder(c, v, edit)
	return nil
}

// semResize sets the limit of a semaphore. Holders keep their permits.
func semResize(c *Ctx) error {
	a := c.Args()
	key, limit := a.Key(), readPermits(a, ErrPermitLimit)
	if err := a.Err(); err != nil {
		return err
	}
	var v lockView
	var edit store.HashEdit
	if err := openSemaphore(c.DB, key, nil, &v, &edit); err != nil {
		return err
	}
	if v.owners == 0 {
		c.Out.Int(0)
		return nil
	}
	edit.SetInt(permitsField, limit)
	c.Notify(keyevent.Generic, "resize", key)
	c.Out.Int(1)
	return nil
}
