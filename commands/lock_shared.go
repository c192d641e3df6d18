package commands

import (
	"math"

	"lockserver/internal/keyevent"
	"lockserver/internal/lockhistory"
	"lockserver/store"
)

// This file has LOCK ... SHARED, and every command on a lock that has had shared holders
// (lock_shared_state.go). Both kinds of waiters share one queue. A shared hold is granted if no client waits
// and no owner holds the lock exclusively. So neighbouring shared waiters at the head of the queue get it
// together, and no reader passes a waiting writer. An owner has one lease, one token, and a count of each
// kind of hold:
//
//   - An owner with an exclusive hold gets either kind at once, and keeps its token.
//   - An owner with a shared hold gets another one at once. It gets an exclusive hold, before all waiters, as
//     soon as it is the only holder. It is then a new exclusive holder, so it gets a new token. Two such
//     owners wait for each other: a deadlock cycle.
//
// UNLOCK gives back an exclusive hold first, which is a downgrade if shared holds are left. With SHARED it
// gives back a shared hold.

// acquireShare is acquire for a call of LOCK with SHARED, or on a lock that has had shared holders. v is the
// lock, and edit changes it.
func (l *lockCall) acquireShare(c *Ctx, key []byte, v lockView, edit store.HashEdit) (token int64, _ error) {
	if ok, err := l.allowsShare(c, key, v, false); !ok {
		return 0, err
	}
	token, _, _ = l.takeView(c, key, v, edit, 0)
	return token, nil
}

// admitsShare is admits for such a call. head is the first waiter of RFairLock's queue, or nil.
func (l *lockCall) admitsShare(c *Ctx, key []byte, v lockView, head []byte, first bool) (bool, error) {
	if ok, err := l.allowsShare(c, key, v, first); !ok {
		return false, err
	}
	if l.needsToken(v) {
		if _, err := fence(c, key); err != nil {
			return false, err
		}
	}
	return v.mine.held() || head == nil || first, nil
}

// allowsShare is allows for such a call.
func (l *lockCall) allowsShare(c *Ctx, key []byte, v lockView, first bool) (bool, error) {
	switch {
	case v.plain && v.mine.held() && v.mine.token == 0:
		return false, ErrHeldByScript
	case max(v.mine.shared, v.mine.exclusive) > math.MaxInt64-int64(len(l.keys)): // see allows
		return false, ErrOverflow
	case v.mine.exclusive > 0:
		return true, nil
	case l.needsToken(v) && !store.TokenCanRise(c.NowMS()*1000, v.mine.token):
		return false, ErrTokenRange
	case v.mine.shared > 0:
		// plant:share-upgrade
		return l.shared || v.owners == 1, nil
	}
	free := v.owners == 0 || l.shared && !v.exclusive
	// plant:share-free
	return free && (first || !c.Queues.Awaited(c.DB.ID(), key)), nil
}

// needsToken reports whether the owner becomes a holder, or a new exclusive holder.
func (l *lockCall) needsToken(v lockView) bool {
	// plant:share-token
	return v.mine.exclusive == 0 && (!l.shared || v.mine.shared == 0)
}

// countsShare is counts for such a call.
func (l *lockCall) countsShare(v lockView) bool {
	if l.shared {
		// plant:share-counts
		return v.mine.shared == 0 || !l.once
	}
	return v.mine.exclusive == 0 || !l.once
}

