package commands

import (
	"math"
	"strconv"

	"lockserver/internal/decimal"
	"lockserver/internal/keyevent"
	"lockserver/internal/resp"
	"lockserver/store"
)

// increxCall holds the arguments of INCREX. Numbers are kept as text until their type is known.
type increxCall struct {
	key          []byte
	by           string // BYINT, BYFLOAT, or empty for 1
	num          []byte
	lower, upper []byte // nil means the bounds of the type
	saturate     bool
	onlyNew      bool // ENX
	expiry       expiry
}

// increx adds to a number within bounds. A sum outside of the bounds changes nothing, not even the deadline,
// unless the call has SATURATE.
func increx(c *Ctx) error {
	var x increxCall
	x.read(c.Args())
	if err := c.scanner.Err(); err != nil {
		return err
	}
	if x.by == "BYFLOAT" {
		return x.addFloat(c)
	}
	return x.addInt(c)
}

func (x *increxCall) read(a *Scanner) {
	x.key = a.Key()
	for a.More() {
		switch w := a.Option(); w {
		case "BYINT", "BYFLOAT":
			Choose(a, &x.by, w)
			x.num = a.Bytes()
		case "LBOUND":
			x.lower = a.Bytes()
		case "UBOUND":
			x.upper = a.Bytes()
		case "SATURATE":
			x.saturate = true
		case "ENX":
			x.onlyNew = true
		case "PERSIST":
			Choose(a, &x.expiry.unit, w)
		default:
			x.expiry.read(a, w)
		}
	}
	if x.onlyNew && !x.expiry.timed {
		a.Syntax()
	}
}

// ttl returns the deadline of the key after the change; r is its value before.
func (x *increxCall) ttl(c *Ctx, r store.Ref) (store.TTL, error) {
	ttl := store.KeepTTL
	switch {
	case x.expiry.timed:
		atMS, err := x.expiry.deadlineMS(c)
		if err != nil {
			return 0, err
		}
		ttl = store.TTL(atMS)
	case x.expiry.unit == "PERSIST":
		ttl = store.NoTTL
	}
	if x.onlyNew && r.DeadlineMS() != 0 {
		ttl = store.KeepTTL
	}
	return ttl, nil
}

// set stores the new number and sends the event.
func (x *increxCall) set(c *Ctx, r store.Ref, text []byte, ttl store.TTL, event string) {
	persisted := ttl == store.NoTTL && r.DeadlineMS() != 0
	c.DB.EditString(x.key).Update(text, ttl)
	c.Notify(keyevent.String, event, x.key)
	switch {
	case ttl > 0:
		c.notifyDeadline(x.key, int64(ttl))
	case persisted:
		c.Notify(keyevent.Generic, "persist", x.key)
	}
}

// intOr reads an optional integer.
func intOr(text []byte, absent int64) (int64, error) {
	if text == nil {
		return absent, nil
	}
	n, ok := decimal.ParseInt(text)
	if !ok {
		return 0, ErrNotInteger
	}
	return n, nil
}

func (x *increxCall) addInt(c *Ctx) error {
	by, err := intOr(x.num, 1)
	if err != nil {
		return err
	}
	least, err := intOr(x.lower, math.MinInt64)
	if err != nil {
		return err
	}
	most, err := intOr(x.upper, math.MaxInt64)
	if err != nil {
		return err
	}
	if least > most {
		return ErrIncrexBounds
	}
	r := c.DB.FindToWrite(x.key)
	ttl, err := x.ttl(c, r)
	switch {
	case err != nil:
		return err
	case !r.Is(store.String):
		return ErrWrongType
	}
	old := int64(0)
	if r.OK() {
		if old, err = intOr(r.Bytes(), 0); err != nil {
			return err
		}
	}
	sum, ok := saturatedSum(old, by, least, most)
	if !ok && !x.saturate {
		c.Out.Array(2)
		c.Out.Int(old)
		c.Out.Int(0)
		return nil
	}
	done, fits := addInts(sum, -old)
	if old == math.MinInt64 {
		done, fits = sum-old, sum < 0
	}
	if !fits {
		return ErrOverflow
	}
	x.set(c, r, strconv.AppendInt(c.Scratch(), sum, 10), ttl, "incrby")
	c.Out.Array(2)
	c.Out.Int(sum)
	c.Out.Int(done)
	return nil
}

// saturatedSum returns a + b, or the bound that it exceeds; then ok is false.
func saturatedSum(a, b, least, most int64) (sum int64, ok bool) {
	switch sum, ok = addInts(a, b); {
	case !ok && b > 0, ok && sum > most:
		return most, false
	case !ok, sum < least:
		return least, false
	}
	return sum, true
}

// floatOr reads an optional number, which must be finite.
func floatOr(text []byte, absent resp.LongDouble) (resp.LongDouble, error) {
	if text == nil {
		return absent, nil
	}
	n, ok := resp.ParseLongDouble(text)
	switch {
	case !ok:
		return n, ErrNotFloat
	case n.IsInf():
		return n, ErrNaNOrInfinity
	}
	return n, nil
}

func (x *increxCall) addFloat(c *Ctx) error {
	most, least := resp.MaxLongDouble()
	by, err := floatOr(x.num, resp.LongDouble{})
	if err != nil {
		return err
	}
	if least, err = floatOr(x.lower, least); err != nil {
		return err
	}
	if most, err = floatOr(x.upper, most); err != nil {
		return err
	}
	if most.Less(least) {
		return ErrIncrexBounds
	}
	r := c.DB.FindToWrite(x.key)
	ttl, err := x.ttl(c, r)
	switch {
	case err != nil:
		return err
	case !r.Is(store.String):
		return ErrWrongType
	}
	var old resp.LongDouble
	if r.OK() {
		if old, err = floatOr(r.Bytes(), old); err != nil {
			return err
		}
	}
	sum, ok := old.Add(by)
	done := by
	if above := !ok && !by.Less(resp.LongDouble{}) || ok && most.Less(sum); above || !ok || sum.Less(least) {
		if !x.saturate {
			c.Out.Array(2)
			c.Out.DoubleText(old.Append(nil))
			c.Out.DoubleText([]byte("0"))
			return nil
		}
		if sum = least; above {
			sum = most
		}
		if done, ok = sum.Sub(old); !ok {
			return ErrNaNOrInfinity
		}
	}
	text := sum.Append(nil)
	x.set(c, r, text, ttl, "incrbyfloat")
	c.Out.Array(2)
	c.Out.DoubleText(text)
	c.Out.DoubleText(done.Append(nil))
	return nil
}
