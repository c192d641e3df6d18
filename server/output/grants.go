package output

import "lockserver/server/wait"

// A waiter with a client that has gone must not get the lock that it waited for. Otherwise the waiters behind
// it wait for the end of a lease that is of no use. Three rules prevent that. A client that is known to be
// gone is in no queue. A client may have closed its end, and the server has not read that yet. This is found
// out when the grant is about to be sent (Hand). And a grant that has unsent bytes when the connection ends
// was never read as a whole: it is taken back then (Unread). A grant that the client may have read is never
// taken back, because the client may be at work under the lock. A host that vanished closes nothing:
// package wait handles that (liveness.go there).

// unreadGrant is an answer that can be taken back.
type unreadGrant struct {
	waiter *wait.Parked
	end    int64 // the value of Output.sent when the answer had been sent
}

// Hand sends the answer of a waiter after its grant, or gives the grant back. A grant that can be taken
// back is sent at once, and not at the end of a round. Only then is it known whether the grant has to be
// taken back.
func (o *Output) Hand(out []byte, w *wait.Parked) {
	gone, err := o.offer(out)
	if gone || err != nil {
		o.client.TakeBack(w, gone)
		return
	}
	o.unread = append(o.delivered(), unreadGrant{w, o.sent})
}

// offer sends an answer that can be taken back, unless the client is gone. A connection that panics has lost
// it.
func (o *Output) offer(out []byte) (gone bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			o.client.Panicked(p)
			gone = true
		}
	}()
	// plant:peer-gone
	if o.Conn.PeerGone() {
		return true, nil
	}
	return false, o.sendNow(out)
}

// delivered drops the grants that the client has read for all we know, and returns those that are left.
func (o *Output) delivered() []unreadGrant {
	if len(o.unread) == 0 {
		return nil
	}
	read := o.sent
	if o.party.Vanished.Load() {
		read -= int64(o.Conn.Unacked())
	} else {
		read -= int64(o.Conn.Unsent())
	}
	for len(o.unread) > 0 && o.unread[0].end <= read {
		o.unread = o.unread[1:]
	}
	return o.unread
}

// HasGrants reports whether a grant on its way to the client may have to be taken back.
func (o *Output) HasGrants() bool { return o.kept.hasGrant() || len(o.delivered()) > 0 }

// Unread ends the output of a connection that has ended. It returns the grants that the client cannot have
// read, in order. granted is a grant that was not sent at all, or nil. The owner calls it, under the server's
// lock.
func (o *Output) Unread(granted *wait.Parked) (grants []*wait.Parked) {
	dropped := o.kept.drop()
	if granted != nil {
		dropped = append(dropped, granted)
	}
	vanished := o.party.Vanished.Load()
	if !vanished && len(o.delivered()) == 0 && len(dropped) == 0 {
		return nil
	}
	if !vanished {
		o.Conn.HangUp() // before the second look: until then the client could still read
	}
	for _, g := range o.delivered() {
		grants = append(grants, g.waiter)
	}
	if vanished {
		o.party.Vanished.Store(false)
		o.Conn.HangUp()
	}
	o.unread = nil
	return append(grants, dropped...)
}
