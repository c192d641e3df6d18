package commands

import (
	"lockserver/internal/decimal"
	"lockserver/internal/keyevent"
	"lockserver/store"
)

// A latch is the string that Redisson's RCountDownLatch keeps: how many counts are left. A latch without a
// key is open. Redisson's clients wait for a message on the latch's channel. Native waiters are woken by the
// change of the key, whatever caused it.
const latchChannel = "redisson_countdownlatch__channel__"

// LatchMode is the mode of a latch, where those of locks are shown.
const LatchMode = "latch"

// The messages of that channel: the latch is open, or it has a new count.
var latchOpened, latchClosed = []byte("0"), []byte("1")

// announceLatch sends a message to Redisson's waiters. Their channel has the key in braces in any case.
func announceLatch(c *Ctx, key, message []byte) {
	if !c.Host.AnyoneListens() {
		return
	}
	channel := append(make([]byte, 0, 128), latchChannel...)
	channel = append(append(append(channel, '{'), key...), '}')
	c.Host.Publish(channel, message)
}

// latchCount returns the count of what is at a key; 0 and less is open. exists: there is something.
func latchCount(r store.Ref) (count int64, exists bool, err error) {
	switch {
	case !r.OK():
		return 0, false, nil
	case !r.Is(store.String):
		return 0, false, ErrWrongType
	}
	count, ok := decimal.ParseInt(r.Bytes())
	if !ok {
		return 0, false, ErrNotInteger
	}
	return count, true, nil
}

// Latch is a latch that is closed.
type Latch struct {
	Count int64
	TTLMS int64 // until the key dies; -1: it has no deadline
}

// FindLatch returns the latch at a key that clients wait for; ok is false if there is none. Without waiters a
// latch is a number like any other.
func FindLatch(c *Ctx, key []byte) (l Latch, ok bool) {
	if c.Queues.LatchAwaited(c.DB.ID(), key) == 0 {
		return l, false
	}
	r := c.DB.Peek(key)
	count, _, err := latchCount(r)
	if err != nil || count <= 0 {
		return l, false
	}
	of := LockState{DeadlineMS: r.DeadlineMS()}
	return Latch{count, of.TTLMS(c.DB.Store().NowUS())}, true
}

// openLatch removes a latch that is closed, which opens it.
func openLatch(c *Ctx, key []byte) {
	c.DB.Delete(key)
	announceLatch(c, key, latchOpened)
	c.Notify(keyevent.Generic, "del", key)
}

// readCounts reads a number of counts, which is at least 1.
func readCounts(a *Scanner) int64 {
	n := a.Int()
	if a.Err() == nil && n < 1 {
		a.Fail(ErrNotPositive)
	}
	return n
}

// latchSet closes a latch that does not exist: it gets a count.
func latchSet(c *Ctx) error {
	a := c.Args()
	key, n := a.Key(), readCounts(a)
	if err := a.Err(); err != nil {
		return err
	}
	r := c.DB.FindToWrite(key)
	switch {
	case !r.Is(store.String):
		return ErrWrongType
	case r.OK():
		c.Out.Int(0)
		return nil
	}
	c.DB.SetInt(key, n)
	announceLatch(c, key, latchClosed)
	c.Notify(keyevent.String, "set", key)
	c.Out.Int(1)
	return nil
}

// latchDown takes counts from a latch. The last one removes the key.
func latchDown(c *Ctx) error {
	a := c.Args()
	key, n := a.Key(), int64(1)
	if a.More() {
		n = readCounts(a)
	}
	if a.More() {
		a.Syntax()
	}
	if err := a.Err(); err != nil {
		return err
	}
	count, exists, err := latchCount(c.DB.FindToWrite(key))
	if err != nil {
		return err
	}
	left := max(0, max(0, count)-n)
	switch {
	case !exists:
	case left > 0:
		c.DB.SetInt(key, left)
		c.Notify(keyevent.String, "incrby", key) // as of DECR
	default:
		c.DB.Delete(key)
		if count > 0 {
			announceLatch(c, key, latchOpened)
		}
		c.Notify(keyevent.String, "incrby", key)
		c.Notify(keyevent.Generic, "del", key)
	}
	c.Out.Int(left)
	return nil
}

// latchGet replies how many counts are left.
func latchGet(c *Ctx) error {
	count, _, err := latchCount(c.DB.Find(c.Args().Key()))
	if err != nil {
		return err
	}
	c.Out.Int(max(0, count))
	return nil
}

// latchWait replies 1 if the latch is open, or waits for that. All waiters of a latch can go at the same time
// or none can, so a strict queue, in which only the first one tries, is enough.
func latchWait(c *Ctx) error {
	a := c.Args()
	key, waits, waitMS := a.Key(), false, int64(0)
	for a.More() {
		a.Option() // WAIT is the only one
		if waits {
			a.Syntax()
		}
		waits, waitMS = true, readWaitMS(a)
	}
	if err := a.Err(); err != nil {
		return err
	}
	count, _, err := latchCount(c.DB.Find(key))
	if err != nil {
		return err
	}
	if count <= 0 || !waits {
		replyOpen(c, count <= 0)
		return nil
	}
	own := Clone(key)
	return c.Block(Wait{Keys: [][]byte{own}, DeadlineMS: c.WaitEndMS(waitMS), Queue: true, Latch: true,
		Try: func(c *Ctx) (bool, error) {
			count, _, err := latchCount(c.DB.Peek(own))
			if err != nil || count > 0 {
				return err != nil, err
			}
			replyOpen(c, true)
			return true, nil
		},
		TimedOut: func(c *Ctx) { replyOpen(c, false) }})
}

func replyOpen(c *Ctx, open bool) {
	if open {
		c.Out.Int(1)
	} else {
		c.Out.Int(0)
	}
}

// readWaitMS reads how many milliseconds to wait; 0: without limit.
func readWaitMS(a *Scanner) int64 {
	ms := a.IntOr(ErrTimeout)
	if ms < 0 {
		a.Fail(ErrTimeoutSign)
	}
	return ms
}
