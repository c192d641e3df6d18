package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
	"lockserver/store/list"
)

// moveCall is a call that moves an element from one list to another.
type moveCall struct {
	source, destination []byte
	from, to            list.Side
	waits               bool // BLMOVE or BRPOPLPUSH: Redis looks up the source twice for these
}

func lmove(c *Ctx) error {
	a := c.Args()
	m := moveCall{source: a.Key(), destination: a.Key(), from: readSide(a), to: readSide(a)}
	return m.runOrNull(c, a)
}

func rpoplpush(c *Ctx) error {
	a := c.Args()
	m := moveCall{source: a.Key(), destination: a.Key(), from: list.Right, to: list.Left}
	return m.runOrNull(c, a)
}

func blmove(c *Ctx) error {
	a := c.Args()
	m := moveCall{source: a.Key(), destination: a.Key(), from: readSide(a), to: readSide(a)}
	return m.runOrWait(c, a)
}

func brpoplpush(c *Ctx) error {
	a := c.Args()
	m := moveCall{source: a.Key(), destination: a.Key(), from: list.Right, to: list.Left}
	return m.runOrWait(c, a)
}

func (m *moveCall) runOrNull(c *Ctx, a *Scanner) error {
	if err := a.Err(); err != nil {
		return err
	}
	if done, err := m.run(c); done || err != nil {
		return err
	}
	c.Out.Null()
	return nil
}

// runOrWait moves an element, or makes the client wait until it can. It reads the timeout from a.
func (m *moveCall) runOrWait(c *Ctx, a *Scanner) error {
	m.waits = true
	deadlineMS := a.Deadline(c.CeilNowMS())
	if err := a.Err(); err != nil {
		return err
	}
	if done, err := m.run(c); done || err != nil {
		return err
	}
	if !c.MayBlock { // differs from the reply at the end of a wait, as in Redis
		c.Out.Null()
		return nil
	}
	own := moveCall{source: Clone(m.source), destination: Clone(m.destination), from: m.from, to: m.to, waits: true}
	return c.Block(Wait{Keys: [][]byte{own.source}, Kind: store.List, DeadlineMS: deadlineMS, Try: own.run,
		TimedOut: func(c *Ctx) { c.Out.NullArray() }})
}

// run moves an element and reports whether there was one; if not, nothing is written. If the destination has
// another type, the call fails and the element stays.
func (m *moveCall) run(c *Ctx) (done bool, err error) {
	source, ok := c.DB.OpenList(m.source)
	if m.waits && ok {
		c.DB.FindToWrite(m.source)
	}
	switch {
	case !ok:
		return false, ErrWrongType
	case source.List() == nil:
		return false, nil
	case string(m.source) == string(m.destination):
		c.DB.FindToWrite(m.destination) // counts as another use, as in Redis
		i := 0
		if m.from == list.Right {
			i = -1
		}
		v, _ := source.List().Index(i)
		writeElement(c.Out, v)
		source.Rotate(m.from, m.to)
		m.notify(c, false)
		return true, nil
	}
	destination, ok := c.DB.OpenList(m.destination)
	if !ok {
		return false, ErrWrongType
	}
	was := c.DB.Store().Dirty()
	var element []byte
	source.Pop(m.from, 1, func(v list.Value) { element = v.Append(nil) })
	c.Out.Bulk(element)
	destination.Push(m.to, element)
	c.DB.Store().Recount(was, 1)
	m.notify(c, source.List() == nil)
	return true, nil
}

// notify sends the events of a move, first that of the destination. gone says that the source was removed
// with its last element.
func (m *moveCall) notify(c *Ctx, gone bool) {
	c.Notify(keyevent.List, pushEvents[m.to], m.destination)
	c.NotifyTaken(keyevent.List, popEvents[m.from], m.source, gone)
}
