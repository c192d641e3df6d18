package commands

import (
	"math"

	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/store"
)

func setString(c *Ctx) error {
	a := c.Args()
	key, val := a.Key(), a.Bytes()
	var cond comparison // or NX or XX, which cannot be combined with a comparison
	var e expiry
	giveOld := false
	for a.More() {
		switch w := a.Option(); w {
		case "NX", "XX":
			Choose(a, &cond.word, w)
		case "IFEQ", "IFNE", "IFDEQ", "IFDNE":
			Choose(a, &cond.word, w)
			cond.operand = a.Bytes()
		case "GET":
			giveOld = true
		case "KEEPTTL":
			Choose(a, &e.unit, w)
		default:
			e.read(a, w)
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	ttl, err := e.ttl(c)
	if err != nil {
		return err
	}
	if giveOld {
		if err := c.replyString(key); err != nil {
			return err
		}
	}
	if ok, err := maySet(c, key, &cond); !ok || err != nil {
		c.DB.FindToWrite(key) // a refused write also counts as a use of the key
		if !giveOld {
			c.Out.Null()
		}
		return err
	}
	c.DB.EditString(key).Set(val, ttl)
	c.notifySet(key, ttl)
	if !giveOld {
		c.Out.OK()
	}
	return nil
}

// maySet reports whether the condition of a SET holds, without counting a use of the key. A missing key is
// equal to no value: it fails IFEQ and IFDEQ and satisfies IFNE and IFDNE, without a check of the operand.
func maySet(c *Ctx, key []byte, cond *comparison) (bool, error) {
	if cond.word == "" {
		return true, nil
	}
	r := c.DB.Peek(key)
	switch cond.word {
	case "NX":
		return !r.OK(), nil
	case "XX":
		return r.OK(), nil
	}
	switch {
	case !r.OK():
		return cond.word == "IFNE" || cond.word == "IFDNE", nil
	case r.Kind() != store.String:
		return false, ErrWrongType
	}
	return cond.holds(r.Bytes())
}

// setKeys finds the key of SET and its use: GET returns the old value, and a comparison reads it.
func setKeys(args [][]byte, dst []KeyRef) ([]KeyRef, bool) {
	flags := OW | Update
	for _, arg := range args[3:] {
		switch {
		case ascii.EqualFold(arg, "GET"):
			flags = RW | Access | Update
		case isComparison(arg):
			flags = flags&^OW | RW
		}
	}
	return append(dst, KeyRef{1, flags}), true
}

func setnx(c *Ctx) error {
	key, val := c.Argv[1], c.Argv[2]
	if c.DB.FindToWrite(key).OK() {
		c.Out.Int(0)
		return nil
	}
	c.DB.EditString(key).Set(val, store.NoTTL)
	c.notifySet(key, store.NoTTL)
	c.Out.Int(1)
	return nil
}

func setex(c *Ctx) error { return setFor(c, "EX") }

func psetex(c *Ctx) error { return setFor(c, "PX") }

// setFor runs SETEX in a unit of [expiry].
func setFor(c *Ctx, unit string) error {
	key, val := c.Argv[1], c.Argv[3]
	e := expiry{unit: unit, num: c.Argv[2], timed: true}
	atMS, err := e.deadlineMS(c)
	if err != nil {
		return err
	}
	c.DB.EditString(key).Set(val, store.TTL(atMS))
	c.notifySet(key, store.TTL(atMS))
	c.Out.OK()
	return nil
}

func mset(c *Ctx) error {
	pairs, err := keyValues(c)
	if err != nil {
		return err
	}
	for i := 0; i < len(pairs); i += 2 {
		c.DB.EditString(pairs[i]).Set(pairs[i+1], store.NoTTL)
		c.notifySet(pairs[i], store.NoTTL)
	}
	c.Out.OK()
	return nil
}

func msetnx(c *Ctx) error {
	pairs, err := keyValues(c)
	if err != nil {
		return err
	}
	for i := 0; i < len(pairs); i += 2 {
		if c.DB.FindToWrite(pairs[i]).OK() {
			c.Out.Int(0)
			return nil
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		c.DB.EditString(pairs[i]).Update(pairs[i+1], store.NoTTL)
		c.notifySet(pairs[i], store.NoTTL)
	}
	c.Out.Int(1)
	return nil
}

// keyValues returns the arguments of MSET: alternately keys and values. The arity cannot express that they
// come in pairs.
func keyValues(c *Ctx) ([][]byte, error) {
	a := c.Args()
	if a.Left()%2 != 0 {
		a.Arity()
	}
	return a.Rest(), a.Err()
}

// expiry holds a deadline as the options of SET and GETEX give it. The number is kept as text, because Redis
// checks it after the syntax of the whole command. The zero value means no deadline.
type expiry struct {
	unit  string // EX, PX, EXAT or PXAT, or a word that excludes them, or empty
	num   []byte
	timed bool // unit is one of these four
}

// read reads the option w, one of the four units, and its number. Anything else is a syntax error.
func (e *expiry) read(a *Scanner, w string) {
	switch w {
	case "EX", "PX", "EXAT", "PXAT":
		Choose(a, &e.unit, w)
		e.num, e.timed = a.Bytes(), true
	default:
		a.Syntax()
	}
}

// ttl returns the deadline of a key after its value is replaced. The errors are those of deadlineMS.
func (e *expiry) ttl(c *Ctx) (store.TTL, error) {
	switch {
	case e.timed:
		atMS, err := e.deadlineMS(c)
		return store.TTL(atMS), err
	case e.unit == "KEEPTTL":
		return store.KeepTTL, nil
	}
	return store.NoTTL, nil
}

// deadlineMS returns the deadline in milliseconds since 1970, greater than 0. It may be past. It returns an
// error for a text that is no integer, and for an integer that is no possible time.
func (e *expiry) deadlineMS(c *Ctx) (int64, error) {
	n, ok := decimal.ParseInt(e.num)
	if !ok {
		return 0, ErrNotInteger
	}
	inSeconds := e.unit == "EX" || e.unit == "EXAT"
	if n <= 0 || inSeconds && n > math.MaxInt64/1000 {
		return 0, ErrInvalidExpire(c.Row.FullName())
	}
	if inSeconds {
		n *= 1000
	}
	if e.unit == "EX" || e.unit == "PX" {
		if n > math.MaxInt64-c.NowMS() {
			return 0, ErrInvalidExpire(c.Row.FullName())
		}
		n += c.NowMS()
	}
	return n, nil
}
