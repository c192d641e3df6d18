package commands

import (
	"lockserver/internal/decimal"
	"lockserver/internal/keyevent"
	"lockserver/store"
)

// A string is a row of bits. The first bit is the highest bit of its first byte. After its end all bits are
// 0.

// bitOffset reads the number of a bit.
func bitOffset(c *Ctx, a *Scanner) int64 {
	n := a.IntOr(ErrBitOffset)
	if a.Err() == nil && !c.holdsBit(n) {
		a.Fail(ErrBitOffset)
		return 0
	}
	return n
}

// holdsBit reports whether a string may be so long that it has bit n.
func (c *Ctx) holdsBit(n int64) bool { return n >= 0 && n>>3 < c.Settings.MaxStringBytes }

func setbit(c *Ctx) error {
	a := c.Args()
	key, at := a.Key(), bitOffset(c, a)
	value := a.Bytes()
	if err := a.Err(); err != nil {
		return err
	}
	bit, ok := decimal.ParseInt(value)
	if !ok || bit&^1 != 0 {
		return ErrBitValue
	}
	r := c.DB.FindToWrite(key)
	if !r.Is(store.String) {
		return ErrWrongType
	}
	old, within := byte(0), at>>3 < int64(len(r.Bytes()))
	if within {
		old = r.Bytes()[at>>3]
	}
	shift := 7 - uint(at&7)
	if fresh := old&^(1<<shift) | byte(bit)<<shift; fresh != old || !within {
		c.DB.EditString(key).SetRange(int(at>>3), append(c.Scratch(), fresh))
		c.Notify(keyevent.String, "setbit", key)
	} else {
		c.DB.EditString(key).MakeRaw()
	}
	c.Out.Int(int64(old >> shift & 1))
	return nil
}

func getbit(c *Ctx) error {
	a := c.Args()
	key, at := a.Key(), bitOffset(c, a)
	if err := a.Err(); err != nil {
		return err
	}
	b, _, err := c.findString(key)
	if err != nil {
		return err
	}
	bit := byte(0)
	if at>>3 < int64(len(b)) {
		bit = b[at>>3] >> (7 - uint(at&7)) & 1
	}
	c.Out.Int(int64(bit))
	return nil
}
