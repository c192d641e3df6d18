package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// wait is a request for a lock, over the keeper's connection. The server answers it at once, or queues it
// (NOTIFY) and sends the outcome later as a push. A grant by a push has to be confirmed. The caller has the
// lock when the server has replied to the confirmation. The fields below mu are guarded by mu of the keeper.
type wait struct {
	task  *task
	wish  wish
	shard *shard    // serves its keys
	end   time.Time // when the caller stops waiting; zero: never
	// placed is closed when the server has answered for the first time.
	placed chan struct{}
	result chan outcome // of capacity 1

	number uint64 // in the order of the calls
	by     *wire  // the connection that has sent it; nil: the next connection has to send it
	state  waitState
	began  time.Time // no later than the lease on the server
	tokens []int64   // of a grant
	left   int       // outstanding replies to the confirmation
	hops   int       // redirections in a row
}

type waitState int

const (
	asked   waitState = iota // no reply yet, or no connection
	queued                   // the outcome will be a push
	granted                  // the confirmation is under way
	over                     // the caller has the outcome, or has given up
)

// outcome is the result of a wait.
type outcome struct {
	tokens []int64
	began  time.Time
	shard  *shard // nil: nothing was sent
	err    error
	// doubtful: the server may have granted the lock, or may still do so.
	doubtful bool
}

// place identifies a wait: a task has one call for a key at a time.
type place struct{ owner, key string }

func (wt *wait) place() place { return place{wt.task.owner, wt.wish.keys[0]} }

// request asks for a lock until the server has granted or refused it, or ctx ends.
func (k *keeper) request(ctx context.Context, t *task, w wish) outcome {
	first, cancel := context.WithTimeoutCause(ctx, k.client.limit, ErrNoAnswer)
	defer cancel()
	s, err := k.shardOf(first, w.keys[0])
	if err != nil {
		return outcome{err: err}
	}
	wt := &wait{task: t, wish: w, placed: make(chan struct{}), result: make(chan outcome, 1)}
	wt.end, _ = ctx.Deadline()
	k.mu.Lock()
	k.asked++
	wt.number = k.asked
	k.waits[wt.place()] = wt
	k.moveWait(wt, k.instead(s, w.keys[0]))
	k.mu.Unlock()
	select {
	case <-wt.placed:
	case <-first.Done():
		return k.withdraw(wt, first)
	}
	select {
	case o := <-wt.result:
		return o
	case <-ctx.Done():
		return k.withdraw(wt, ctx)
	}
}

// withdraw ends a wait because its caller gives up, unless the wait is over.
func (k *keeper) withdraw(wt *wait, ctx context.Context) outcome {
	k.mu.Lock()
	defer k.mu.Unlock()
	if wt.state == over {
		return <-wt.result
	}
	k.leaveQueue(wt)
	return outcome{shard: wt.shard, err: wt.shard.whyEnded(ctx), doubtful: true}
}

// whyEnded returns why a context has ended. If the reason is a missing connection, it returns why there is
// none. The caller holds mu.
func (s *shard) whyEnded(ctx context.Context) error {
	err := ended(ctx)
	if err == ErrNoAnswer {
		err = s.silence()
	}
	return err
}

// leaveQueue ends a wait; the caller holds mu.
func (k *keeper) leaveQueue(wt *wait) {
	wt.state = over
	if k.waits[wt.place()] == wt {
		delete(k.waits, wt.place())
	}
}

// finish ends a wait with an outcome; the caller holds mu.
func (k *keeper) finish(wt *wait, o outcome) {
	if wt.state == over {
		return
	}
	k.leaveQueue(wt)
	if o.tokens != nil && wt.wish.rate == nil {
		k.taken[lockName{wt.wish.keys[0], o.tokens[0]}] = true
	}
	o.shard = wt.shard
	wt.result <- o
	wt.answered()
}

// answered tells the caller that the server has answered.
func (wt *wait) answered() {
	select {
	case <-wt.placed:
	default:
		close(wt.placed)
	}
}

