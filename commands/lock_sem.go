package commands

import (
	"strconv"

	"lockserver/internal/ascii"
	"lockserver/internal/keyevent"
	"lockserver/internal/lockhistory"
	"lockserver/store"
	"lockserver/store/hash"
)

// semCall is one call of SEM.ACQUIRE.
type semCall struct {
	key, owner []byte
	lease      lease
	permits    int64
	limit      int64 // 0 means that the call names no limit
	initial    bool  // the limit only applies if the call creates the semaphore
	once       bool  // permits that the owner already holds count
	waits      bool
	priority        // among those that wait
	notify     bool // the client is not blocked while it waits
	waited     bool // the call has waited: limit is that of the semaphore at the last try
	waitMS     int64
	value      []byte // the last value of the owner's field; valid until the next command
}

// semAcquire takes permits. If they are not available, the call waits or replies null.
func semAcquire(c *Ctx) error {
	a := c.Args()
	s := semCall{key: a.Key(), owner: a.Bytes()}
	if err := s.read(c, a); err != nil {
		return err
	}
	token, _, err := s.acquire(c)
	switch {
	case err != nil:
		return err
	case token != 0:
		c.Out.Digits(store.TokenDigits(s.value))
		return nil
	case !s.waits || !c.MayBlock:
		c.RecordEvent(s.key, s.owner, LockEvent{Kind: lockhistory.Refused, Reason: lockhistory.Held, Mode: lockhistory.Semaphore, Permits: int32(s.permits)})
		c.Out.Null()
		return nil
	}
	return s.park(c)
}

// park makes the owner wait for its turn.
func (s *semCall) park(c *Ctx) error {
	own := WaitingLock{leaseMS: s.lease.ms, number: int32(s.limit), kind: waitsForPermits, renewed: s.lease.unit == "", once: s.once, traced: c.Traced}
	return c.Block(Wait{Keys: [][]byte{s.key}, DeadlineMS: c.WaitEndMS(s.waitMS), Queue: true, Owner: s.owner, Units: int32(s.permits),
		Permits: true, Counts: s.once, Priority: s.level, Notify: s.notify, Lock: own})
}

// read reads the words behind the owner and validates them.
func (s *semCall) read(c *Ctx, a *Scanner) error {
	for a.More() {
		switch w := a.Option(); {
		case w == "PX" || w == "EX":
			s.lease.read(c, a, w)
		case w == "LIMIT" && s.limit == 0:
			s.limit = readPermits(a, ErrPermitLimit)
		case w == "INITIAL" && s.limit == 0:
			s.limit, s.initial = readPermits(a, ErrPermitLimit), true
		case w == "PERMITS" && s.permits == 0:
			s.permits = readPermits(a, ErrPermits)
		case w == "WAIT" && !s.waits:
			s.waits, s.waitMS = true, readWaitMS(a)
		case w == "PRIORITY":
			s.priority.read(a)
		case w == "ONCE" && !s.once:
			s.once = true
		case w == "NOTIFY" && !s.notify:
			s.notify = true
		case w == "TRACE":
			c.readTrace(a)
		default:
			a.Syntax()
		}
	}
	s.permits = max(s.permits, 1)
	if s.notify && !s.waits {
		a.Syntax()
	}
	if s.named && !s.waits {
		a.Fail(ErrPriorityAlone)
	}
	if err := a.Err(); err != nil {
		return err
	}
	if err := CheckOwner(s.owner); err != nil {
		return err
	}
	_, err := s.lease.endMS(c)
	if err == nil && s.notify && c.Host.Unconfirmed(c, [][]byte{s.key}, s.owner) {
		s.once = true // the client never saw the grant, so it must not count twice
	}
	return err
}

// readPermits reads a number of permits. It reports outside if no semaphore can have that number.
func readPermits(a *Scanner, outside Error) int64 {
	n := a.Int()
	if a.Err() == nil && (n < 1 || n > MostPermits) {
		a.Fail(outside)
	}
	return n
}

// acquire takes the permits and returns the token. It returns 0 and changes nothing if they are not
// available, or kept for waiters. grant is for giveBack.
func (s *semCall) acquire(c *Ctx) (token int64, grant lockGrant, err error) {
	var v lockView
	var edit store.HashEdit
	if err := openSemaphore(c.DB, s.key, s.owner, &v, &edit); err != nil {
		return 0, grant, err
	}
	exists := v.owners > 0
	switch {
	case exists && s.limit > 0 && s.limit != v.limit && !s.waited && !s.initial && !(s.once && v.mine.shared >= s.permits):
		return 0, grant, ErrLimitMismatch(s.key, v.limit, s.limit)
	case exists:
		s.limit = v.limit
	case s.limit == 0:
		return 0, grant, ErrNoSemaphore(s.key)
	}
	lacking := s.permits
	// plant:sem-once
	if s.once {
		lacking = max(0, s.permits-v.mine.shared)
	}
	if lacking > 0 {
		if ok, err := s.admits(c, edit.Hash(), exists, lacking); !ok {
			return 0, grant, err
		}
	}
	token = s.take(c, &v, &edit, lacking)
	return token, lockGrant{token: token, counted: lacking > 0, record: c.DB.LockRecord(s.key), permits: lacking}, nil
}

