package commands

import (
	"math"

	"lockserver/internal/ascii"
	"lockserver/internal/keyevent"
)

// MaxFieldDeadlineMS is the latest deadline of a field, in milliseconds since 1970. Redis reserves two of its
// 48 bits.
const MaxFieldDeadlineMS = 1<<46 - 1

// The replies of the commands for a field.
const (
	noField     = -2 // there is no such field
	noFieldTime = -1 // the field has no deadline
	notMet      = 0  // the condition does not allow the new deadline
	timeSet     = 1  // the deadline was set or removed
	fieldGone   = 2  // the field was removed, because the given time is past
)

func hexpire(c *Ctx) error { return expireFields(c, 1000, c.NowMS()) }

func hpexpire(c *Ctx) error { return expireFields(c, 1, c.NowMS()) }

func hexpireat(c *Ctx) error { return expireFields(c, 1000, 0) }

func hpexpireat(c *Ctx) error { return expireFields(c, 1, 0) }

// expireFields runs HEXPIRE and its relatives. Times count in units of unitMS from baseMS on. Errors are
// reported in the order of Redis: the type, the time, then word by word.
func expireFields(c *Ctx, unitMS, baseMS int64) error {
	a := c.Args()
	e, ok := c.DB.OpenHash(a.Key())
	if !ok {
		return ErrWrongType
	}
	atMS := fieldDeadline(a, unitMS, baseMS)
	cond := fieldCond(a)
	fields := countedFields(a, ErrNumFields)
	if err := a.Err(); err != nil {
		return err
	}
	expire := e.ExpireField
	if h := e.Hash(); h != nil {
		if baseMS != 0 && atMS > baseMS && AreLeases(h) {
			atMS, expire = LeaseEndMS(c, atMS-baseMS), e.HoldUntil
		}
		e.AllowDeadlines()
	}
	c.Out.Array(len(fields))
	var done fieldEvents
	for _, field := range fields {
		switch h := e.Hash(); {
		case h == nil || !h.Has(field):
			c.Out.Int(noField)
		case !cond.allows(h.Deadline(field), atMS):
			c.Out.Int(notMet)
		case expire(field, atMS):
			done.deleted = true
			c.Out.Int(fieldGone)
		default:
			e.PlaceField(field)
			done.timed = true
			c.Out.Int(timeSet)
		}
	}
	e.SetMixed()
	done.notify(c, c.Argv[1], e.Hash() == nil)
	return nil
}

// fieldEvents holds the kinds of change that a command made to its fields. Each kind sends one event, however
// many fields it concerns.
type fieldEvents struct{ timed, persisted, deleted bool }

// notify sends the events; gone says that the key was removed with its last field.
func (f *fieldEvents) notify(c *Ctx, key []byte, gone bool) {
	if f.timed {
		c.Notify(keyevent.Hash, "hexpire", key)
	}
	if f.persisted {
		c.Notify(keyevent.Hash, "hpersist", key)
	}
	if f.deleted {
		c.NotifyTaken(keyevent.Hash, "hdel", key, gone)
	}
}

// fieldCond reads the condition before FIELDS, if there is one.
func fieldCond(a *Scanner) (cond expireCond) {
	if ascii.EqualFold(a.Peek(), "FIELDS") {
		return cond
	}
	cond.readNext(a)
	return cond
}

// fieldDeadline reads the new deadline of a field and returns it in milliseconds since 1970.
func fieldDeadline(a *Scanner, unitMS, baseMS int64) int64 {
	n := a.Int()
	switch {
	case n < 0:
		a.Fail(ErrFieldTimeSign)
	case n > MaxFieldDeadlineMS/unitMS || n*unitMS > MaxFieldDeadlineMS-baseMS:
		a.Fail(ErrInvalidExpire(a.row.fullName))
	default:
		return n*unitMS + baseMS
	}
	return 0
}

// countedFields reads FIELDS, a number, and that number of fields up to the end of the call. It reports
// notPositive if the number is no integer or less than 1.
func countedFields(a *Scanner, notPositive Error) [][]byte {
	if !a.IsNext("FIELDS") {
		a.Fail(ErrFieldsMissing)
		return nil
	}
	n := a.IntOr(notPositive)
	switch {
	case n < 1:
		a.Fail(notPositive)
	case n != int64(a.Left()):
		a.Fail(ErrNumFieldsMatch)
	}
	return a.Rest()
}

