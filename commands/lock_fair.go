package commands

import (
	"bytes"

	"lockserver/store"
	"lockserver/store/list"
)

// tryAgain makes a parked call try again at the time when the waiters of Redisson before it lose their
// places. Any other change by Redisson's clients wakes it anyway.
func (l *lockCall) tryAgain(c *Ctx) {
	if !c.DB.Keys().HasCompanions() {
		return
	}
	for _, key := range l.keys {
		if head, untilMS := fairHead(c, key); head != nil {
			c.Host.TryAgainAt(c, key, untilMS)
		}
	}
}

// mostCleared is the largest number of expired waiters that a call of clearFair removes.
const mostCleared = 128

// clearFair removes expired waiters from the front of RFairLock's queue, as Redisson's scripts do before they
// look. It is for calls that change data anyway.
func clearFair(c *Ctx, key []byte) {
	if !c.DB.Keys().HasCompanions() {
		return
	}
	var name, other [128]byte
	queueKey, timeoutsKey := companion(name[:0], redissonQueue, key), companion(other[:0], redissonTimeouts, key)
	for range mostCleared {
		q, t := c.DB.Peek(queueKey), c.DB.Peek(timeoutsKey)
		if !q.OK() || !q.Is(store.List) || !t.OK() || !t.Is(store.ZSet) {
			return
		}
		var head []byte
		q.List().Range(0, 1, list.Right, func(v list.Value) bool {
			head = v.Append(nil)
			return false
		})
		if until, ok := t.ZSet().Score(head); !ok || until > float64(c.NowMS()) {
			return
		}
		queue, timeouts := c.DB.EditList(queueKey), c.DB.EditZSet(timeoutsKey)
		queue.RemoveEqual(head, list.Left, 1)
		timeouts.Remove(head)
	}
}

// leaveFair removes the head of RFairLock's queue if that is the owner, because it now has the lock.
func (l *lockCall) leaveFair(c *Ctx, key []byte) {
	head, _ := fairHead(c, key)
	if head == nil || !bytes.Equal(head, l.owner) {
		return
	}
	var name [128]byte
	queue := c.DB.EditList(companion(name[:0], redissonQueue, key))
	queue.RemoveEqual(head, list.Left, 1)
	timeouts := c.DB.EditZSet(companion(name[:0], redissonTimeouts, key))
	timeouts.Remove(head)
}