// admits reports whether the call can have the lacking permits. A waiter that asks for more than the limit
// gets the error at its turn.
func (s *semCall) admits(c *Ctx, h *hash.Hash, exists bool, lacking int64) (bool, error) {
	// plant:sem-queue
	queues := c.Queues.Awaited(c.DB.ID(), s.key)
	switch {
	case s.permits > s.limit && (!queues || !s.waited):
		return false, ErrTooManyPermits(s.key, s.permits, s.limit)
	case queues:
		return false, nil
	}
	used := int64(0)
	if exists {
		used = store.Permits(h)
	}
	// plant:sem-free
	return used+lacking <= s.limit, nil
}

// take adds permits to those of the owner, and restarts its lease.
func (s *semCall) take(c *Ctx, v *lockView, edit *store.HashEdit, permits int64) (token int64) {
	if v.owners == 0 {
		if edit.Hash() != nil { // the rest of a semaphore without holders
			edit.Remove()
			*edit = c.DB.EditHash(s.key)
		}
		*v = lockView{}
	}
	has, again := v.mine, v.mine.held()
	if !again {
		has.token = c.Host.NextToken(0)
	}
	has.shared += permits
	has.watched = s.lease.unit == ""
	s.value = has.append(c.names[0][:0])
	endMS, _ := s.lease.endMS(c) // no error: it was checked before
	// plant:sem-lease
	if v.owners == 0 {
		edit.MakeSemaphore(s.owner, s.value, has.token, s.limit, min(endMS, MaxFieldDeadlineMS))
	} else {
		edit.Update(s.owner, s.value)
		moveLease(c.DB, s.key, s.owner, endMS, *v, *edit)
	}
	confirmed := uint64(0)
	if permits == 0 {
		confirmed = c.DB.LockRecord(s.key)
	}
	record := c.Host.HeldShare(c, s.key, s.owner, has.token, has.watched, confirmed)
	if permits == 0 { // permits of a lost grant that are now confirmed must not be given back: see giveBack
		lock := c.DB.EditHash(s.key)
		lock.SetLockRecord(record)
		c.Host.Confirmed(c, s.key, s.owner, has.token)
		c.Notify(keyevent.Generic, "renew", s.key)
	} else {
		c.Notify(keyevent.Generic, "acquire", s.key)
	}
	e := c.NewEvent(s.key, s.owner)
	e.Kind, e.Mode, e.Permits, e.Token = lockhistory.Granted, lockhistory.Semaphore, int32(permits), has.token
	if again {
		e.again(permits > 0)
	}
	c.Host.LockEvent(c)
	return has.token
}

// semaphore restores the SEM.ACQUIRE that waits.
func (w *WaitingLock) semaphore(c *Ctx) semCall {
	s := semCall{key: c.Argv[1], owner: c.Argv[2], permits: permitsIn(c.Argv), limit: int64(w.number), once: w.once, waited: true}
	s.lease.ms = w.leaseMS
	if !w.renewed {
		s.lease.unit = "PX"
	}
	w.restoreTrace(c)
	return s
}

// permitsIn returns how many permits a call asks for. Its words have been validated.
func permitsIn(argv [][]byte) int64 {
	for i := 3; i < len(argv)-1; i++ {
		if ascii.EqualFold(argv[i], "permits") {
			n, _ := strconv.ParseInt(string(argv[i+1]), 10, 64)
			return n
		}
	}
	return 1
}

// trySemaphore is Try for SEM.ACQUIRE.
func (w *WaitingLock) trySemaphore(c *Ctx) (bool, error) {
	s := w.semaphore(c)
	if _, err := s.lease.endMS(c); err != nil {
		return false, err
	}
	token, grant, err := s.acquire(c)
	w.number = int32(s.limit)
	if token == 0 || err != nil {
		return false, err
	}
	w.grants = &[]lockGrant{grant}
	c.Out.Int(token)
	return true, nil
}

// givePermitsBack is giveBack for SEM.ACQUIRE.
func (w *WaitingLock) givePermitsBack(c *Ctx) {
	if w.grants == nil {
		return
	}
	s, g := w.semaphore(c), (*w.grants)[0]
	if !g.canBeGivenBack(c.DB.LockRecord(s.key)) {
		return
	}
	var v lockView
	var edit store.HashEdit
	err := openSemaphore(c.DB, s.key, s.owner, &v, &edit)
	if err == nil && v.owners > 0 && v.mine.token == g.token && v.mine.held() {
		// plant:sem-undo
		releasePermits(c, s.key, s.owner, &v, &edit, min(g.permits, v.mine.shared))
	}
}
