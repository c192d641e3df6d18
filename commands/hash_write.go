package commands

import "lockserver/internal/keyevent"

func hset(c *Ctx) error {
	added, err := setFields(c)
	if err != nil {
		return err
	}
	c.Out.Int(added)
	return nil
}

func hmset(c *Ctx) error {
	if _, err := setFields(c); err != nil {
		return err
	}
	c.Out.OK()
	return nil
}

// setFields sets the fields of a call and returns how many of them are new. A field without a value is an
// error of arity, which is reported before the key is looked up.
func setFields(c *Ctx) (added int64, err error) {
	a := c.Args()
	key := a.Key()
	if a.Left()%2 != 0 {
		a.Arity()
	}
	pairs := a.Rest()
	if err := a.Err(); err != nil {
		return 0, err
	}
	e, ok := c.DB.OpenHash(key)
	if !ok {
		return 0, ErrWrongType
	}
	e.Expect(pairs)
	for i := 0; i < len(pairs); i += 2 {
		if e.Set(pairs[i], pairs[i+1]) {
			added++
		}
	}
	c.Notify(keyevent.Hash, "hset", key)
	return added, nil
}

func hsetnx(c *Ctx) error {
	key, field, val := c.Argv[1], c.Argv[2], c.Argv[3]
	e, ok := c.DB.OpenHash(key)
	if !ok {
		return ErrWrongType
	}
	if c.hasField(e.Hash(), field) {
		c.Out.Int(0)
		return nil
	}
	e.Set(field, val)
	c.Notify(keyevent.Hash, "hset", key)
	c.Out.Int(1)
	return nil
}

func hdel(c *Ctx) error {
	key, fields := c.Argv[1], c.Argv[2:]
	e, ok := c.DB.OpenHash(key)
	if !ok {
		return ErrWrongType
	}
	removed := removeAll(fields, e.Delete)
	c.replyRemoved(key, keyevent.Hash, "hdel", removed, e.Hash() == nil)
	return nil
}