// takeView adds a hold for the owner. A new token is greater than floor. was is the previous token of the
// owner; fresh says that it held nothing.
func (l *lockCall) takeView(c *Ctx, key []byte, v lockView, edit store.HashEdit, floor int64) (token, was int64, fresh bool) {
	if v.owners == 0 && edit.Hash() != nil { // the rest of a lock without holders
		edit.Remove()
		v, edit = lockView{plain: true}, c.DB.EditHash(key)
	}
	s := v.mine
	was, fresh = s.token, !s.held()
	if !l.shared && v.plain {
		return l.take(c, key, heldLock{}, edit, floor), was, fresh
	}
	if l.needsToken(v) {
		s.token = c.Host.NextToken(max(s.token, floor))
	}
	counts := l.countsShare(v)
	switch {
	case counts && l.shared:
		s.shared++
	case counts:
		s.exclusive++
	}
	s.watched = l.lease.unit == ""
	edit.Update(l.owner, s.append(c.names[0][:0])) // before the other fields: the first field of a new hash decides how much space it gets
	mode := readMode
	if s.exclusive > 0 {
		mode = writeMode
	}
	if v.owners == 0 || v.plain || !l.shared && v.mine.exclusive == 0 || v.byScript {
		setMode(&edit, &v, mode)
	}
	if v.plain && v.owners > 0 { // the owner's own exclusive lock changes to this layout
		edit.Delete(tokenField)
		edit.Delete(watchdogField)
		c.Host.StopRenewing(c, key)
	}
	endMS, _ := l.lease.endMS(c) // no error: it was checked before
	moveLease(c.DB, key, l.owner, endMS, v, edit)
	if was != 0 && s.token != was {
		c.Host.ReleasedShare(c, key, l.owner, true) // a new hold replaces it: nothing was lost
		c.RecordEvent(key, l.owner, LockEvent{Kind: lockhistory.Released, Reason: lockhistory.Upgraded, Mode: lockhistory.Shared, Token: was})
	}
	confirmed := uint64(0)
	if !counts {
		confirmed = c.DB.LockRecord(key)
	}
	record := c.Host.HeldShare(c, key, l.owner, s.token, s.watched, confirmed)
	if !counts { // a hold of a lost grant that is now confirmed must not be given back: see giveBack
		lock := c.DB.EditHash(key)
		lock.SetLockRecord(record)
		c.Host.Confirmed(c, key, l.owner, s.token)
	}
	e := LockEvent{Kind: lockhistory.Granted, Mode: l.mode(), Token: s.token}
	switch {
	case fresh:
		c.Notify(keyevent.Generic, "lock", key)
	default:
		if e.Reason = lockhistory.Upgraded; s.token == was {
			e.again(counts)
		}
		c.Notify(keyevent.Generic, "relock", key)
	}
	c.RecordEvent(key, l.owner, e)
	return s.token, was, fresh
}

// setMode stores how the lock is held, also in the field that Redisson's scripts read if they hold it, too.
func setMode(edit *store.HashEdit, v *lockView, mode []byte) {
	edit.Update(shareField, mode)
	if v.byScript {
		edit.Update(modeField, mode)
	}
}

// moveLease makes an owner's lease end at endMS, and the key with the last of its holders. v is the lock
// before the change. The deadline of a field is at most MaxFieldDeadlineMS.
func moveLease(db *store.DB, key, owner []byte, endMS int64, v lockView, edit store.HashEdit) {
	endMS = min(endMS, MaxFieldDeadlineMS)
	if v.owners == 0 && !v.byScript {
		edit.Expire(endMS)
		edit.HoldUntil(owner, endMS)
		return
	}
	wasMS := edit.Hash().Deadline(owner)
	edit.HoldUntil(owner, endMS)
	keyMS := db.Peek(key).DeadlineMS()
	alone := v.owners == 1 && v.mine.held()
	switch {
	case v.byScript:
		updateShares(db, key, edit)
	case !alone && wasMS == keyMS && endMS < keyMS:
		endWithLast(db, key, edit)
	// plant:key-lease
	case alone && endMS != keyMS || endMS > keyMS:
		edit.Expire(endMS)
	}
}

// endWithLast makes the key's deadline the latest deadline of its fields. It is for locks that no script of
// Redisson holds.
func endWithLast(db *store.DB, key []byte, edit store.HashEdit) {
	if endMS := edit.Hash().LastDeadline(); endMS >= db.Store().NowMS() && endMS != db.Peek(key).DeadlineMS() {
		edit.Expire(endMS)
	}
}