// words returns the command that asks for the lock, or asks again: a holder gets its token, and a queued
// waiter keeps its place.
func (wt *wait) words() []string {
	words := wt.wish.words(wt.task.owner)
	if wt.wish.tries {
		return words
	}
	ms := int64(0)
	if !wt.end.IsZero() {
		ms = max(1, ceilMS(time.Until(wt.end)))
	}
	words = append(words, "WAIT", strconv.FormatInt(ms, 10), "NOTIFY")
	if wt.wish.priority > 0 {
		words = append(words, "PRIORITY", strconv.Itoa(wt.wish.priority))
	}
	if wt.wish.rate != nil {
		words = append(words, wt.task.owner)
	}
	return words
}

// ask sends the request over a connection; the caller holds mu.
func (s *shard) ask(wt *wait, w *wire) {
	wt.by, wt.state, wt.began = w, asked, time.Now()
	w.then(func(a answer) { s.replied(wt, w, a) }, wt.words()...)
}

// askAll sends all requests of the shard over a new connection, in the order of the calls; the caller holds
// mu.
func (s *shard) askAll(w *wire) {
	for _, wt := range s.waiting() {
		s.ask(wt, w)
	}
}

// waiting returns the waits at the shard, in the order of the calls; the caller holds mu.
func (s *shard) waiting() (waits []*wait) {
	for _, wt := range s.keeper.waits {
		if wt.shard == s {
			waits = append(waits, wt)
		}
	}
	slices.SortFunc(waits, func(a, b *wait) int { return cmp.Compare(a.number, b.number) })
	return waits
}

// sentOn handles the answer to a command of a wait that the server has not done. Another shard is asked, or
// the next connection.
func (s *shard) sentOn(wt *wait, w *wire, err error) {
	s.redirected(w, err, wt.wish.keys[0], &wt.hops, func(to *shard) {
		if wt.by == w {
			s.keeper.moveWait(wt, to)
		}
	})
}

