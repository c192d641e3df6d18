package commands

import (
	"math"

	"lockserver/store"
)

// lookObject looks up the key of an OBJECT command. If the key is missing it replies null and returns false.
func (c *Ctx) lookObject() (store.Ref, bool) {
	r := c.DB.LookQuietly(c.Argv[2])
	if !r.OK() {
		c.Out.Null()
	}
	return r, r.OK()
}

func objectEncoding(c *Ctx) error {
	if r, ok := c.lookObject(); ok {
		c.Out.BulkString(r.Encoding())
	}
	return nil
}

func objectIdletime(c *Ctx) error {
	r, ok := c.lookObject()
	switch s := c.DB.Store(); {
	case ok && s.LFU():
		return ErrNoLRU
	case ok:
		c.Out.Int(s.IdleS(r))
	}
	return nil
}

func objectFreq(c *Ctx) error {
	r, ok := c.lookObject()
	switch s := c.DB.Store(); {
	case ok && !s.LFU():
		return ErrNoLFU
	case ok:
		c.Out.Int(s.Freq(r))
	}
	return nil
}

// objectRefcount answers as Redis does. Its small integers are shared and so always have this count.
func objectRefcount(c *Ctx) error {
	switch r, ok := c.lookObject(); {
	case !ok:
	case r.Shared():
		c.Out.Int(math.MaxInt32)
	default:
		c.Out.Int(1)
	}
	return nil
}
