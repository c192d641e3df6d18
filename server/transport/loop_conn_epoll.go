//go:build linux

package transport

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// loopConn is one connection on an event loop. Only the loop touches it, except for wake.
type loopConn struct {
	loop    *Loop
	session Session
	layer   *layer // nil: not encrypted
	fd      int    // -1: closed
	socket  int    // the descriptor, for other goroutines while the session is not closed
	held    []byte // output of this round, in the loop's buffer; written before pending grows
	pending []byte // output that the socket did not take
	most    int    // how much a read takes, 0: as much as the buffer takes
	leaving bool   // to be closed when pending is out
	deaf    bool   // the client sends no more
	paused  bool   // nothing is read: the session's input is full
	drains  bool   // the session is to be fed when pending has fallen to drainTo
	drainTo int
	epoch   uint32 // of coalescing, when it was counted last
	watched bool   // by epoll
	drained uint32 // the number of the round, plus one, in which drain has pumped it; 0: none
	// unauth: its client is unauthenticated. inWoken: it is in one of the driver's lists of woken
	// connections. Both change under the driver's mu.
	unauth, inWoken bool
}

// over are the events of a connection that is closed at one end at least.
const over = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// watch tells epoll what the connection waits for: op adds it, or changes what it waited for. Polling is
// edge-triggered, which spares the kernel another look at each socket that had something in the last round.
// What is there already counts as an edge.
func (c *loopConn) watch(op int) error {
	events := uint32(unix.EPOLLET)
	if !c.deaf {
		events |= unix.EPOLLIN | unix.EPOLLRDHUP
	}
	if len(c.pending) > 0 {
		events |= unix.EPOLLOUT
	}
	return control(c.epoll(), op, c.fd, events)
}

// ready does what an event asks for. If something is left in the socket, another event comes in the next
// round: each connection has one read a round. The end of input is seen after the replies of the round have
// been sent.
func (c *loopConn) ready(events uint32) {
	defer c.contain()
	if events&unix.EPOLLOUT != 0 {
		c.flush()
	}
	if c.paused && c.fd >= 0 {
		if events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 {
			c.close()
		}
		return
	}
	if c.fd >= 0 && events&(unix.EPOLLIN|over) != 0 {
		if again := c.read(); again || events&over != 0 {
			c.lookAgain()
		}
	}
}

// lookAgain makes epoll report once more what it has reported already.
func (c *loopConn) lookAgain() {
	if c.fd >= 0 {
		_ = c.watch(unix.EPOLL_CTL_MOD)
	}
}

// read takes what the socket has, once, and reports whether epoll has to be asked again: there may be more,
// or something else is waited for from now on.
func (c *loopConn) read() (again bool) {
	buf := c.loop.driver.buf
	if c.most > 0 {
		buf = buf[:c.most]
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(c.fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)),
		unix.MSG_DONTWAIT, 0, 0)
	switch {
	case errno == unix.EAGAIN:
		return false
	case errno == unix.EINTR:
		return true
	case errno == 0 && n == 0:
		return c.inputEnded()
	case errno != 0:
		c.close()
	case c.leaving: // what it sends now is not read
	case c.layer != nil:
		return c.pumpSealed(buf[:n]) || int(n) == len(buf)
	default:
		c.pump(buf[:n])
	}
	return int(n) == len(buf)
}

// inputEnded is what the peer's farewell leads to: the end of the connection, unless the peer is still to get
// something. again says that epoll has to be asked for less from now on.
func (c *loopConn) inputEnded() (again bool) {
	if c.deaf || !c.leaving && !c.session.Lingers(c.Unsent() > 0) {
		c.close()
		return false
	}
	c.deaf = true // the end of input may be reported later, and means no more than that
	c.pump(nil)
	return true
}

// pump feeds the session and sees to the connection's end.
func (c *loopConn) pump(data []byte) {
	if c.fd < 0 || c.leaving {
		return
	}
	if !c.session.Feed(data, c.loop.scratch, c.loop) || c.fd < 0 {
		was := c.paused
		if c.paused = c.session.InputFull(c.readBytes()); was && !c.paused {
			c.lookAgain() // at what came meanwhile
		}
		return
	}
	c.release()
	if len(c.pending) > 0 && !c.session.Lost() {
		c.leaving = true
		return
	}
	c.close()
}

// readBytes is how much one read can bring.
func (c *loopConn) readBytes() int {
	if c.layer != nil {
		return plainBytes
	}
	return loopReadBytes
}

// woken is pump without input.
func (c *loopConn) woken() {
	defer c.contain()
	c.pump(nil)
}

// contain is deferred by what the loop calls of a connection. It makes a panic there end
// the connection, not the loop.
func (c *loopConn) contain() {
	if p := recover(); p != nil {
		c.session.Panicked(p)
		c.close()
	}
}

// maxHeldBytes bounds what a loop holds back.
const maxHeldBytes = 256 << 10

