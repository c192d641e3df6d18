package transport

import (
	"net"
	"time"
)

// Acceptor is the layer above the connections: the server that the clients talk to.
type Acceptor interface {
	// Open makes a session for a new connection and attaches it. If accepted is false, the connection is
	// closed. refusal is the text that the peer gets first; it may be empty.
	Open(c Conn, p Peer) (refusal string, accepted bool)
	// NewScratch returns buffers for the sessions of one owner. holds says that the owner may hold output
	// until the end of a round (see Conn.Send), and then calls Recycle.
	NewScratch(holds bool) Scratch
	// KeepAlive returns the idle time after which a connection's peer is probed; 0 means never.
	KeepAlive() time.Duration
	// Coalescing returns the longest time between the rounds of a busy event loop; 0 means that the loop
	// never waits. A loop calls it once in each round.
	Coalescing() time.Duration
	// Served returns the number of waiters that have been served: while it grows, no loop waits.
	Served() uint64
}

// Peer is the client's end of a connection.
type Peer struct {
	Local, Remote net.Addr
	// FD is the connection's descriptor, for display; -1 means not known.
	FD int
	// Certificate is the common name in the certificate that authenticates the peer; empty without a
	// certificate.
	Certificate string
	// Audited says that the code that made the connection audits the client's commands. That code runs in
	// this process.
	Audited bool
}

// Session consumes a connection's bytes. Only the owner calls its methods, except Lost: the owner is the loop
// or goroutine that reads from the connection.
type Session interface {
	// Feed takes the bytes read from the connection, executes them, and sends the output. data may be nil:
	// then the session continues its work. It returns true if the connection must be closed. from is the
	// calling loop, or nil for any other owner.
	Feed(data []byte, scratch Scratch, from *Loop) (hangUp bool)
	// InputFull reports whether the connection must not be read for now. readBytes is the size of a read.
	InputFull(readBytes int) bool
	// Lingers is called when the peer has closed its sending half. It reports whether the peer will get
	// further output. unsent says that the connection still has output. If Lingers returns true, the
	// connection ends when Feed says so.
	Lingers(unsent bool) bool
	// MayLeave is called right before output is sent. If it returns false, the output is not sent, and the
	// connection is closed.
	MayLeave() bool
	// MarkRead records that the peer has taken some of the waiting output.
	MarkRead()
	// Lost reports whether the peer is considered dead: nothing more is sent to it. Any goroutine may call
	// it.
	Lost() bool
	// Panicked logs a panic that ends the connection, or panics again if the process must end.
	Panicked(p any)
	// Close ends the session, because its connection has ended. It may be called more than once.
	Close()
}

// Scratch holds the buffers that the sessions of one owner share: at any time at most one of them is being
// fed.
type Scratch interface {
	// Recycle ends a round: no sent output is held any more.
	Recycle()
	// Trim frees reply buffers that are larger than most bytes, because the owner may be idle from now on.
	Trim(most int)
}

// Conn carries a session's bytes. Its methods may be called from any goroutine, without the host's lock,
// unless their comments say otherwise.
type Conn interface {
	// Wake makes the session's owner feed it soon: there is output, or a reason to continue. from is the
	// calling event loop, or nil for any other caller.
	Wake(from *Loop)
	// WakeAtEnd wakes the owner at the end of the calling event loop's round, so that one Feed sends all
	// output of the round. If the connection has another owner, it is woken at once.
	WakeAtEnd(from *Loop)
	// Send writes output, or keeps it until the client takes it. It calls Session.MayLeave before it sends
	// anything. An error says that the client has disconnected, or that MayLeave refused and the connection
	// was closed. held says that b will be written at the end of the owner's round, and must not change until
	// Scratch.Recycle. With now set, held is always false. Only the owner calls it.
	Send(b []byte, now bool) (held bool, err error)
	// Buffered returns the number of output bytes that the client has not taken yet. Only the owner calls it.
	Buffered() int
	// Unsent returns Buffered without the bytes that the client may have taken without our knowledge. Only
	// the owner calls it.
	Unsent() int
	// Unacked returns Buffered plus the bytes that the client's system has not acknowledged. Only the owner
	// calls it.
	Unacked() int
	// GuardPeer makes the system probe an idle peer several times within ms milliseconds. It is called under
	// the host's lock, for a session that is not closed.
	GuardPeer(ms int64)
	// Heard returns the peer's last sign of life. It is called under the host's lock, for a session that is
	// not closed.
	Heard() Silence
	// HangUp closes the connection at once, in any state. If the session is lost, its owner can still read
	// Unacked, and nothing more is sent when the owner closes it. It is called under the host's lock, for a
	// session that is not closed.
	HangUp()
	// Attach sets the session of the connection, before any other goroutine can know the session.
	// Acceptor.Open calls it, under the host's lock.
	Attach(s Session)
	// WhileBusy serves the owner's other sessions while a long Feed of this session runs. Only the owner
	// calls it, without the host's lock.
	WhileBusy()
	// PeerGone reports whether the client has closed its end: it will not read further output. Only the owner
	// calls it.
	PeerGone() bool
	// SetUnauthenticated says that the client is unauthenticated: a read takes at most readBytes, and
	// authenticated clients are served first. 0 means that it is authenticated. Acceptor.Open calls it, or
	// the owner.
	SetUnauthenticated(readBytes int)
	// AwaitDrain makes the owner feed the session once Buffered has fallen to low. It returns false if that
	// is so already. Only the owner calls it.
	AwaitDrain(low int) bool
}

// Flusher is written out before the output of a round is sent: a log.
type Flusher interface{ Flush() }

// Silence describes a peer's last sign of life, as far as a connection knows it.
type Silence struct {
	Known bool          // false: not known; a vanished peer is noticed at once, or not at all
	Lasts time.Duration // since the last sign
	// Unanswered says that the peer's system has not acknowledged sent data, although it was sent again if
	// necessary.
	Unanswered bool
}