// releaseShare gives back one hold: a shared hold if shared is set or the owner has no other. It returns 1 if
// it was the owner's last hold, else 0.
func releaseShare(c *Ctx, key, owner []byte, v lockView, edit store.HashEdit, shared bool) int64 {
	s := v.mine
	c.Host.Confirmed(c, key, owner, s.token)
	e := LockEvent{Kind: lockhistory.Released, Mode: v.modeOf(), Token: s.token}
	if shared || s.exclusive == 0 {
		s.shared--
	} else if s.exclusive--; s.exclusive == 0 && s.shared > 0 {
		e.Reason = lockhistory.Downgraded
		// plant:downgrade
		setMode(&edit, &v, readMode)
		defer announceShares(c, key, tellAll)
	}
	if s.held() {
		if e.Reason == lockhistory.None {
			e.Reason = lockhistory.Partly
		}
		edit.Update(owner, s.append(c.names[0][:0]))
		c.RecordEvent(key, owner, e)
		c.Notify(keyevent.Generic, "unlock", key)
		return 0
	}
	c.RecordEvent(key, owner, e)
	if v.owners == 1 {
		tell := tellOne
		if v.exclusive {
			tell = tellAll
		}
		removeShares(c, key, v, edit, tell, false)
		return 1
	}
	dropShare(c, key, owner, v, edit)
	c.Host.ReleasedShare(c, key, owner, true)
	c.Notify(keyevent.Generic, "unlock", key)
	return 1
}

// modeOf returns the mode in which the owner holds the lock.
func (v *lockView) modeOf() lockhistory.Mode {
	switch {
	case v.limit > 0:
		return lockhistory.Semaphore
	case v.mine.exclusive > 0:
		return lockhistory.Exclusive
	}
	return lockhistory.Shared
}

// removeShares ends a lock that has had shared holders.
func removeShares(c *Ctx, key []byte, v lockView, edit store.HashEdit, tell []byte, forced bool) {
	if v.byScript {
		dropStandIn(c, key)
		edit = c.DB.EditHash(key)
	}
	edit.Remove()
	if c.Host.Released(c, key, forced) {
		announce(c, key, tell)
	}
	c.NotifyTaken(keyevent.Generic, "unlock", key, true)
}

// unlockShare runs UNLOCK of a lock that has had shared holders, or of a shared hold.
func unlockShare(c *Ctx, key, owner []byte, token int64, shared bool, v lockView, edit store.HashEdit) {
	if !v.mine.held() || shared && v.mine.shared == 0 || token != 0 && token != v.mine.token {
		if token != 0 {
			c.Host.StaleToken(c)
		}
		c.Out.Null()
		return
	}
	c.Out.Int(releaseShare(c, key, owner, v, edit, shared))
}

// share runs RENEW of a lock that has had shared holders.
func (r *renewCall) share(c *Ctx, edit store.HashEdit, kind lockKind) error {
	v, err := viewOf(edit.Hash(), r.owner, heldLock{}, kind)
	if err != nil {
		return err
	}
	if !v.mine.held() || r.token != 0 && r.token != v.mine.token {
		if r.token != 0 {
			c.Host.StaleToken(c)
		}
		c.Out.Int(0)
		return nil
	}
	r.holder(c, v, edit)
	return nil
}

// holder renews the lease of one holder, and replies.
func (r *renewCall) holder(c *Ctx, v lockView, edit store.HashEdit) {
	if has := v.mine; r.taken() && has.watched {
		has.watched = false
		edit.Update(r.owner, has.append(c.names[0][:0]))
	}
	moveLease(c.DB, r.key, r.owner, r.endMS, v, edit)
	c.Host.Confirmed(c, r.key, r.owner, v.mine.token)
	c.RecordEvent(r.key, r.owner, LockEvent{Kind: lockhistory.Renewed, Mode: v.modeOf(), Token: v.mine.token})
	c.Notify(keyevent.Generic, "renew", r.key)
	if r.taken() {
		c.Host.ReleasedShare(c, r.key, r.owner, false)
	}
	c.Out.Int(1)
}

