package commands

import "lockserver/store"

func setString(c *Ctx) error {
	a := c.Args()
	key, val := a.Key(), a.Bytes()
	var cond string
	var e expiry
	giveOld := false
	for a.More() {
		switch w := a.Option(); w {
		case "NX", "XX":
			Choose(a, &cond, w)
		case "GET":
			giveOld = true
		case "KEEPTTL":
			Choose(a, &e.unit, w)
		default:
			e.read(a, w)
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	ttl := store.NoTTL
	switch {
	case e.timed:
		atMS, err := e.deadlineMS(c)
		if err != nil {
			return err
		}
		ttl = store.TTL(atMS)
	case e.unit == "KEEPTTL":
		ttl = store.KeepTTL
	}
	if giveOld {
		if err := c.replyString(key); err != nil {
			return err
		}
	}
	if cond != "" && c.DB.Peek(key).OK() != (cond == "XX") {
		if !giveOld {
			c.Out.Null()
		}
		return nil
	}
	c.DB.SetString(key, val, ttl)
	if !giveOld {
		c.Out.OK()
	}
	return nil
}

// setKeys tells what SET does to its key: with GET it also returns what was there.
func setKeys(args [][]byte, dst []KeyRef) ([]KeyRef, bool) {
	flags := OW | Update
	for _, arg := range args[3:] {
		if equalFold(arg, "GET") {
			flags = RW | Access | Update
		}
	}
	return append(dst, KeyRef{1, flags}), true
}

func setnx(c *Ctx) error {
	key, val := c.Argv[1], c.Argv[2]
	if c.DB.Peek(key).OK() {
		c.Out.Int(0)
		return nil
	}
	c.DB.SetString(key, val, store.NoTTL)
	c.Out.Int(1)
	return nil
}

func setex(c *Ctx) error { return setFor(c, "EX") }

func psetex(c *Ctx) error { return setFor(c, "PX") }

// setFor is SETEX in a unit of [expiry].
func setFor(c *Ctx, unit string) error {
	key, val := c.Argv[1], c.Argv[3]
	e := expiry{unit: unit, num: c.Argv[2], timed: true}
	atMS, err := e.deadlineMS(c)
	if err != nil {
		return err
	}
	c.DB.SetString(key, val, store.TTL(atMS))
	c.Out.OK()
	return nil
}

func mset(c *Ctx) error {
	pairs, err := keyValues(c)
	if err != nil {
		return err
	}
	setAll(c, pairs)
	c.Out.OK()
	return nil
}

func msetnx(c *Ctx) error {
	pairs, err := keyValues(c)
	if err != nil {
		return err
	}
	for i := 0; i < len(pairs); i += 2 {
		if c.DB.Peek(pairs[i]).OK() {
			c.Out.Int(0)
			return nil
		}
	}
	setAll(c, pairs)
	c.Out.Int(1)
	return nil
}

// keyValues are the arguments of MSET: keys and values in turn. The arity cannot tell that they come in pairs.
func keyValues(c *Ctx) ([][]byte, error) {
	a := c.Args()
	if a.Left()%2 != 0 {
		a.Arity()
	}
	return a.Rest(), a.Err()
}

func setAll(c *Ctx, pairs [][]byte) {
	for i := 0; i < len(pairs); i += 2 {
		c.DB.SetString(pairs[i], pairs[i+1], store.NoTTL)
	}
}
