package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// shard is a server of the client's, and the connection to it that is attached to the client's owners. It
// makes the connection, replaces a broken one, sends requests for locks, and receives grants and losses. Its
// fields are guarded by mu of the keeper.
type shard struct {
	keeper *keeper
	addr   string // empty: the only server

	wire     *wire       // nil: no connection
	unpaid   []debt      // commands that have to be done and were not answered
	answered time.Time   // when the last command that the server has answered was sent
	patience *time.Timer // runs out when the server has not answered for as long as leases are sure to last
	lapsed   bool        // patience has run out, and the server has not answered since
	resumed  bool        // this process was stopped until now, and the server has not answered since
	refused  error       // why the last attempt to connect has failed; nil if it has not failed
	doubted  bool        // it has redirected a command, and was asked whether it still has the rest
	broke    bool        // it has lost its connection
	over     bool        // its slots have other owners, and it has nothing left
}

// connect makes the connection, attaches it to the client's owners, and sends the commands that the former
// connection has left undone.
func (s *shard) connect(ctx context.Context) (*wire, error) {
	k := s.keeper
	w, err := dialWire(ctx, s.dial, k.client.name, s.onPush)
	if err == nil {
		err = s.takeUp(ctx, w)
	}
	k.mu.Lock()
	s.refused = err
	if err != nil && s.wire == w {
		s.wire = nil
	}
	if errors.Is(replied(err), ErrNotLockserver) {
		s.endForeign()
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

// dial opens a connection to the shard.
func (s *shard) dial(ctx context.Context) (net.Conn, Login, error) {
	if s.addr == "" {
		return s.keeper.client.server.Dial(ctx)
	}
	return s.keeper.client.cluster.DialTo(ctx, s.addr)
}

// takeUp continues the locks and waits of the former connection on a new one. A lock that the server no
// longer has is lost.
func (s *shard) takeUp(ctx context.Context, w *wire) error {
	k := s.keeper
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	sent := time.Now()
	if _, err := w.do(ctx, "LOCK.ATTACH", "PREFIX", k.client.name+":"); err != nil {
		return err
	}
	s.hear(sent)
	k.mu.Lock()
	s.wire, s.doubted = w, false // from now on calls send by this connection
	unpaid := s.unpaid
	s.unpaid = nil
	for _, d := range unpaid {
		s.send(d)
	}
	held := k.heldAt(s)
	checked := make(chan error, len(held))
	for _, h := range held {
		s.check(h, w, checked)
	}
	s.askAll(w) // after the checks: very many replies may take longer than the checks have time
	k.mu.Unlock()
	for range held {
		select {
		case err := <-checked:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ended(ctx)
		}
	}
	return nil
}

// check asks over a connection whether the server still has a hold. checked gets nil, or the reason why there
// is no answer; nil: no channel. The caller holds mu.
func (s *shard) check(h *hold, w *wire, checked chan<- error) {
	left := len(h.keys) // counted by the goroutine that reads
	for i, words := range h.questions() {
		w.then(func(a answer) {
			err := s.checked(h, i, w, a)
			if left--; checked != nil && (err != nil || left == 0) {
				select {
				case checked <- err:
				default: // an error of the same hold came before
				}
			}
		}, words...)
	}
}

// checked takes the answer to a check at one of the keys of a hold. The error says that there is no answer.
func (s *shard) checked(h *hold, i int, w *wire, a answer) error {
	k := s.keeper
	if !isReply(a.err) {
		return s.checkedElsewhere(h, i, w, a.err)
	}
	if isStale(a.err) || a.err == nil && a.value == int64(0) {
		h.lose(h.keys[i], h.tokens[i], stale)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.shard == s && i == len(h.keys)-1 {
		h.hops = 0
		h.assured()
	}
	return nil
}

// checkedElsewhere handles the answer to a check that the server has not done, and returns it unless it is a
// redirection. The first redirection counts, if there are several checks.
func (s *shard) checkedElsewhere(h *hold, i int, w *wire, err error) error {
	k := s.keeper
	leave := func(leaving bool) (before bool) {
		k.mu.Lock()
		defer k.mu.Unlock()
		before, h.leaving = h.leaving, leaving
		return before
	}
	if before := leave(true); before && notServed(err) {
		return nil
	}
	if !s.redirected(w, err, h.keys[i], &h.hops, func(to *shard) {
		h.leaving = false
		k.moveHold(h, to)
	}) {
		leave(false)
		return err
	}
	return nil
}

// run keeps the connection until the keeper ends, or the shard is over. w is the first one; nil: no
// connection yet.
func (s *shard) run(w *wire) {
	k := s.keeper
	defer k.running.Done()
	defer s.patience.Stop()
	if w == nil {
		w = s.reconnect()
	}
	for w != nil {
		made := time.Now()
		s.watch(w)
		k.mu.Lock()
		s.wire = nil
		k.mu.Unlock()
		k.shards.ended(s, w.reason())
		if k.ended.Err() != nil {
			return
		}
		if time.Since(made) < longestPause {
			k.rest(pause)
		}
		w = s.reconnect()
	}
}

// rest waits for a time, or until the keeper ends.
func (k *keeper) rest(d time.Duration) {
	select {
	case <-time.After(d):
	case <-k.ended.Done():
	}
}

// reconnect returns the next connection, or nil if the keeper ends first, or the shard is over.
func (s *shard) reconnect() *wire {
	k := s.keeper
	for wait := pause; k.ended.Err() == nil; wait = min(2*wait, longestPause, k.lease/10) {
		w, err := s.connect(k.ended)
		if err == nil {
			k.shards.made(s)
			return w
		}
		if s.leave(err) {
			return nil
		}
		k.rest(wait)
	}
	return nil
}

// giveUp counts the locks that the server renews as lost if the server has been silent for too long, because
// their leases may have ended. It ends the waits, too.
func (s *shard) giveUp() {
	k := s.keeper
	k.mu.Lock()
	left := time.Until(s.answered.Add(k.sureFor()))
	if -left > k.lease/6 && s.wire != nil && !s.resumed {
		// The timer is late, so this process was stopped. The connection may still work: the server is asked
		// first.
		s.resumed, left = true, k.lease/6
	}
	if left > 0 && k.ended.Err() == nil && !s.over {
		s.patience.Reset(left)
	}
	if left > 0 || k.ended.Err() != nil || s.over {
		k.mu.Unlock()
		return
	}
	s.lapsed = true
	s.endWaits()
	held := k.heldAt(s)
	k.mu.Unlock()
	for _, h := range held {
		if h.lease == 0 {
			h.lose(h.keys[0], h.tokens[0], unreachable)
		}
	}
}

// watch asks the server for a sign of life now and then, until there is no answer.
func (s *shard) watch(w *wire) {
	k := s.keeper
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
			s.hear(sent)
		}
	}
}

// hear records that the server has answered a command that was sent at this time.
func (s *shard) hear(sent time.Time) {
	k := s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	s.answered, s.resumed = sent, false
	if s.lapsed {
		s.lapsed = false
		s.patience.Reset(k.sureFor())
	}
}

// onPush handles a push: lock-lost, lock-asked, lock-granted or lock-refused, limit-granted or limit-refused.
// A push has one key or several, one token or several, or a reason, and so on.
func (s *shard) onPush(w *wire, message push) {
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
		s.keeper.wasLost(lockName{keys[0], token}, fmt.Sprint(message[3])) // the reason
	case "lock-asked":
		token, _ := message[2].(int64)
		s.keeper.wasAsked(lockName{keys[0], token}, fmt.Sprint(message[3])) // the reason
	case "lock-granted":
		if tokens := tokensOf(message[2]); len(tokens) == len(keys) {
			s.wasGranted(w, keys, many, tokens, owner)
		}
	case "limit-granted":
		if numbers := tokensOf(message[2]); len(numbers) == takenNumbers {
			s.wasTaken(w, keys[0], numbers, owner)
		}
	case "lock-refused", "limit-refused":
		s.wasRefused(w, keys[0], fmt.Sprint(message[2]), owner)
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

// sync returns when all pushes that the server has sent so far have been read, or after a short time.
func (s *shard) sync(ctx context.Context) {
	k := s.keeper
	k.mu.Lock()
	w := s.wire
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

// silence returns ErrNoAnswer, with the reason for the missing connection in its text; the caller holds mu.
// An error of the server is not wrapped, because it may be over at the next attempt. The exception is that
// the server is no lockserver.
func (s *shard) silence() error {
	switch why := replied(s.refused); {
	case why == nil:
		return ErrNoAnswer
	case errors.Is(why, ErrNotLockserver):
		return fmt.Errorf("%w: %w", ErrNoAnswer, why)
	}
	return fmt.Errorf("%w: %v", ErrNoAnswer, s.refused)
}
