package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// keeper owns the connection that is attached to the client's owners. It makes the connection, replaces a
// broken one, sends requests for locks, and receives grants and losses.
type keeper struct {
	client *Client
	lease  time.Duration // of a lock that the server renews
	// Close ends these in turn. closing: no new call begins. leaving: the held locks are being released, and
	// calls that wait for a lock return. ended: all locks are released, and the connection ends.
	closing, leaving, ended context.Context
	shut, leave, end        context.CancelFunc
	gone                    chan struct{}  // closed when run has returned
	calls                   sync.WaitGroup // calls for a lock that have not returned; mu is held to add one

	mu       sync.Mutex
	wire     *wire                 // nil: no connection
	waits    map[place]*wait       // requests for locks that are not over
	latches  map[string]*latchWait // latches that are awaited, by key
	holds    map[int64]*hold       // by token
	byKey    map[string]*hold      // the latest one of each key
	strays   map[int64]string      // losses of tokens that no hold is registered for yet, by their reason
	unpaid   []debt                // commands that have to be done and were not answered
	debts    int                   // unpaid and sent
	free     chan struct{}         // not nil: closed when there are no debts
	made     uint64                // owners so far
	asked    uint64                // requests so far
	answered time.Time             // when the last command that the server has answered was sent
	patience *time.Timer           // runs out when the server has not answered for as long as leases are sure to last
	lapsed   bool                  // patience has run out, and the server has not answered since
	resumed  bool                  // this process was stopped until now, and the server has not answered since
	refused  error                 // why the last attempt to connect has failed; nil if it has not failed
	foreign  chan struct{}         // closed, and made anew, each time that an attempt finds no lockserver
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
	k := &keeper{client: c, lease: defaultLease, gone: make(chan struct{}), foreign: make(chan struct{}), waits: make(map[place]*wait), latches: make(map[string]*latchWait),
		holds: make(map[int64]*hold), byKey: make(map[string]*hold), strays: make(map[int64]string)}
	k.closing, k.shut = context.WithCancel(context.Background())
	k.leaving, k.leave = context.WithCancel(context.Background())
	k.ended, k.end = context.WithCancel(context.Background())
	limited, cancel := context.WithTimeoutCause(k.ended, c.limit, ErrNoAnswer)
	defer cancel()
	w, err := k.connect(limited)
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
	k.mu.Lock()
	k.patience = time.AfterFunc(k.sureFor(), k.giveUp)
	k.mu.Unlock()
	c.connected(nil, true)
	go k.run(w)
	return k, nil
}

// connect makes the connection, attaches it to the client's owners, and sends the commands that the former
// connection has left undone.
func (k *keeper) connect(ctx context.Context) (*wire, error) {
	w, err := dialWire(ctx, k.client.server, k.client.name, k.onPush)
	if err == nil {
		err = k.takeUp(ctx, w)
	}
	k.mu.Lock()
	k.refused = err
	if err != nil && k.wire == w {
		k.wire = nil
	}
	if errors.Is(replied(err), ErrNotLockserver) {
		k.endForeign()
	}
	k.mu.Unlock()
	if err == nil {
		return w, nil
	}
	if w != nil {
		w.close(err)
	}
	return nil, err
}