// forceShares runs LOCK.FORCE of a lock that has had shared holders, or of a semaphore. owner is nil to end
// the holds of all owners.
func forceShares(c *Ctx, key, owner []byte, edit store.HashEdit, kind lockKind) error {
	v, err := viewAny(edit.Hash(), owner, heldLock{}, kind)
	switch {
	case err != nil:
		return err
	case v.owners == 0, owner != nil && !v.mine.held():
		c.Out.Int(0)
		return nil
	}
	forcedHolders(c, key, owner, v.limit > 0)
	switch {
	case v.limit > 0:
		if owner == nil {
			v.owners = 1 // the semaphore ends as if it had one holder
		}
		removeHolder(c, key, owner, &v, &edit, true)
	case owner == nil || v.owners == 1:
		removeShares(c, key, v, edit, tellAll, true)
	default:
		dropShare(c, key, owner, v, edit)
		c.Host.ForcedShare(c, key, owner)
		announceShares(c, key, tellAll)
		c.Notify(keyevent.Generic, "unlock", key)
	}
	c.Out.Int(1)
	return nil
}

// forcedHolders records that LOCK.FORCE took the lock from one owner, or from all holders if owner is nil.
func forcedHolders(c *Ctx, key, owner []byte, permits bool) {
	EachHolder(c.DB.PeekLive(key), func(h Holder) bool {
		if owner != nil && string(h.Owner) != string(owner) {
			return true
		}
		e := LockEvent{Kind: lockhistory.Forced, Mode: lockhistory.Shared, Token: h.Token}
		switch {
		case permits:
			e.Mode, e.Permits = lockhistory.Semaphore, int32(h.Shared)
		case h.Exclusive > 0:
			e.Mode = lockhistory.Exclusive
		}
		c.RecordEvent(key, h.Owner, e)
		return owner == nil
	})
}

// dropShare removes an owner from a lock that has other holders.
func dropShare(c *Ctx, key, owner []byte, v lockView, edit store.HashEdit) {
	last := edit.Hash().Deadline(owner) == c.DB.Peek(key).DeadlineMS()
	edit.DeleteHolder(owner)
	if v.mine.exclusive > 0 {
		setMode(&edit, &v, readMode)
	}
	switch {
	case v.byScript:
		updateShares(c.DB, key, edit)
	case last:
		endWithLast(c.DB, key, edit)
	}
}

// extendShare is ExtendLock for a lock with several holders. endMS is the deadline of the field.
func extendShare(db *store.DB, owner, key []byte, token, endMS int64, edit store.HashEdit, kind lockKind) (held, extended bool) {
	v, err := viewAny(edit.Hash(), owner, heldLock{}, kind)
	if err != nil || !v.mine.held() || token != 0 && token != v.mine.token {
		return false, false
	}
	if at := edit.Hash().Deadline(owner); at != 0 && at < endMS {
		moveLease(db, key, owner, endMS, v, edit)
		extended = true
	}
	return true, extended
}

// cutShare is CutLock for a lock with several holders. endMS is the deadline of the field.
func cutShare(db *store.DB, owner, key []byte, token, endMS int64, edit store.HashEdit, kind lockKind) {
	v, err := viewAny(edit.Hash(), owner, heldLock{}, kind)
	if err == nil && v.mine.held() && v.mine.token == token && edit.Hash().Deadline(owner) > endMS {
		moveLease(db, key, owner, endMS, v, edit)
	}
}

// holderWith returns the holder with a token, or an empty Holder.
func holderWith(r store.LiveRef, token int64) (found Holder) {
	if owner := store.OwnerOfToken(r.Hash(), token); owner != "" {
		found, _ = HolderOf(r, []byte(owner))
	}
	return found
}
