package client

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// keeper owns the locks, the waits and the debts of a client, and has a shard for each server that they are
// at. A plain server is the only shard.
type keeper struct {
	client *Client
	lease  time.Duration // of a lock that the server renews
	// Close ends these in turn. closing: no new call begins. leaving: the held locks are being released, and
	// calls that wait for a lock return. ended: all locks are released, and the connections end.
	closing, leaving, ended context.Context
	shut, leave, end        context.CancelFunc
	running                 sync.WaitGroup // shards with a goroutine; mu is held to add one
	calls                   sync.WaitGroup // calls for a lock that have not returned; mu is held to add one

	mu      sync.Mutex // guards the fields of shards, waits and debts, too
	shards  shards
	waits   map[place]*wait       // requests for locks that are not over
	latches map[string]*latchWait // latches that are awaited, by key
	holds   map[lockName]*hold
	byKey   map[string]*hold    // the latest one of each key
	taken   map[lockName]bool   // locks of calls that have not registered a hold
	strays  map[lockName]string // losses of locks that no hold is registered for yet, by their reason
	early   map[lockName]string // reasons of LOCK.ASK for locks that no hold is registered for yet
	debts   int                 // unpaid and sent
	free    chan struct{}       // not nil: closed when there are no debts
	made    uint64              // owners so far
	asked   uint64              // requests so far
	foreign chan struct{}       // closed, and made anew, each time that an attempt finds no lockserver
}

// lockName identifies a lock that is held. Two shards may give the same token.
type lockName struct {
	key   string
	token int64
}

const (
	// defaultLease is the server's own default, for users that may not ask for the server's setting.
	defaultLease = 30 * time.Second
	// mostStrays bounds the losses that are stored for holds that are about to be registered.
	mostStrays = 1024
	// pause is the time between two attempts to connect; it grows up to longestPause.
	pause, longestPause = 20 * time.Millisecond, time.Second
)

func newKeeper(c *Client) (*keeper, error) {
	k := &keeper{client: c, lease: defaultLease, foreign: make(chan struct{}), waits: make(map[place]*wait), latches: make(map[string]*latchWait),
		holds: make(map[lockName]*hold), byKey: make(map[string]*hold), taken: make(map[lockName]bool), strays: make(map[lockName]string), early: make(map[lockName]string)}
	k.closing, k.shut = context.WithCancel(context.Background())
	k.leaving, k.leave = context.WithCancel(context.Background())
	k.ended, k.end = context.WithCancel(context.Background())
	limited, cancel := context.WithTimeoutCause(k.ended, c.limit, ErrNoAnswer)
	defer cancel()
	s, w, err := k.first(limited)
	if err != nil {
		k.shut()
		k.leave()
		k.end()
		return nil, err
	}
	reply, err := w.do(limited, "CONFIG", "GET", "lock-watchdog-timeout")
	if setting, _ := reply.([]any); err == nil && len(setting) == 2 {
		if ms, err := strconv.Atoi(fmt.Sprint(setting[1])); err == nil {
			k.lease = time.Duration(ms) * time.Millisecond
		}
	}
	k.begin(s, w)
	return k, nil
}

// sureFor returns how long a lease that the server renews lasts at least, counted from the sending of an
// answered command. The server renews a lease when a third of it is over.
func (k *keeper) sureFor() time.Duration { return k.lease*2/3 - k.lease/20 }

// held returns the present holds.
func (k *keeper) held() []*hold {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.heldAt(nil)
}

// heldAt returns the present holds at a shard; nil: at all of them. The caller holds mu.
func (k *keeper) heldAt(s *shard) []*hold {
	list := make([]*hold, 0, len(k.holds))
	for name, h := range k.holds {
		if name == h.name(0) && (s == nil || h.shard == s) { // a hold of several keys comes more than once
			list = append(list, h)
		}
	}
	return list
}

// wasLost handles the push that a lock was lost.
func (k *keeper) wasLost(lock lockName, reason string) {
	k.mu.Lock()
	h := k.holds[lock]
	if h == nil {
		if len(k.strays) >= mostStrays {
			clear(k.strays)
		}
		k.strays[lock] = reason
	}
	k.mu.Unlock()
	if h != nil {
		h.lose(lock.key, lock.token, reason)
	}
}

// newOwner returns a name that no other owner has.
func (k *keeper) newOwner() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made++
	return k.client.name + ":" + strconv.FormatUint(k.made, 10)
}

// keep registers a hold; ok is false if it is lost already.
func (k *keeper) keep(h *hold) (reason string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.taken, h.name(0))
	if k.closing.Err() != nil {
		return closed, false
	}
	if h.shard.lapsed && h.lease == 0 {
		return unreachable, false
	}
	for i := range h.keys {
		if reason, lost := k.strays[h.name(i)]; lost {
			return reason, false
		}
	}
	for i, key := range h.keys {
		k.holds[h.name(i)] = h
		k.byKey[key] = h
	}
	for i := range h.keys {
		if reason, asked := k.early[h.name(i)]; asked {
			delete(k.early, h.name(i))
			h.ask(reason)
		}
	}
	if h.shard.over { // meanwhile another one serves its keys
		k.moveHold(h, k.instead(h.shard, h.keys[0]))
	}
	return "", true
}

// forget removes a hold.
func (k *keeper) forget(h *hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h.assured()
	for i, key := range h.keys {
		if k.holds[h.name(i)] == h {
			delete(k.holds, h.name(i))
		}
		if k.byKey[key] == h {
			delete(k.byKey, key)
		}
	}
}

// latchWait is shared by the calls that wait for the same latch.
type latchWait struct {
	users int           // guarded by mu of the keeper
	open  chan struct{} // closed when the wait is over; err says how
	err   error
	stop  context.CancelFunc
}
