package commands

import (
	"bytes"
	"math"

	"lockserver/internal/decimal"
	"lockserver/store"
	"lockserver/store/list"
)

// What Redisson keeps and says beside the hash of a lock, so that its clients and ours can share one. None
// of it is looked up unless the database has a key that begins with store.CompanionPrefix.
const (
	redissonChannel  = "redisson_lock__channel"          // RLock: who waits listens here for unlockMessage
	redissonToken    = store.CompanionPrefix + "token"   // RFencedLock: a string, the last token
	redissonQueue    = store.CompanionPrefix + "queue"   // RFairLock: a list of the owners that wait
	redissonTimeouts = store.CompanionPrefix + "timeout" // RFairLock: a sorted set, until when (ms) each keeps its place
)

// unlockMessage is what Redisson publishes when a lock is released.
var unlockMessage = []byte("0")

// companion appends the name that Redisson gives to what belongs to a lock. It has the key in braces, so
// that a cluster keeps both in one place, unless the key has braces of its own.
func companion(dst []byte, name string, key []byte) []byte {
	dst = append(append(dst, name...), ':')
	if bytes.IndexByte(key, '{') >= 0 {
		return append(dst, key...)
	}
	return append(append(append(dst, '{'), key...), '}')
}

// LocksOf returns the two names that the lock of a companion can have; an empty one stands for none.
func LocksOf(companionKey []byte) (bare, whole []byte) {
	_, whole, ok := bytes.Cut(companionKey, []byte{':'})
	if !ok {
		return nil, nil
	}
	if n := len(whole); n > 2 && whole[0] == '{' && whole[n-1] == '}' {
		bare = whole[1 : n-1]
	}
	return bare, whole
}

// announce tells Redisson's clients that a lock has been released: all waiters, the one that is next, and
// with the message tell those of an RReadWriteLock.
func announce(c *Ctx, key, tell []byte) {
	channel := companion(make([]byte, 0, 128), redissonChannel, key)
	c.Host.Publish(channel, unlockMessage)
	if head, _ := fairHead(c, key); head != nil {
		c.Host.Publish(append(append(channel, ':'), head...), unlockMessage)
	}
	c.Host.Publish(companion(channel[:0], rwChannel, key), tell)
}

// fairHead returns the first live waiter in RFairLock's queue of a lock, and when (in milliseconds since
// 1970) it is live no longer; nil if there is none. One that has no timeout is not live. It takes time in
// proportion to the expired waiters at the front; Redisson's scripts remove those, and so does clearFair.
func fairHead(c *Ctx, key []byte) (owner []byte, untilMS int64) {
	if !c.DB.HasCompanions() {
		return nil, 0
	}
	var name [128]byte
	r := c.DB.Peek(companion(name[:0], redissonQueue, key))
	if !r.OK() || !r.Is(store.List) {
		return nil, 0
	}
	queue := r.List()
	r = c.DB.Peek(companion(name[:0], redissonTimeouts, key))
	if !r.OK() || !r.Is(store.ZSet) {
		return nil, 0
	}
	timeouts, nowMS := r.ZSet(), float64(c.NowMS())
	queue.Range(0, queue.Len(), list.Right, func(v list.Value) bool {
		name := v.Append(nil)
		until, ok := timeouts.Score(name)
		if !ok || until <= nowMS {
			return true
		}
		owner, untilMS = name, math.MaxInt64
		if until < 1<<62 {
			untilMS = int64(math.Ceil(until))
		}
		return false
	})
	return owner, untilMS
}

// tryAgain makes a parked call try again when those waiters of Redisson that stand before it lose their
// places. What they do themselves wakes it anyway.
func (l *lockCall) tryAgain(c *Ctx) {
	if !c.DB.HasCompanions() {
		return
	}
	for _, key := range l.keys {
		if head, untilMS := fairHead(c, key); head != nil {
			c.Host.TryAgainAt(c, key, untilMS)
		}
	}
}

// mostCleared is how many dead waiters one call of clearFair removes.
const mostCleared = 128

// clearFair removes expired waiters from the front of RFairLock's queue, as its scripts do before they look.
// It is for calls that change something anyway.
func clearFair(c *Ctx, key []byte) {
	if !c.DB.HasCompanions() {
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

// leaveFair takes an owner that has got the lock out of RFairLock's queue, in which it was the first.
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

// fence returns the last token of RFencedLock, which a new one must exceed; 0: there is none. An error says
// that what is there is no token, or the last one possible.
func fence(c *Ctx, key []byte) (token int64, err error) {
	if !c.DB.HasCompanions() {
		return 0, nil
	}
	var name [128]byte
	r := c.DB.Peek(companion(name[:0], redissonToken, key))
	if !r.OK() {
		return 0, nil
	}
	if !r.Is(store.String) {
		return 0, ErrWrongType
	}
	token, ok := decimal.ParseInt(r.Bytes())
	switch {
	case !ok:
		return 0, ErrNotInteger
	case !store.TokenCanRise(c.NowMS()*1000, token):
		return 0, ErrTokenRange
	}
	return max(token, 0), nil
}

// keepFence writes a new token back where RFencedLock counts, if it does. What is no counter is left alone.
func keepFence(c *Ctx, key []byte, token int64) {
	if !c.DB.HasCompanions() {
		return
	}
	var name [128]byte
	counter := companion(name[:0], redissonToken, key)
	if r := c.DB.Peek(counter); r.OK() && r.Is(store.String) {
		c.DB.SetInt(counter, token)
	}
}

// locksOwnCounter reports whether keys that are to be locked together name a lock and the counter of its
// tokens. A key cannot be both: the one that is taken first would be in the way of the other, which no look
// at the data can tell before. The order of the keys makes no difference.
func locksOwnCounter(keys [][]byte) bool {
	var counters map[string]bool
	for _, key := range keys {
		if store.IsCompanion(key) {
			if counters == nil {
				counters = map[string]bool{}
			}
			counters[string(key)] = true
		}
	}
	if counters == nil {
		return false
	}
	var name [128]byte
	for _, key := range keys {
		if counters[string(companion(name[:0], redissonToken, key))] {
			return true
		}
	}
	return false
}
