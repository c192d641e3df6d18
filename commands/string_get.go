package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
)

func get(c *Ctx) error {
	return c.replyString(c.Argv[1])
}

// replyString writes the string at key, or null if the key does not exist.
func (c *Ctx) replyString(key []byte) error {
	val, ok, err := c.findString(key)
	switch {
	case err != nil:
		return err
	case ok:
		c.Out.Bulk(val)
	default:
		c.Out.Null()
	}
	return nil
}

// mget replies null for a key of another type, as for a missing key.
func mget(c *Ctx) error {
	keys := c.Argv[1:]
	c.Out.Array(len(keys))
	for _, key := range keys {
		if r := c.DB.Find(key); r.Kind() == store.String {
			c.Out.Bulk(r.Bytes())
		} else {
			c.Out.Null()
		}
	}
	return nil
}

func strlen(c *Ctx) error {
	val, _, err := c.findString(c.Argv[1])
	if err != nil {
		return err
	}
	c.Out.Int(int64(len(val)))
	return nil
}

// getrange also runs SUBSTR.
func getrange(c *Ctx) error {
	a := c.Args()
	key, start, end := a.Key(), a.Int(), a.Int()
	if err := a.Err(); err != nil {
		return err
	}
	val, _, err := c.findString(key)
	if err != nil {
		return err
	}
	c.Out.Bulk(cutRange(val, start, end))
	return nil
}

// cutRange returns the part of b from start to end, both inclusive. Negative numbers count from b's end, and
// -1 is the last byte. Positions outside of b are ignored. But an end before b counts as the first byte,
// unlike a start after b.
func cutRange(b []byte, start, end int64) []byte {
	n := int64(len(b))
	if n == 0 || start < 0 && end < 0 && start > end {
		return nil
	}
	if start < 0 {
		start = max(start+n, 0)
	}
	if end < 0 {
		end = max(end+n, 0)
	}
	end = min(end, n-1)
	if start > end {
		return nil
	}
	return b[start : end+1]
}

func getset(c *Ctx) error {
	key, val := c.Argv[1], c.Argv[2]
	if err := c.replyString(key); err != nil {
		return err
	}
	c.DB.EditString(key).Set(val, store.NoTTL)
	c.notifySet(key, store.NoTTL)
	return nil
}

func getdel(c *Ctx) error {
	key := c.Argv[1]
	if err := c.replyString(key); err != nil {
		return err
	}
	if c.DB.Delete(key) {
		c.Notify(keyevent.Generic, "del", key)
	}
	return nil
}

// getex checks the number of its deadline only if the string exists.
func getex(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	var e expiry
	for a.More() {
		switch w := a.Option(); w {
		case "PERSIST":
			Choose(a, &e.unit, w)
		default:
			e.read(a, w)
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	val, ok, err := c.findString(key)
	if err != nil {
		return err
	}
	if !ok {
		c.Out.Null()
		return nil
	}
	var atMS int64
	if e.timed {
		if atMS, err = e.deadlineMS(c); err != nil {
			return err
		}
	}
	c.Out.Bulk(val)
	switch {
	case e.timed:
		c.DB.Expire(key, atMS)
		c.notifyDeadline(key, atMS)
	case e.unit == "PERSIST" && c.DB.Persist(key):
		c.Notify(keyevent.Generic, "persist", key)
	}
	return nil
}
