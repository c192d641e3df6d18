package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
)

func appendString(c *Ctx) error {
	key, val := c.Argv[1], c.Argv[2]
	r := c.DB.FindToWrite(key)
	if !r.Is(store.String) {
		return ErrWrongType
	}
	if r.OK() {
		if err := c.checkStringLength(int64(len(r.Bytes())), val); err != nil {
			return err
		}
	}
	c.Out.Int(int64(c.DB.EditString(key).Append(val)))
	c.Notify(keyevent.String, "append", key)
	return nil
}

// setrange with an empty value changes nothing, even if its offset is beyond the end.
func setrange(c *Ctx) error {
	a := c.Args()
	key, offset, val := a.Key(), a.Int(), a.Bytes()
	if offset < 0 {
		a.Fail(ErrOffsetRange)
	}
	if err := a.Err(); err != nil {
		return err
	}
	r := c.DB.FindToWrite(key)
	if !r.Is(store.String) {
		return ErrWrongType
	}
	if len(val) == 0 {
		c.Out.Int(int64(len(r.Bytes())))
		return nil
	}
	if err := c.checkStringLength(offset, val); err != nil {
		return err
	}
	c.Out.Int(int64(c.DB.EditString(key).SetRange(int(offset), val)))
	c.Notify(keyevent.String, "setrange", key)
	return nil
}

// checkStringLength returns an error if n bytes (n >= 0) and tail together are too long for a string.
func (c *Ctx) checkStringLength(n int64, tail []byte) error {
	if n > c.Settings.MaxStringBytes-int64(len(tail)) {
		return ErrStringTooBig
	}
	return nil
}