// replied handles the reply to a request.
func (s *shard) replied(wt *wait, w *wire, a answer) {
	k := s.keeper
	if isBroken(a.err) {
		s.mayComeLate(wt)
	}
	if !isReply(a.err) {
		s.sentOn(wt, w, a.err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if wt.by != w || wt.state != asked {
		return
	}
	wt.hops = 0
	tokens := tokensOf(a.value)
	switch {
	case a.err != nil:
		k.finish(wt, outcome{err: replied(a.err)})
	case tokens != nil:
		k.finish(wt, outcome{tokens: tokens, began: wt.began})
	case a.value == nil:
		k.finish(wt, outcome{err: ErrNotAcquired})
	default: // QUEUED
		wt.state = queued
		wt.answered()
	}
}

// wasGranted handles the push that a lock was granted, and confirms the grant. A fixed lease begins anew with
// the confirmation.
func (s *shard) wasGranted(w *wire, keys []string, many bool, tokens []int64, owner string) {
	k := s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	wt := k.waits[place{owner, keys[0]}]
	switch {
	case s.wire != w: // the next connection asks again
	case wt == nil:
		if lock := (lockName{keys[0], tokens[0]}); k.holds[lock] == nil && !k.taken[lock] { // a request that has arrived after its call has ended
			s.mustSendLocked(debt{key: keys[0], commands: backWords(keys, many, owner, tokens)})
		}
	case wt.by == w && wt.state == queued:
		wt.state, wt.tokens, wt.began = granted, tokens, time.Now()
		commands := wt.confirmation()
		wt.left = len(commands)
		for i, words := range commands {
			w.then(func(a answer) { s.wasConfirmed(wt, w, i, a) }, words...)
		}
	}
}

// confirmation returns the commands that confirm a grant.
func (wt *wait) confirmation() (commands [][]string) {
	owner, keys := wt.task.owner, wt.wish.keys
	if wt.wish.lease == 0 { // one of several locks stands for all
		return [][]string{{"LOCK.CONFIRM", keys[0], owner, strconv.FormatInt(wt.tokens[0], 10)}}
	}
	for i, key := range keys {
		commands = append(commands, []string{renewalOf(wt.wish.permits), key, owner, "PX", strconv.FormatInt(wt.wish.lease.Milliseconds(), 10),
			"TOKEN", strconv.FormatInt(wt.tokens[i], 10)})
	}
	return commands
}

// wasTaken handles the push that a limiter has granted units, with the numbers of the reply. They need not be
// confirmed.
func (s *shard) wasTaken(w *wire, key string, numbers []int64, owner string) {
	k := s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	wt := k.waits[place{owner, key}]
	if wt != nil && wt.by == w && wt.state == queued {
		k.finish(wt, outcome{tokens: numbers})
	}
}

// wasConfirmed handles the reply to a command of a confirmation.
func (s *shard) wasConfirmed(wt *wait, w *wire, i int, a answer) {
	if !isReply(a.err) { // asking again says whether the lock is held
		s.sentOn(wt, w, a.err)
		return
	}
	k := s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if wt.by != w || wt.state != granted {
		return
	}
	switch {
	case a.err != nil:
		k.finish(wt, outcome{err: replied(a.err), doubtful: true})
	case a.value == int64(1):
		if wt.left--; wt.left == 0 {
			k.finish(wt, outcome{tokens: wt.tokens, began: wt.began})
		}
	case wt.wish.lease == 0 && !wt.wish.many: // it was too late, or the lock was released
		s.ask(wt, w)
	default:
		lost := &LostError{Key: wt.wish.keys[i], Token: wt.tokens[i], Reason: expired, Owner: wt.task.owner, Lease: wt.wish.lease}
		k.finish(wt, outcome{err: lost, doubtful: true})
	}
}

// wasRefused handles the push that a wait has ended without the lock.
func (s *shard) wasRefused(w *wire, key, reason, owner string) {
	k := s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	wt := k.waits[place{owner, key}]
	if wt == nil || wt.by != w || wt.state != queued {
		return
	}
	switch reason {
	case "unconfirmed", "failover", "moved":
		s.ask(wt, w)
	case "timeout", "cancelled": // or by an operator
		k.finish(wt, outcome{err: ErrNotAcquired})
	case "deadlock":
		k.finish(wt, outcome{err: fmt.Errorf("%w: %w", ErrDeadlock, ReplyError("DEADLOCK "+key))})
	case "wrongtype":
		k.finish(wt, outcome{err: ReplyError("WRONGTYPE Operation against a key holding the wrong kind of value")})
	case "denied":
		k.finish(wt, outcome{err: ReplyError("NOPERM the user may not write to the key any more")})
	default:
		k.finish(wt, outcome{err: ReplyError("ERR the server has ended the wait: " + reason)})
	}
}

// endWaits ends the calls that wait, because the server is silent. Calls that the server has not queued have
// a limit of their own. The caller holds mu.
func (s *shard) endWaits() {
	for _, wt := range s.waiting() {
		select {
		case <-wt.placed:
			s.keeper.finish(wt, outcome{err: s.silence(), doubtful: true})
		default:
		}
	}
}

// endForeign ends the calls that wait, because the server is no lockserver. A request that was sent may still
// be granted, if there is a lockserver again. The caller holds mu.
func (s *shard) endForeign() {
	k := s.keeper
	for _, wt := range s.waiting() {
		k.finish(wt, outcome{err: replied(s.refused), doubtful: wt.by != nil})
	}
	close(k.foreign)
	k.foreign = make(chan struct{})
}

// mayComeLate is called when a connection has ended before a request was answered. The server may read the
// request after commands of the next connection, and grant a lock that no call waits for. So the lock is
// released one lease later, unless the task holds it, or asks for it, by then.
func (s *shard) mayComeLate(wt *wait) {
	k := s.keeper
	time.AfterFunc(k.lease, func() {
		t, keys := wt.task, wt.wish.keys
		if !k.isClosed() && t.enterIdle(keys) {
			s.mustSend(keys[0], wt.wish.undo(t.owner), func() { t.exit(keys) })
		}
	})
}
