package commands

import (
	"bytes"
	"math"

	"lockserver/internal/decimal"
	"lockserver/store"
	"lockserver/store/list"
)

// The keys and messages that Redisson uses besides the hash of a lock, so that its clients and ours can share
// one. None of the keys is looked up unless the database has a key that begins with store.CompanionPrefix.
const (
	redissonChannel  = "redisson_lock__channel"          // RLock: waiters subscribe to it for unlockMessage
	redissonToken    = store.CompanionPrefix + "token"   // RFencedLock: a string, the last token
	redissonQueue    = store.CompanionPrefix + "queue"   // RFairLock: a list of the waiting owners
	redissonTimeouts = store.CompanionPrefix + "timeout" // RFairLock: a sorted set, the time (ms) at which each loses its place
)

// unlockMessage is the message that Redisson publishes when a lock is released.
var unlockMessage = []byte("0")

// companion appends Redisson's name for a key beside a lock. The lock's key is in braces there, so that a
// cluster keeps both in one slot, unless it has braces of its own.
func companion(dst []byte, name string, key []byte) []byte {
	dst = append(append(dst, name...), ':')
	if bytes.IndexByte(key, '{') >= 0 {
		return append(dst, key...)
	}
	return append(append(append(dst, '{'), key...), '}')
}

// LocksOf returns the two possible names of the lock to which a companion belongs. A name is empty if there
// is no such lock.
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

// announce sends Redisson's clients the messages of a release: one to all waiters, one to the next waiter of
// an RFairLock, and tell to those of an RReadWriteLock.
func announce(c *Ctx, key, tell []byte) {
	channel := companion(make([]byte, 0, 128), redissonChannel, key)
	c.Host.Publish(channel, unlockMessage)
	if head, _ := fairHead(c, key); head != nil {
		c.Host.Publish(append(append(channel, ':'), head...), unlockMessage)
	}
	c.Host.Publish(companion(channel[:0], rwChannel, key), tell)
}

// fairHead returns the first live waiter in RFairLock's queue of a lock, and the end of its life in
// milliseconds since 1970. owner is nil if there is no live waiter. A waiter without a timeout is not live.
// The time is proportional to the expired waiters at the front; Redisson's scripts and clearFair remove
// those.
func fairHead(c *Ctx, key []byte) (owner []byte, untilMS int64) {
	if !c.DB.Keys().HasCompanions() {
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

// fence returns the last token of RFencedLock, which a new token must exceed, or 0 if there is none. It
// returns an error if the value is no token, or the last possible token.
func fence(c *Ctx, key []byte) (token int64, err error) {
	if !c.DB.Keys().HasCompanions() {
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

// keepFence stores a new token in RFencedLock's counter, if there is one. A value of another type is left
// alone.
func keepFence(c *Ctx, key []byte, token int64) {
	if !c.DB.Keys().HasCompanions() {
		return
	}
	var name [128]byte
	counter := companion(name[:0], redissonToken, key)
	if r := c.DB.Peek(counter); r.OK() && r.Is(store.String) {
		c.DB.EditString(counter).SetInt(token)
	}
}

// locksOwnCounter reports whether keys that are locked together contain a lock and the counter of its tokens,
// in any order. One key cannot be both: after the first is taken, the other cannot be. A check of the data
// before that would not find it.
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
