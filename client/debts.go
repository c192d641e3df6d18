package client

import "context"

// debt is a list of commands that have to be done, and a function to call then; nil: no function. The
// commands may be sent twice.
type debt struct {
	commands [][]string
	paid     func()
}

// payment is a debt with commands that were sent. It is guarded by mu of the keeper.
type payment struct {
	debt
	left int   // replies to come
	err  error // the reason to send it again
}

// mustSend sends commands, now or as soon as there is a connection, until they were answered. Then it calls
// paid, if paid is not nil.
func (k *keeper) mustSend(commands [][]string, paid func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mustSendLocked(debt{commands, paid})
}

// mustSendLocked is mustSend; the caller holds mu.
func (k *keeper) mustSendLocked(d debt) {
	k.debts++
	k.send(d)
}

// send sends the commands of a debt; the caller holds mu.
func (k *keeper) send(d debt) {
	w := k.wire
	switch {
	case w != nil:
		p := &payment{debt: d, left: len(d.commands)}
		for _, words := range d.commands {
			w.then(func(a answer) { k.collect(p, w, a) }, words...)
		}
	case k.ended.Err() != nil: // no further connection will be made
		go k.payLate(d)
	default:
		k.unpaid = append(k.unpaid, d)
	}
}

// collect takes the reply to one of the commands of a debt.
func (k *keeper) collect(p *payment, w *wire, a answer) {
	if !isReply(a.err) {
		w.close(a.err) // the server may not be the leader
	}
	k.mu.Lock()
	if !isReply(a.err) {
		p.err = a.err
	}
	p.left--
	switch {
	case p.left > 0:
		k.mu.Unlock()
	case p.err == nil:
		k.mu.Unlock()
		k.done(p.debt)
	default:
		if k.wire == w {
			k.wire = nil
		}
		k.send(p.debt)
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
