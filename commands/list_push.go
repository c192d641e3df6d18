package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store/list"
)

// pushEvents and popEvents are the names of the events at each end of a list.
var (
	pushEvents = [...]string{list.Left: "lpush", list.Right: "rpush"}
	popEvents  = [...]string{list.Left: "lpop", list.Right: "rpop"}
)

func lpush(c *Ctx) error  { return pushList(c, list.Left, false) }
func rpush(c *Ctx) error  { return pushList(c, list.Right, false) }
func lpushx(c *Ctx) error { return pushList(c, list.Left, true) }
func rpushx(c *Ctx) error { return pushList(c, list.Right, true) }

// pushList runs the push commands. With existing it does not create a missing list.
func pushList(c *Ctx, side list.Side, existing bool) error {
	a := c.Args()
	key, elements := a.Key(), a.Rest()
	if err := a.Err(); err != nil {
		return err
	}
	e, ok := c.DB.OpenList(key)
	if !ok {
		return ErrWrongType
	}
	if e.List() == nil && existing {
		c.Out.Int(0)
		return nil
	}
	e.Push(side, elements...)
	c.Notify(keyevent.List, pushEvents[side], key)
	c.Out.Int(int64(e.Len()))
	return nil
}