func httl(c *Ctx) error { return replyFieldTimes(c, 1000, c.NowMS()) }

func hpttl(c *Ctx) error { return replyFieldTimes(c, 1, c.NowMS()) }

func hexpiretime(c *Ctx) error { return replyFieldTimes(c, 1000, 0) }

func hpexpiretime(c *Ctx) error { return replyFieldTimes(c, 1, 0) }

// replyFieldTimes replies the deadlines of the fields in units of unitMS since baseMS, rounded up.
func replyFieldTimes(c *Ctx, unitMS, baseMS int64) error {
	a := c.Args()
	h, err := c.findHash(a.Key())
	if err != nil {
		return err
	}
	fields := countedFields(a, ErrNumFieldsSign)
	if err := a.Err(); err != nil {
		return err
	}
	c.Out.Array(len(fields))
	areLeases := AreLeases(h)
	leases := baseMS != 0 && areLeases
	for _, field := range fields {
		switch {
		case !c.hasField(h, field):
			c.Out.Int(noField)
		case h.Deadline(field) == 0:
			c.Out.Int(noFieldTime)
		case !areLeases && h.Encoding() == "listpackex" && !c.DB.Store().Comes(h.Deadline(field)):
			c.Out.Int(noField) // as in Redis, although the field lives through the millisecond of its deadline
		case leases:
			c.Out.Int((LeaseLeftMS(h.Deadline(field), c.DB.Store().NowUS()) + unitMS - 1) / unitMS)
		default:
			c.Out.Int((h.Deadline(field) - baseMS + unitMS - 1) / unitMS)
		}
	}
	return nil
}

func hpersist(c *Ctx) error {
	a := c.Args()
	e, ok := c.DB.OpenHash(a.Key())
	if !ok {
		return ErrWrongType
	}
	fields := countedFields(a, ErrNumFieldsSign)
	if err := a.Err(); err != nil {
		return err
	}
	c.Out.Array(len(fields))
	was := c.DB.Store().Dirty()
	var done fieldEvents
	for _, field := range fields {
		switch {
		case !c.hasField(e.Hash(), field):
			c.Out.Int(noField)
		case e.PersistField(field):
			done.persisted = true
			c.Out.Int(timeSet)
		default:
			c.Out.Int(noFieldTime)
		}
	}
	if done.persisted {
		c.DB.Store().Recount(was, 1)
	}
	done.notify(c, c.Argv[1], false)
	return nil
}

// fieldExpiry holds the expiry option of HGETEX or HSETEX. word is EX, PX, EXAT, PXAT, PERSIST, KEEPTTL or
// empty.
type fieldExpiry struct {
	word string
	atMS int64 // for the first four words
}

// timed reports whether the fields get a deadline.
func (x *fieldExpiry) timed() bool {
	switch x.word {
	case "EX", "PX", "EXAT", "PXAT":
		return true
	}
	return false
}

// read stores a word that has just been read, and reads the time after it.
func (x *fieldExpiry) read(c *Ctx, a *Scanner, word string) {
	x.word = word
	switch word {
	case "EX":
		x.atMS = fieldDeadline(a, 1000, c.NowMS())
	case "PX":
		x.atMS = fieldDeadline(a, 1, c.NowMS())
	case "EXAT":
		x.atMS = fieldDeadline(a, 1000, 0)
	case "PXAT":
		x.atMS = fieldDeadline(a, 1, 0)
	}
}

// hgetex replies a field first. A time in the past then removes the field.
func hgetex(c *Ctx) error {
	a := c.Args()
	e, ok := c.DB.OpenHash(a.Key())
	if !ok {
		return ErrWrongType
	}
	var x fieldExpiry
	if !ascii.EqualFold(a.Peek(), "FIELDS") {
		x.read(c, a, a.MaybeOption())
	}
	fields := countedFields(a, ErrNumFieldsSign)
	if err := a.Err(); err != nil {
		return err
	}
	c.Out.Array(len(fields))
	var done fieldEvents
	for _, field := range fields {
		writeField(c, e.Hash(), field)
		if !c.hasField(e.Hash(), field) {
			continue
		}
		switch {
		case x.timed():
			gone := e.ExpireField(field, x.atMS)
			if !gone {
				e.PlaceField(field)
			}
			done.deleted, done.timed = done.deleted || gone, done.timed || !gone
		case x.word == "PERSIST" && e.PersistField(field):
			done.persisted = true
		}
	}
	e.SetMixed()
	done.notify(c, c.Argv[1], e.Hash() == nil)
	return nil
}