// takeUp continues the locks and waits of the former connection on a new one. A lock that the server no
// longer has is lost.
func (k *keeper) takeUp(ctx context.Context, w *wire) error {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	sent := time.Now()
	if _, err := w.do(ctx, "LOCK.ATTACH", "PREFIX", k.client.name+":"); err != nil {
		return err
	}
	k.hear(sent)
	k.mu.Lock()
	k.wire = w // from now on calls send by this connection
	unpaid := k.unpaid
	k.unpaid = nil
	for _, d := range unpaid {
		k.send(d)
	}
	var checks []check
	for _, h := range k.heldLocked() {
		checks = append(checks, h.check(w)...)
	}
	k.askAll(w) // after the checks: very many replies may take longer than the checks have time
	k.mu.Unlock()
	for _, c := range checks {
		if err := c.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// run keeps the connection until the keeper ends.
func (k *keeper) run(w *wire) {
	defer close(k.gone)
	defer k.patience.Stop()
	for k.ended.Err() == nil {
		made := time.Now()
		k.watch(w)
		k.mu.Lock()
		k.wire = nil
		k.mu.Unlock()
		k.client.connected(w.reason(), false)
		if time.Since(made) < longestPause {
			k.rest(pause)
		}
		w = k.reconnect()
	}
}

// rest waits for a time, or until the keeper ends.
func (k *keeper) rest(d time.Duration) {
	select {
	case <-time.After(d):
	case <-k.ended.Done():
	}
}

// sureFor returns how long a lease that the server renews lasts at least, counted from the sending of an
// answered command. The server renews a lease when a third of it is over.
func (k *keeper) sureFor() time.Duration { return k.lease*2/3 - k.lease/20 }

// reconnect returns the next connection, or nil if the keeper ends first.
func (k *keeper) reconnect() *wire {
	for wait := pause; k.ended.Err() == nil; wait = min(2*wait, longestPause, k.lease/10) {
		w, err := k.connect(k.ended)
		if err == nil {
			k.client.connected(nil, false)
			return w
		}
		k.rest(wait)
	}
	return nil
}

// giveUp counts the locks that the server renews as lost if the server has been silent for too long, because
// their leases may have ended. It ends the waits, too.
func (k *keeper) giveUp() {
	k.mu.Lock()
	left := time.Until(k.answered.Add(k.sureFor()))
	if -left > k.lease/6 && k.wire != nil && !k.resumed {
		// The timer is late, so this process was stopped. The connection may still work: the server is asked
		// first.
		k.resumed, left = true, k.lease/6
	}
	if left > 0 && k.ended.Err() == nil {
		k.patience.Reset(left)
	}
	if left > 0 || k.ended.Err() != nil {
		k.mu.Unlock()
		return
	}
	k.lapsed = true
	k.endWaits()
	k.mu.Unlock()
	for _, h := range k.held() {
		if h.lease == 0 {
			h.lose(h.keys[0], h.tokens[0], unreachable)
		}
	}
}

// held returns the present holds.
func (k *keeper) held() []*hold {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.heldLocked()
}

// heldLocked is held; the caller holds mu.
func (k *keeper) heldLocked() []*hold {
	list := make([]*hold, 0, len(k.holds))
	for _, h := range k.holds {
		list = append(list, h) // a hold of several keys comes more than once
	}
	return list
}

// watch asks the server for a sign of life now and then, until there is no answer.
func (k *keeper) watch(w *wire) {
	tick := time.NewTicker(k.lease / 6)
	defer tick.Stop()
	for {
		select {
		case <-w.broke:
			return
		case <-k.ended.Done():
			w.close(ErrClosed)
			return
		case <-tick.C:
		}
		if sent := time.Now(); w.alive(k.ended, k.lease/6) {
			k.hear(sent)
		}
	}
}

// hear records that the server has answered a command that was sent at this time.
func (k *keeper) hear(sent time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answered, k.resumed = sent, false
	if k.lapsed {
		k.lapsed = false
		k.patience.Reset(k.sureFor())
	}
}

// onPush handles a push: lock-lost, lock-granted or lock-refused, limit-granted or limit-refused. A push has
// one key or several, one token or several, or a reason, and so on.
func (k *keeper) onPush(w *wire, message push) {
	if len(message) < 4 {
		return
	}
	keys, many := textsOf(message[1])
	owner := fmt.Sprint(message[3])
	if len(keys) == 0 {
		return
	}
	switch message[0] {
	case "lock-lost":
		token, _ := message[2].(int64)
		k.wasLost(keys[0], token, fmt.Sprint(message[3])) // the reason
	case "lock-granted":
		if tokens := tokensOf(message[2]); len(tokens) == len(keys) {
			k.wasGranted(w, keys, many, tokens, owner)
		}
	case "limit-granted":
		if numbers := tokensOf(message[2]); len(numbers) == takenNumbers {
			k.wasTaken(w, keys[0], numbers, owner)
		}
	case "lock-refused", "limit-refused":
		k.wasRefused(w, keys[0], fmt.Sprint(message[2]), owner)
	}
}

// textsOf returns the keys of a push, and whether they are an array.
func textsOf(v any) (texts []string, many bool) {
	list, many := v.([]any)
	if !many {
		return []string{fmt.Sprint(v)}, false
	}
	for _, item := range list {
		texts = append(texts, fmt.Sprint(item))
	}
	return texts, true
}

// wasLost handles the push that a lock was lost.
func (k *keeper) wasLost(key string, token int64, reason string) {
	k.mu.Lock()
	h := k.holds[token]
	if h == nil {
		if len(k.strays) >= mostStrays {
			clear(k.strays)
		}
		k.strays[token] = reason
	}
	k.mu.Unlock()
	if h != nil {
		h.lose(key, token, reason)
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
	if k.closing.Err() != nil {
		return closed, false
	}
	if k.lapsed && h.lease == 0 {
		return unreachable, false
	}
	for _, token := range h.tokens {
		if reason, lost := k.strays[token]; lost {
			return reason, false
		}
	}
	for i, token := range h.tokens {
		k.holds[token] = h
		k.byKey[h.keys[i]] = h
	}
	return "", true
}

// forget removes a hold.
func (k *keeper) forget(h *hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, token := range h.tokens {
		if k.holds[token] == h {
			delete(k.holds, token)
		}
		if key := h.keys[i]; k.byKey[key] == h {
			delete(k.byKey, key)
		}
	}
}

// sync returns when all pushes that the server has sent so far have been read, or after a short time.
func (k *keeper) sync(ctx context.Context) {
	k.mu.Lock()
	w := k.wire
	k.mu.Unlock()
	if w == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, k.client.limit)
	defer cancel()
	select {
	case <-w.send("PING"):
	case <-limited.Done():
	}
}

// latchWait is shared by the calls that wait for the same latch.
type latchWait struct {
	users int           // guarded by mu of the keeper
	open  chan struct{} // closed when the wait is over; err says how
	err   error
	stop  context.CancelFunc
}
