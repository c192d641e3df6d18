package client

import "context"

// debt is a list of commands that have to be done, and a function to call then; nil: no function. The
// commands are about one key, or keys of one slot, and may be sent twice.
type debt struct {
	key      string
	commands [][]string
	paid     func()
}

// payment is a debt with commands that were sent. It is guarded by mu of the keeper.
type payment struct {
	debt
	hops int   // redirections in a row
	left int   // replies to come
	err  error // the reason to send it again
}

// mustSend sends commands, now or as soon as there is a connection, until they were answered. Then it calls
// paid, if paid is not nil.
func (s *shard) mustSend(key string, commands [][]string, paid func()) {
	s.keeper.mu.Lock()
	defer s.keeper.mu.Unlock()
	s.mustSendLocked(debt{key, commands, paid})
}

// mustSendLocked is mustSend; the caller holds mu.
func (s *shard) mustSendLocked(d debt) {
	s.keeper.debts++
	s.keeper.instead(s, d.key).send(d)
}

// send sends the commands of a debt; the caller holds mu.
func (s *shard) send(d debt) { s.pay(&payment{debt: d}) }

// pay is send for a debt that may have been redirected before; the caller holds mu.
func (s *shard) pay(p *payment) {
	w, k := s.wire, s.keeper
	switch {
	case w != nil:
		p.left, p.err = len(p.commands), nil
		for _, words := range p.commands {
			w.then(func(a answer) { s.collect(p, w, a) }, words...)
		}
	case k.ended.Err() != nil: // no further connection will be made
		go k.payLate(p.debt)
	default:
		s.unpaid = append(s.unpaid, p.debt)
	}
}

// collect takes the reply to one of the commands of a debt.
func (s *shard) collect(p *payment, w *wire, a answer) {
	k := s.keeper
	k.mu.Lock()
	if !isReply(a.err) {
		p.err = a.err
	}
	p.left--
	over, err := p.left == 0, p.err
	k.mu.Unlock()
	switch {
	case !over:
	case err == nil:
		k.done(p.debt)
	case !s.redirected(w, err, p.key, &p.hops, func(to *shard) { to.pay(p) }): // the server may not be the leader
		k.mu.Lock()
		if s.wire == w {
			s.wire = nil
		}
		k.instead(s, p.key).pay(p)
		k.mu.Unlock()
	}
}

// payLate sends, by the library, the debts that were left when the client was closed.
func (k *keeper) payLate(d debt) {
	limited, cancel := context.WithTimeoutCause(context.Background(), k.client.limit, ErrNoAnswer)
	defer cancel()
	for _, words := range d.commands {
		_, _ = k.client.untilAnswered(limited, words)
	}
	k.done(d)
}

// done records that a debt is paid, or that nothing more can be done for it.
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
