package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// keeper has the connection that vouches for the client's owners: it makes it, makes it anew, and hears of
// losses.
type keeper struct {
	client *Client
	lease  time.Duration // of a lock that the server renews
	// Close ends these in turn. closing: no call begins any more. leaving: what was held is being released,
	// and calls that wait for a lock return. ended: all of that is released, and the connection ends.
	closing, leaving, ended context.Context
	shut, leave, end        context.CancelFunc
	gone                    chan struct{}  // closed when run has returned
	calls                   sync.WaitGroup // calls for a lock that have not returned; mu is held to add one

	mu       sync.Mutex
	wire     *wire // nil: there is none
	owners   map[string]*vouched
	spare    []string         // owners that nobody is yet
	spent    []string         // owners that nobody is any more, for whom the server still has the connection vouch
	holds    map[int64]*hold  // by token
	strays   map[int64]string // losses of tokens that nobody has registered yet, by their reason
	unpaid   []debt           // commands that have to be done and were not answered
	debts    int              // unpaid and sent
	free     chan struct{}    // not nil: closed when there are no debts
	made     uint64           // owners so far
	answered time.Time        // when the server has answered for the last time
}

// debt is a command that has to be done, with what is to happen then; nil: nothing.
type debt struct {
	words []string
	paid  func()
}

// vouched is an owner for whom the connection vouches. done is closed when the server has said so for the
// first time, or has refused.
type vouched struct {
	once sync.Once
	done chan struct{}
	err  error
}

const (
	// defaultLease is the server's own default, for users who may not ask.
	defaultLease = 30 * time.Second
	// mostStrays bounds the losses that are remembered for those who are about to register.
	mostStrays = 1024
	// attachAtOnce is how many owners one command names at most, and ownersAhead how many are made together
	// before they are needed: the server goes through all of its locks for each such command, and who takes
	// a lock need not wait for it.
	attachAtOnce, ownersAhead = 500, 64
	// pause lies between two attempts to connect, longestPause at most.
	pause, longestPause = 20 * time.Millisecond, time.Second
)

func newKeeper(c *Client) (*keeper, error) {
	k := &keeper{client: c, lease: defaultLease, gone: make(chan struct{}), owners: make(map[string]*vouched),
		holds: make(map[int64]*hold), strays: make(map[int64]string)}
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
	c.hooks.connected(nil)
	go k.run(w)
	return k, nil
}

// connect makes the connection and has it vouch for the owners there are. What it vouches for in vain is
// lost.
func (k *keeper) connect(ctx context.Context) (*wire, error) {
	w, err := dialWire(ctx, k.client.server, k.client.name, k.told)
	if err != nil {
		return nil, err
	}
	// From here on attach sends by this connection. What it sends first is for those who came before.
	k.mu.Lock()
	owners := maps.Clone(k.owners)
	unpaid := k.unpaid
	k.unpaid = nil
	k.wire = w
	k.mu.Unlock()
	if err = k.takeUp(ctx, w, owners, unpaid); err != nil {
		k.mu.Lock()
		k.wire = nil
		k.mu.Unlock()
		w.close(err)
		return nil, err
	}
	return w, nil
}

// takeUp tells a new connection of what was there before.
func (k *keeper) takeUp(ctx context.Context, w *wire, owners map[string]*vouched, unpaid []debt) error {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	k.mu.Lock()
	for _, d := range unpaid {
		k.send(d)
	}
	k.mu.Unlock()
	if len(owners) == 0 { // it asks whether there is such a command
		_, err := w.do(ctx, "LOCK.DETACH", k.client.name)
		return err
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(owners)), attachAtOnce) {
		_, err := w.do(ctx, append([]string{"LOCK.ATTACH"}, some...)...)
		if !isReply(err) {
			return err
		}
		for _, owner := range some {
			owners[owner].said(err)
		}
	}
	for _, h := range k.held() {
		if err := h.check(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// run keeps the connection until the keeper ends.
func (k *keeper) run(w *wire) {
	defer close(k.gone)
	for k.ended.Err() == nil {
		k.watch(w)
		k.mu.Lock()
		k.wire, k.spent = nil, nil
		sure := time.Until(k.answered.Add(k.sureFor()))
		k.mu.Unlock()
		giveUp := time.AfterFunc(sure, k.giveUp)
		k.client.hooks.connected(w.reason())
		w = k.reconnect()
		giveUp.Stop()
	}
}

// sureFor is how long the leases of those whom the server vouched for last at least behind its last answer:
// it renews one when a third of it is over.
func (k *keeper) sureFor() time.Duration { return k.lease*2/3 - k.lease/20 }

// reconnect returns the next connection, or nil if the keeper ends first.
func (k *keeper) reconnect() *wire {
	for wait := pause; k.ended.Err() == nil; wait = min(2*wait, longestPause, k.lease/10) {
		w, err := k.connect(k.ended)
		if err == nil {
			k.client.hooks.connected(nil)
			return w
		}
		select {
		case <-time.After(wait):
		case <-k.ended.Done():
		}
	}
	return nil
}

// giveUp counts what the server renews as lost: its lease may have ended.
func (k *keeper) giveUp() {
	for _, h := range k.held() {
		if h.lease == 0 {
			h.lose(h.keys[0], h.tokens[0], unreachable)
		}
	}
}

// held is what is held now.
func (k *keeper) held() []*hold {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := make([]*hold, 0, len(k.holds))
	for _, h := range k.holds {
		list = append(list, h) // one of several keys more than once
	}
	return list
}

// watch asks the server for a sign of life now and then, until it gives none.
func (k *keeper) watch(w *wire) {
	k.hear()
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
			k.mu.Lock()
			k.dismiss()
			k.mu.Unlock()
		}
		ctx, cancel := context.WithTimeout(k.ended, k.lease/6)
		_, err := w.do(ctx, "PING")
		cancel()
		if err == nil {
			k.hear()
		}
	}
}

