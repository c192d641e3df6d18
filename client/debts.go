package client

import "context"

// debt is commands that have to be done, and what is to happen then; nil: nothing. They may be sent twice.
type debt struct {
	commands [][]string
	paid     func()
}

// payment is a debt with commands that were sent. mu of the keeper guards it.
type payment struct {
	debt
	left int   // replies to come
	err  error // why it has to be sent again
}

// mustSend has commands done, now or as soon as there is a connection, until they were answered. It calls
// paid then, if that is not nil.
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

// send has a debt paid; the caller holds mu.
func (k *keeper) send(d debt) {
	w := k.wire
	switch {
	case w != nil:
		p := &payment{debt: d, left: len(d.commands)}
		for _, words := range d.commands {
			w.then(func(a answer) { k.collect(p, w, a) }, words...)
		}
	case k.ended.Err() != nil: // no connection will be made any more
		go k.payLate(d)
	default:
		k.unpaid = append(k.unpaid, d)
	}
}

// collect takes the reply to one of the commands of a debt.
func (k *keeper) collect(p *payment, w *wire, a answer) {
	if !isReply(a.err) {
		w.close(a.err) // it may be one to a server that does not lead
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

// payLate has the library send the debts that were left when the client was closed.
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
