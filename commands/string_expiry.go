package commands

import (
	"math"

	"lockserver/internal/decimal"
	"lockserver/store"
)

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
