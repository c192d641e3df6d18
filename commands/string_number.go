package commands

import (
	"errors"
	"math"
	"strconv"

	"lockserver/internal/decimal"
	"lockserver/internal/keyevent"
	"lockserver/internal/resp"
	"lockserver/store"
)

func incr(c *Ctx) error { return addInt(c, c.Argv[1], 1) }

func decr(c *Ctx) error { return addInt(c, c.Argv[1], -1) }

func incrby(c *Ctx) error {
	a := c.Args()
	key, n := a.Key(), a.Int()
	if err := a.Err(); err != nil {
		return err
	}
	return addInt(c, key, n)
}

func decrby(c *Ctx) error {
	a := c.Args()
	key, n := a.Key(), a.Int()
	if n == math.MinInt64 {
		a.Fail(ErrDecrOverflow)
	}
	if err := a.Err(); err != nil {
		return err
	}
	return addInt(c, key, -n)
}

// addInt adds n to the integer at key and replies the sum. The key keeps its deadline.
func addInt(c *Ctx, key []byte, n int64) error {
	r := c.DB.FindToWrite(key)
	if !r.Is(store.String) {
		return ErrWrongType
	}
	var old int64
	if r.OK() {
		var isInt bool
		if old, isInt = decimal.ParseInt(r.Bytes()); !isInt {
			return ErrNotInteger
		}
	}
	sum, ok := addInts(old, n)
	if !ok {
		return ErrOverflow
	}
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], sum, 10)
	c.DB.EditString(key).Update(text, store.KeepTTL)
	c.Notify(keyevent.String, "incrby", key) // also for DECR
	c.Out.Digits(text)
	return nil
}

// addInts returns x + y; ok is false if the sum is no 64-bit integer.
func addInts(x, y int64) (sum int64, ok bool) {
	return x + y, (y <= 0 || x <= math.MaxInt64-y) && (y >= 0 || x >= math.MinInt64-y)
}

// incrbyfloat checks the number at the key first, then its argument, then the sum.
func incrbyfloat(c *Ctx) error {
	key, n := c.Argv[1], c.Argv[2]
	r := c.DB.FindToWrite(key)
	if !r.Is(store.String) {
		return ErrWrongType
	}
	old := []byte("0")
	if r.OK() {
		old = r.Bytes()
	}
	sum, err := resp.AddLongDouble(old, n)
	switch {
	case errors.Is(err, resp.ErrNaNOrInf):
		return ErrNaNOrInfinity
	case err != nil:
		return ErrNotFloat
	}
	c.DB.EditString(key).SetText(sum)
	c.Notify(keyevent.String, "incrbyfloat", key)
	c.Out.Bulk(sum)
	return nil
}
