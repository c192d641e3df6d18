package commands

import "lockserver/store/hash"

// openHash reads the key, which is the only argument of the call, and looks it up.
func openHash(c *Ctx) (*hash.Hash, error) {
	a := c.Args()
	key := a.Key()
	if err := a.Err(); err != nil {
		return nil, err
	}
	return c.findHash(key)
}

// openField reads the key and the field, which are the only arguments of the call, and looks the key up.
func openField(c *Ctx) (h *hash.Hash, field []byte, err error) {
	a := c.Args()
	key, field := a.Key(), a.Bytes()
	if err := a.Err(); err != nil {
		return nil, nil, err
	}
	h, err = c.findHash(key)
	return h, field, err
}

func hget(c *Ctx) error {
	h, field, err := openField(c)
	if err != nil {
		return err
	}
	if h != nil && string(field) == "mode" { // Redisson's RReadWriteLock reads this field
		if mode := lockMode(c.DB.LiveHash(h)); mode != nil {
			c.Out.Bulk(mode)
			return nil
		}
	}
	writeField(c, h, field)
	return nil
}

func hmget(c *Ctx) error {
	key, fields := c.Argv[1], c.Argv[2:]
	h, err := c.findHash(key)
	if err != nil {
		return err
	}
	c.Out.Array(len(fields))
	for _, field := range fields {
		writeField(c, h, field)
	}
	return nil
}

// writeField writes the value of a field, or null if the field does not exist; h may be nil.
func writeField(c *Ctx, h *hash.Hash, field []byte) {
	if h != nil {
		if val, ok := h.Get(c.Scratch(), field); ok && !c.DB.Overdue(h, field) {
			c.Out.Bulk(val)
			return
		}
	}
	c.Out.Null()
}

func hlen(c *Ctx) error {
	h, err := openHash(c)
	if err != nil {
		return err
	}
	c.Out.Int(int64(fieldCount(h)))
	return nil
}

// fieldCount returns the number of fields; h may be nil.
func fieldCount(h *hash.Hash) int {
	if h == nil {
		return 0
	}
	return h.Len()
}

func hstrlen(c *Ctx) error {
	h, field, err := openField(c)
	if err != nil {
		return err
	}
	n := 0
	if c.hasField(h, field) {
		n = h.ValueLen(field)
	}
	c.Out.Int(int64(n))
	return nil
}

func hexists(c *Ctx) error {
	h, field, err := openField(c)
	if err != nil {
		return err
	}
	var n int64
	if c.hasField(h, field) {
		n = 1
	}
	c.Out.Int(n)
	return nil
}

func hgetall(c *Ctx) error { return replyFields(c, true, true) }
func hkeys(c *Ctx) error   { return replyFields(c, true, false) }
func hvals(c *Ctx) error   { return replyFields(c, false, true) }

// replyFields runs HGETALL, HKEYS and HVALS: it replies all names, all values, or both as a map.
func replyFields(c *Ctx, names, values bool) error {
	h, err := openHash(c)
	if err != nil {
		return err
	}
	count := fieldCount(h) - c.DB.OverdueFields(h)
	if names && values {
		c.Out.Map(count)
	} else {
		c.Out.Array(count)
	}
	if h == nil {
		return nil
	}
	h.Each(func(field, val []byte) bool {
		if c.DB.Overdue(h, field) {
			return true
		}
		if names {
			c.Out.Bulk(field)
		}
		if values {
			c.Out.Bulk(val)
		}
		return true
	})
	return nil
}
