package commands

import (
	"bytes"
	"math"

	"lockserver/internal/ascii"
	"lockserver/internal/keyevent"
	"lockserver/store"
)

func rename(c *Ctx) error {
	key, newKey := c.Argv[1], c.Argv[2]
	if !c.DB.FindToWrite(key).OK() {
		return ErrNoSuchKey
	}
	if !bytes.Equal(key, newKey) {
		renameKey(c, key, newKey)
	}
	c.Out.OK()
	return nil
}

func renameKey(c *Ctx, key, newKey []byte) {
	c.DB.Rename(key, newKey)
	c.Notify(keyevent.Generic, "rename_from", key)
	c.Notify(keyevent.Generic, "rename_to", newKey)
}

// renamenx takes a key's own name as existing, without a second look-up, which would count as another use.
func renamenx(c *Ctx) error {
	key, newKey := c.Argv[1], c.Argv[2]
	if !c.DB.FindToWrite(key).OK() {
		return ErrNoSuchKey
	}
	if bytes.Equal(key, newKey) || c.DB.FindToWrite(newKey).OK() {
		c.Out.Int(0)
		return nil
	}
	renameKey(c, key, newKey)
	c.Out.Int(1)
	return nil
}

func move(c *Ctx) error {
	a := c.Args()
	key, to := a.Key(), readDB(c, a)
	if to == c.DB {
		a.Fail(ErrSameObject)
	}
	if err := a.Err(); err != nil {
		return err
	}
	if c.DB.Move(key, to) {
		c.Notify(keyevent.Generic, "move_from", key)
		c.NotifyIn(to, keyevent.Generic, "move_to", key)
		c.Out.Int(1)
	} else {
		c.Out.Int(0)
	}
	return nil
}

// readDB reads the number of a database. The result is nil after an error.
func readDB(c *Ctx, a *Scanner) *store.DB {
	id := a.IntRange(math.MinInt32, math.MaxInt32)
	if a.Err() != nil {
		return nil
	}
	db := c.DB.Store().DB(int(id))
	if db == nil {
		a.Fail(ErrDBIndex)
	}
	return db
}

// copyDBs returns the indexes of the arguments of COPY that name a database. The last one has effect, but the
// rights to all of them are checked.
func copyDBs(args [][]byte, dst []int) []int {
	for i := 3; i+1 < len(args); i++ {
		if ascii.EqualFold(args[i], "DB") {
			i++
			dst = append(dst, i)
		}
	}
	return dst
}

func copyKey(c *Ctx) error {
	a := c.Args()
	key, newKey, to := a.Key(), a.Key(), c.DB
	replace := false
	for a.More() {
		switch a.Option() {
		case "REPLACE":
			replace = true
		case "DB":
			to = readDB(c, a)
		}
	}
	if to == c.DB && bytes.Equal(key, newKey) {
		a.Fail(ErrSameObject)
	}
	if err := a.Err(); err != nil {
		return err
	}
	if !c.DB.Find(key).OK() || to.FindToWrite(newKey).OK() && !replace {
		c.Out.Int(0)
		return nil
	}
	c.DB.Copy(key, to, newKey)
	c.NotifyIn(to, keyevent.Generic, "copy_to", newKey)
	c.Out.Int(1)
	return nil
}
