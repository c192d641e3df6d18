package transport

import (
	"net"
	"time"
)

// Acceptor is what is above the connections: the server that the clients talk to.
type Acceptor interface {
	// Open makes a session for a new connection and attaches it. If it does not (accepted is false), the
	// connection is closed; refusal is what the peer gets before, empty: nothing.
	Open(c Conn, p Peer) (refusal string, accepted bool)
	// NewScratch returns buffers for the sessions of one owner. holds says that the owner may hold output
	// until the end of a round (see Conn.Send), and calls Recycle then.
	NewScratch(holds bool) Scratch
	// KeepAlive is how long a connection is idle before its peer is probed; 0: it never is.
	KeepAlive() time.Duration
	// Coalescing is how far apart the rounds of a busy event loop are at most; 0: it never waits. A loop asks
	// once a round.
	Coalescing() time.Duration
	// Served counts the waiters that have been served: while it grows, no loop waits.
	Served() uint64
}

// Peer is the client's end of a connection.
type Peer struct {
	Local, Remote net.Addr
	// FD is the connection's descriptor, for display; -1: not known.
	FD int
	// Certificate is the common name in the certificate that authenticates the peer; empty: there is none.
	Certificate string
	// Audited: the code that made the connection audits what its client does. It runs in this process.
	Audited bool
}

// Session takes a connection's bytes. All methods but Lost are the owner's to call: that of the loop or
// goroutine that reads from the connection.
type Session interface {
	// Feed takes what was read from the connection (nil: nothing, but go on), does what it asks for, and
	// sends the output. It returns true if the connection is to be closed. from is the loop that calls, nil
	// for any other owner.
	Feed(data []byte, scratch Scratch, from *Loop) (hangUp bool)
	// InputFull reports whether nothing more may be read for now, a read being one of so many bytes.
	InputFull(readBytes int) bool
	// Lingers is asked when the peer has closed its sending half: is it still to get something? unsent says
	// that the connection has some output of it. If so the connection ends when Feed says so.
	Lingers(unsent bool) bool
	// MayLeave is asked right before output leaves; false: it must not, and the connection is closed.
	MayLeave() bool
	// MarkRead says that the peer has taken some of the output that waited for it.
	MarkRead()
	// Lost reports whether the peer was taken for dead: nothing more is sent to it. Any goroutine may ask.
	Lost() bool
	// Panicked logs a panic that ends the connection, or goes on with one that must end the process.
	Panicked(p any)
	// Close ends the session: its connection is gone. It may be called more than once.
	Close()
}

// Scratch is the buffers that the sessions of one owner share: at any time at most one of them is being fed.
type Scratch interface {
	// Recycle ends a round: nothing that was sent is held any more.
	Recycle()
	// Trim frees reply buffers that are larger than so many bytes: the owner may be idle from now on.
	Trim(most int)
}

// Conn carries a session's bytes. Its methods may be called from any goroutine, without the host's lock,
// unless they say otherwise.
type Conn interface {
	// Wake makes the session's owner feed it soon: there is output, or a reason to go on. from is the event
	// loop that calls, nil for any other caller.
	Wake(from *Loop)
	// WakeAtEnd wakes the owner at the end of the calling event loop's round, so that one Feed sends
	// everything that came in the round. If the connection has another owner, it is woken at once.
	WakeAtEnd(from *Loop)
	// Send writes output, or keeps it until the client takes it. It asks Session.MayLeave before anything
	// leaves. An error says that the client is gone, or that MayLeave refused and the connection was closed.
	// held says that b will be written at the end of the owner's round, and must stay as it is until
	// Scratch.Recycle. With now set, held is always false. Only the owner calls it.
	Send(b []byte, now bool) (held bool, err error)
	// Buffered returns the bytes of output that the client has not taken yet. Only the owner calls it.
	Buffered() int
	// Unsent is Buffered without what the client may have taken without our knowing
	// yet. Only the owner calls it.
	Unsent() int
	// Unacked is Buffered and what the client's system has not acknowledged. Only the owner calls it.
	Unacked() int
	// GuardPeer has an idle peer probed several times within ms milliseconds; under the host's lock, of a
	// session that is not closed.
	GuardPeer(ms int64)
	// Heard returns the peer's last sign of life; under the host's lock, of a session that is not closed.
	Heard() Silence
	// HangUp closes the connection at once, whatever it is doing. If the session is lost, its owner can still
	// see what is unacked, and nothing more is sent when the owner closes it. Under the host's lock, of a
	// session that is not closed.
	HangUp()
	// Attach gives the connection its session, before any other goroutine can know the session. Acceptor.Open
	// calls it, under the host's lock.
	Attach(s Session)
	// WhileBusy serves the owner's other sessions while feeding this one takes long. Only the owner calls it,
	// without the host's lock.
	WhileBusy()
	// PeerGone reports whether the client has closed its end: what is sent now will not be
	// read. Only the owner calls it.
	PeerGone() bool
	// SetUnauthenticated says that the client is unauthenticated: one read takes at most readBytes, and
	// authenticated clients are served first. 0: it is authenticated. Acceptor.Open calls it, or the owner.
	SetUnauthenticated(readBytes int)
	// AwaitDrain makes the owner feed the session once Buffered has fallen to low; false: it has
	// already. Only the owner calls it.
	AwaitDrain(low int) bool
}

// Flusher is something that is written before the output of a round leaves: a log.
type Flusher interface{ Flush() }

// Silence is what a connection knows of its peer's last sign of life.
type Silence struct {
	Known bool          // false: a peer that is gone is noticed at once, or not by us
	Lasts time.Duration // since the last sign
	// Unanswered: something was sent, and sent again if need be, that the peer's system has not acknowledged.
	Unanswered bool
}
