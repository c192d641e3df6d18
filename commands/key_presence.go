package commands

import "lockserver/internal/keyevent"

// del is UNLINK as well: the collector gives memory back beside the commands in either case.
func del(c *Ctx) error {
	n := 0
	for _, key := range c.Argv[1:] {
		if c.DB.Delete(key) {
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