func hgetdel(c *Ctx) error {
	a := c.Args()
	e, ok := c.DB.OpenHash(a.Key())
	if !ok {
		return ErrWrongType
	}
	fields := countedFields(a, ErrNumFieldsSign)
	if err := a.Err(); err != nil {
		return err
	}
	c.Out.Array(len(fields))
	var done fieldEvents
	for _, field := range fields {
		writeField(c, e.Hash(), field)
		if c.hasField(e.Hash(), field) && e.Delete(field) {
			done.deleted = true
		}
	}
	done.notify(c, c.Argv[1], e.Hash() == nil)
	return nil
}

// hsetexCall is one call of HSETEX.
type hsetexCall struct {
	key    []byte
	pairs  [][]byte // field and value in turn
	cond   string   // FNX, FXX or empty
	expiry fieldExpiry
}

// readHSetex reads the options up to FIELDS, in any order. A word that occurs twice is an error, unlike in
// SET.
func readHSetex(c *Ctx) (s hsetexCall, err error) {
	a := c.Args()
	s.key = a.Key()
	for a.More() {
		switch w := a.MaybeOption(); w {
		case "FIELDS":
			s.pairs = countedPairs(a)
			return s, a.Err()
		case "FNX", "FXX":
			if s.cond != "" {
				a.Fail(ErrFieldConditions)
			}
			s.cond = w
		case "":
			a.Fail(ErrUnknownArgument(a.Bytes()))
		default:
			if s.expiry.word != "" {
				a.Fail(ErrFieldExpiries)
			}
			if w != "KEEPTTL" && !a.More() {
				a.Fail(ErrNoFieldTime)
			}
			s.expiry.read(c, a, w)
		}
	}
	a.Arity() // FIELDS is missing
	return s, a.Err()
}

// countedPairs reads a number and that number of fields with values, up to the end of the call.
func countedPairs(a *Scanner) [][]byte {
	if a.Left() < 3 {
		a.Arity()
		return nil
	}
	n := a.IntOr(ErrFieldCount)
	if n < 1 || n > math.MaxInt32 {
		a.Fail(ErrFieldCount)
	}
	if 2*n != int64(a.Left()) {
		a.Arity()
	}
	return a.Rest()
}

// hsetex sets all fields or no field.
func hsetex(c *Ctx) error {
	s, err := readHSetex(c)
	if err != nil {
		return err
	}
	e, ok := c.DB.OpenHash(s.key)
	if !ok {
		return ErrWrongType
	}
	if s.cond != "" {
		for i := 0; i < len(s.pairs); i += 2 {
			if c.hasField(e.Hash(), s.pairs[i]) != (s.cond == "FXX") {
				c.Out.Int(0)
				return nil
			}
		}
	}
	for i := 0; i < len(s.pairs); i += 2 {
		if s.expiry.word == "KEEPTTL" {
			e.Update(s.pairs[i], s.pairs[i+1])
		} else {
			e.Set(s.pairs[i], s.pairs[i+1])
		}
	}
	c.Notify(keyevent.Hash, "hset", s.key)
	var done fieldEvents
	for i := 0; s.expiry.timed() && i < len(s.pairs); i += 2 {
		if h := e.Hash(); h != nil && h.Has(s.pairs[i]) { // a field that was named twice may already be removed
			gone := e.ExpireField(s.pairs[i], s.expiry.atMS)
			if !gone {
				e.PlaceField(s.pairs[i])
			}
			done.deleted, done.timed = done.deleted || gone, done.timed || !gone
		}
	}
	e.SetMixed()
	done.notify(c, s.key, e.Hash() == nil)
	c.Out.Int(1)
	return nil
}
