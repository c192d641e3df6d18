package commands

import "lockserver/internal/keyevent"

// del and unlink differ in whether the removed keys count as freed lazily. In both cases the garbage
// collector frees the memory.
func del(c *Ctx) error { return removeKeys(c, c.DB.Store().Lazy().UserDel) }

func unlink(c *Ctx) error { return removeKeys(c, true) }

func removeKeys(c *Ctx, lazy bool) error {
	n := 0
	for _, key := range c.Argv[1:] {
		if c.DB.Unlink(key, lazy) {
			c.Notify(keyevent.Generic, "del", key)
			n++
		}
	}
	c.Out.Int(int64(n))
	return nil
}

func exists(c *Ctx) error {
	n := 0
	for _, key := range c.Argv[1:] {
		if c.DB.Look(key).OK() {
			n++
		}
	}
	c.Out.Int(int64(n))
	return nil
}

func touch(c *Ctx) error {
	n := 0
	for _, key := range c.Argv[1:] {
		if c.DB.Touch(key).OK() {
			n++
		}
	}
	c.Out.Int(int64(n))
	return nil
}

func typeOf(c *Ctx) error {
	c.Out.Simple(c.DB.Look(c.Argv[1]).Kind().String())
	return nil
}
