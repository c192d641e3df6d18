package commands

import (
	"lockserver/internal/decimal"
	"lockserver/internal/keyevent"
	"lockserver/store"
)

// A latch is the string of Redisson's RCountDownLatch: the number of counts that are left. Without a key the
// latch is open. Redisson's clients wait for a message on the latch's channel. Native waiters are woken by
// any change of the key.
const latchChannel = "redisson_countdownlatch__channel__"

// LatchMode is the mode of a latch in lists of locks.
const LatchMode = "latch"

// The messages of that channel: the latch is open, or it has a new count.
var latchOpened, latchClosed = []byte("0"), []byte("1")

// announceLatch sends a message to Redisson's waiters. Their channel always has the key in braces.
func announceLatch(c *Ctx, key, message []byte) {
	if !c.Host.AnyoneListens() {
		return
	}
	channel := append(make([]byte, 0, 128), latchChannel...)
	channel = append(append(append(channel, '{'), key...), '}')
	c.Host.Publish(channel, message)
}

// latchCount returns the count of a latch, which is open at 0 and below. exists reports whether the key
// exists.
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

// Latch is a closed latch.
type Latch struct {
	Count int64
	TTLMS int64 // the time until the key expires, or -1
}

// FindLatch returns the closed latch at a key for which clients wait, or false. Without waiters it returns
// false, because a latch is then a number like any other.
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

// openLatch opens a closed latch by removing its key.
func openLatch(c *Ctx, key []byte) {
	c.DB.Delete(key)
	announceLatch(c, key, latchOpened)
	c.Notify(keyevent.Generic, "del", key)
}

// readCounts reads a number of counts, at least 1.
func readCounts(a *Scanner) int64 {
	n := a.Int()
	if a.Err() == nil && n < 1 {
		a.Fail(ErrNotPositive)
	}
	return n
}

// latchSet closes a latch that does not exist, by giving it a count.
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
	c.DB.EditString(key).SetInt(n)
	announceLatch(c, key, latchClosed)
	c.Notify(keyevent.String, "set", key)
	c.Out.Int(1)
	return nil
}

// latchDown subtracts counts from a latch. The last count removes the key.
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
		c.DB.EditString(key).SetInt(left)
		c.Notify(keyevent.String, "incrby", key) // the event of DECR
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

// latchGet replies the number of counts that are left.
func latchGet(c *Ctx) error {
	count, _, err := latchCount(c.DB.Find(c.Args().Key()))
	if err != nil {
		return err
	}
	c.Out.Int(max(0, count))
	return nil
}

// latchWait replies 1 if the latch is open, or waits until it is. Either all waiters of a latch can go or no
// waiter can. So a strict queue, in which only the head tries, is enough.
func latchWait(c *Ctx) error {
	a := c.Args()
	key, waits, waitMS := a.Key(), false, int64(0)
	for a.More() {
		a.Option() // WAIT is the only option
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

// readWaitMS reads the longest time to wait in milliseconds. 0 means no limit.
func readWaitMS(a *Scanner) int64 {
	ms := a.IntOr(ErrTimeout)
	if ms < 0 {
		a.Fail(ErrTimeoutSign)
	}
	return ms
}