// quiet is for how long the server has not answered.
func (k *keeper) quiet() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Since(k.answered)
}

// hear notes that the server has answered.
func (k *keeper) hear() {
	k.mu.Lock()
	k.answered = time.Now()
	k.mu.Unlock()
}

// told takes what the server says unasked.
func (k *keeper) told(message push) {
	if len(message) != 4 || message[0] != "lock-lost" {
		return
	}
	key, reason := fmt.Sprint(message[1]), fmt.Sprint(message[3])
	token, _ := strconv.ParseInt(fmt.Sprint(message[2]), 10, 64)
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

// newOwner returns a name that no other owner has, and what becomes of vouching for it.
func (k *keeper) newOwner() (name string, v *vouched) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.spare) == 0 {
		k.makeOwners()
	}
	name, k.spare = k.spare[0], k.spare[1:]
	v = k.owners[name]
	if len(k.spare) == ownersAhead/4 {
		k.makeOwners()
	}
	return name, v
}

// makeOwners makes names for owners and has the connection vouch for them; the caller holds mu.
func (k *keeper) makeOwners() {
	v := &vouched{done: make(chan struct{})}
	words := []string{"LOCK.ATTACH"}
	for range ownersAhead {
		k.made++
		name := k.client.name + ":" + strconv.FormatUint(k.made, 10)
		k.owners[name] = v
		words = append(words, name)
	}
	k.spare = append(k.spare, words[1:]...)
	if k.wire == nil { // the next connection vouches for all
		return
	}
	w := k.wire
	came := w.send(words...)
	go func() {
		if a := <-came; isReply(a.err) {
			v.said(a.err)
		} else {
			w.close(a.err) // the next connection vouches for all
		}
	}()
}

// said notes what the server has said to LOCK.ATTACH for the first time.
func (v *vouched) said(err error) { v.once.Do(func() { v.err = replied(err); close(v.done) }) }

// detach has the connection vouch for an owner no longer, in a while.
func (k *keeper) detach(owner string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.owners, owner)
	if k.spent = append(k.spent, owner); len(k.spent) >= ownersAhead {
		k.dismiss()
	}
}

// dismiss tells the server of the owners that nobody is any more; the caller holds mu.
func (k *keeper) dismiss() {
	if len(k.spent) > 0 && k.wire != nil {
		k.wire.send(append([]string{"LOCK.DETACH"}, k.spent...)...)
	}
	k.spent = nil
}

// owe has a command done, now or as soon as there is a connection, until it was answered. It calls paid then,
// if that is not nil.
func (k *keeper) owe(words []string, paid func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.debts++
	k.send(debt{words, paid})
}

// send has a debt paid; the caller holds mu.
func (k *keeper) send(d debt) {
	w := k.wire
	switch {
	case w != nil:
		came := w.send(d.words...)
		go k.collect(d, w, came)
	case k.ended.Err() != nil: // no connection will be made any more
		go k.payLate(d)
	default:
		k.unpaid = append(k.unpaid, d)
	}
}

// collect waits for the answer to a command that was owed.
func (k *keeper) collect(d debt, w *wire, came <-chan answer) {
	a := <-came
	if isReply(a.err) {
		k.done(d)
		return
	}
	w.close(a.err) // it may be one to a server that does not lead
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wire == w && k.ended.Err() == nil {
		k.unpaid = append(k.unpaid, d)
		return
	}
	if k.wire == w {
		k.wire = nil
	}
	k.send(d)
}

// payLate has the library send a command that was owed when the client was closed.
func (k *keeper) payLate(d debt) {
	limited, cancel := context.WithTimeoutCause(context.Background(), k.client.limit, ErrNoAnswer)
	defer cancel()
	_, _ = k.client.untilAnswered(limited, d.words)
	k.done(d)
}

// done notes that a debt is paid, or that nothing more can be done for it.
func (k *keeper) done(d debt) {
	k.mu.Lock()
	k.debts--
	if k.debts == 0 && k.free != nil {
		close(k.free)
		k.free = nil
	}
	k.mu.Unlock()
	if d.paid != nil {
		d.paid()
	}
}

// noDebts returns a channel that is closed when there are no debts.
func (k *keeper) noDebts() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.free == nil {
		k.free = make(chan struct{})
	}
	free := k.free
	if k.debts == 0 {
		close(free)
		k.free = nil
	}
	return free
}

// keep registers a hold; false: it is lost already.
func (k *keeper) keep(h *hold) (reason string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing.Err() != nil {
		return closed, false
	}
	for _, token := range h.tokens {
		if reason, lost := k.strays[token]; lost {
			return reason, false
		}
	}
	for _, token := range h.tokens {
		k.holds[token] = h
	}
	return "", true
}

// forget takes a hold out.
func (k *keeper) forget(h *hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, token := range h.tokens {
		if k.holds[token] == h {
			delete(k.holds, token)
		}
	}
}

// sync returns when everything has been heard that the server had told by now, if that is soon.
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