// Send implements Conn: it holds output until the end of the round, or writes it now.
func (c *loopConn) Send(b []byte, now bool) (held bool, err error) {
	d := &c.loop.driver
	if c.held == nil && !now && c.fd >= 0 && d.heldBytes+len(b) <= maxHeldBytes {
		d.holding = append(d.holding, c)
		d.heldBytes += len(b)
		c.held = b
		return true, nil
	}
	c.release()
	return false, c.sendNow(b)
}

// release writes what was held; an error closes the connection.
func (c *loopConn) release() {
	if c.held != nil {
		b := c.held
		c.held = nil
		_ = c.sendNow(b)
	}
}

// releaseContained is release for the end of a round.
func (c *loopConn) releaseContained() {
	defer c.contain()
	c.release()
}

// sendNow writes to the socket and keeps what it does not take.
func (c *loopConn) sendNow(b []byte) error {
	if c.fd < 0 {
		return unix.EPIPE
	}
	if !c.session.MayLeave() {
		c.close()
		return unix.EPIPE
	}
	if c.layer != nil {
		return c.seal(b)
	}
	return c.sendRaw(b)
}

// sendRaw is sendNow for bytes as they are.
func (c *loopConn) sendRaw(b []byte) error {
	if len(c.pending) > 0 {
		c.pending = append(c.pending, b...)
		return nil
	}
	n, err := c.write(b)
	if err != nil {
		c.close()
		return err
	}
	if n < len(b) {
		c.pending = append(c.pending, b[n:]...)
		return c.watch(unix.EPOLL_CTL_MOD)
	}
	return nil
}

// write writes as much as the socket takes.
func (c *loopConn) write(b []byte) (n int, err error) {
	for n < len(b) {
		wrote, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(c.fd), uintptr(unsafe.Pointer(&b[n])), uintptr(len(b)-n),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			n += int(wrote)
		case unix.EINTR:
		case unix.EAGAIN:
			return n, nil
		default:
			return n, errno
		}
	}
	return n, nil
}

// mostFlushed is how much kept output one event writes. A client that reads as fast as the loop writes must
// not keep the others waiting.
const mostFlushed = 128 << 10

// flush goes on with output that was kept.
func (c *loopConn) flush() {
	n, err := c.write(c.pending[:min(len(c.pending), mostFlushed)])
	if err != nil {
		c.close()
		return
	}
	if n > 0 {
		c.session.MarkRead()
	}
	c.pending = c.pending[n:]
	if len(c.pending) == 0 {
		c.pending = nil
		if c.leaving {
			c.close()
			return
		}
	}
	if n == mostFlushed || c.pending == nil { // it may take more, or is not to be asked any more
		_ = c.watch(unix.EPOLL_CTL_MOD)
	}
	if c.drains && len(c.pending) <= c.drainTo {
		c.drains = false
		c.pump(nil)
	}
}

// close ends the connection and its session. It may be called more than once.
func (c *loopConn) close() {
	if c.fd < 0 {
		return
	}
	d := &c.loop.driver
	if c.fd < len(d.conns) && d.conns[c.fd] == c {
		d.conns[c.fd] = nil
	}
	c.bidFarewell()
	fd := c.fd
	c.fd = -1
	c.session.Close() // before the descriptor can be another connection's: see HangUp
	c.held, c.pending = nil, nil
	_ = unix.Close(fd) // takes it out of epoll as well, because it has no duplicate
}

// wake makes the loop pump the connection; any goroutine may call it. A connection that is woken already has
// one turn, not two. Otherwise one that has more to do than a turn takes, and is woken for that, would have
// one turn more in each round after each of its reads.
func (c *loopConn) wake() {
	d := &c.loop.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.inWoken {
		return
	}
	c.inWoken = true
	if c.unauth {
		d.wokenUnauth = append(d.wokenUnauth, c)
	} else {
		d.woken = append(d.woken, c)
	}
	d.ring()
}

// WhileBusy implements Conn.
func (c *loopConn) WhileBusy() { c.loop.pollWhileBusy(c) }

// AwaitDrain implements Conn: flush looks whether it is time.
func (c *loopConn) AwaitDrain(low int) bool {
	if c.Buffered() <= low {
		return false
	}
	c.drains, c.drainTo = true, low
	return true
}

// HangUp implements Conn: the loop finds the socket shut.
func (c *loopConn) HangUp() {
	if c.session.Lost() {
		resetSocket(c.socket)
		c.wake() // the end of its input is not seen while that is paused
		return
	}
	_ = unix.Shutdown(c.socket, unix.SHUT_RDWR)
}

// What follows is the rest of Conn.

func (c *loopConn) Buffered() int      { return len(c.held) + len(c.pending) }
func (c *loopConn) Unsent() int        { return len(c.held) + c.missing(0) }
func (c *loopConn) Unacked() int       { return len(c.held) + c.missing(socketUnacked(c.socket)) }
func (c *loopConn) GuardPeer(ms int64) { guardSocket(c.socket, ms) }
func (c *loopConn) Heard() Silence     { return socketHeard(c.socket) }
func (c *loopConn) Attach(s Session)   { c.session = s }
func (c *loopConn) PeerGone() bool     { return c.fd < 0 || socketPeerGone(c.fd) }
