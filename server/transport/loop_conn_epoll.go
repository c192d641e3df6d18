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
	most    int    // size limit of a read; 0: the size of the buffer
	leaving bool   // close the connection when pending was written
	deaf    bool   // the client has closed its sending half
	paused  bool   // the connection is not read, because the session's input is full
	drains  bool   // feed the session when pending has fallen to drainTo
	drainTo int
	epoch   uint32 // window of coalescing in which it was counted last
	watched bool   // registered with epoll
	drained uint32 // number of the round in which drain has pumped it, plus one; 0: none
	// unauth says that the client is unauthenticated. inWoken says that the connection is in one of the
	// driver's lists of woken connections. Both change under the driver's mu.
	unauth, inWoken bool
}

// over is the set of events of a connection with at least one closed end.
const over = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// watch tells epoll which events to report. op adds the connection, or changes its events. Polling is
// edge-triggered: the kernel need not look again at each socket that had data in the last round. Data that is
// there already counts as an edge.
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

// ready handles an event. If data is left in the socket, another event comes in the next round: each
// connection has one read in a round. The end of the input is noticed after the replies of the round were
// sent.
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

// lookAgain makes epoll report its last events again.
func (c *loopConn) lookAgain() {
	if c.fd >= 0 {
		_ = c.watch(unix.EPOLL_CTL_MOD)
	}
}

// read reads from the socket once, and reports whether epoll must be asked again: there may be more data, or
// the wanted events have changed.
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
	case c.leaving: // input of a connection that is closing is ignored
	case c.layer != nil:
		return c.pumpSealed(buf[:n]) || int(n) == len(buf)
	default:
		c.pump(buf[:n])
	}
	return int(n) == len(buf)
}

// inputEnded handles the end of the input. It closes the connection, unless the peer will get further output.
// again says that epoll must report fewer events from now on.
func (c *loopConn) inputEnded() (again bool) {
	if c.deaf || !c.leaving && !c.session.Lingers(c.Unsent() > 0) {
		c.close()
		return false
	}
	c.deaf = true // the end of input may be reported again later, and changes nothing then
	c.pump(nil)
	return true
}

// pump feeds the session and closes the connection if necessary.
func (c *loopConn) pump(data []byte) {
	if c.fd < 0 || c.leaving {
		return
	}
	if !c.session.Feed(data, c.loop.scratch, c.loop) || c.fd < 0 {
		was := c.paused
		if c.paused = c.session.InputFull(c.readBytes()); was && !c.paused {
			c.lookAgain() // at input that came meanwhile
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

// readBytes returns the largest size of a read.
func (c *loopConn) readBytes() int {
	if c.layer != nil {
		return plainBytes
	}
	return loopReadBytes
}

// woken pumps the connection without input.
func (c *loopConn) woken() {
	defer c.contain()
	c.pump(nil)
}

// contain is deferred by the loop's calls into a connection. It makes a panic there end the connection, not
// the loop.
func (c *loopConn) contain() {
	if p := recover(); p != nil {
		c.session.Panicked(p)
		c.close()
	}
}

// maxHeldBytes limits the output that a loop holds.
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

// release writes the held output; an error closes the connection.
func (c *loopConn) release() {
	if c.held != nil {
		b := c.held
		c.held = nil
		_ = c.sendNow(b)
	}
}

// releaseContained does what release does, at the end of a round, and contains panics.
func (c *loopConn) releaseContained() {
	defer c.contain()
	c.release()
}

// sendNow writes to the socket and keeps the bytes that it does not take.
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

// sendRaw does what sendNow does, without encryption.
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

// mostFlushed limits the kept output that one event writes. A client that reads as fast as the loop writes
// must not delay the others.
const mostFlushed = 128 << 10

// flush continues to write kept output.
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
	if n == mostFlushed || c.pending == nil { // the socket may take more, or is not watched for output any more
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
	c.session.Close() // before the descriptor can belong to another connection: see HangUp
	c.held, c.pending = nil, nil
	_ = unix.Close(fd) // this also removes it from epoll, because it has no duplicate
}

// wake makes the loop pump the connection; any goroutine may call it. A connection that is already woken has
// one turn, not two. Otherwise a connection with more work than one turn allows, which is woken for that
// work, would have an additional turn after each of its reads.
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

// AwaitDrain implements Conn: flush checks the limit.
func (c *loopConn) AwaitDrain(low int) bool {
	if c.Buffered() <= low {
		return false
	}
	c.drains, c.drainTo = true, low
	return true
}

// HangUp implements Conn: the loop notices that the socket is shut.
func (c *loopConn) HangUp() {
	if c.session.Lost() {
		resetSocket(c.socket)
		c.wake() // a paused connection would not notice the end of its input
		return
	}
	_ = unix.Shutdown(c.socket, unix.SHUT_RDWR)
}

// The other methods of Conn.

func (c *loopConn) Buffered() int      { return len(c.held) + len(c.pending) }
func (c *loopConn) Unsent() int        { return len(c.held) + c.missing(0) }
func (c *loopConn) Unacked() int       { return len(c.held) + c.missing(socketUnacked(c.socket)) }
func (c *loopConn) GuardPeer(ms int64) { guardSocket(c.socket, ms) }
func (c *loopConn) Heard() Silence     { return socketHeard(c.socket) }
func (c *loopConn) Attach(s Session)   { c.session = s }
func (c *loopConn) PeerGone() bool     { return c.fd < 0 || socketPeerGone(c.fd) }

// FlushAtEnd flushes f at the end of the round, before the loop sends the held output. Only a session that
// the loop is feeding calls it.
func (l *Loop) FlushAtEnd(f Flusher) { l.unflushed = f }

// Wake implements Conn. From the same loop it only appends to queue; from elsewhere it wakes the loop.
func (t *loopConn) Wake(from *Loop) {
	// plant:same-loop
	if from == t.loop {
		from.queue = append(from.queue, t)
		return
	}
	t.wake()
}

// WakeAtEnd implements Conn.
func (t *loopConn) WakeAtEnd(from *Loop) {
	if from == t.loop {
		from.late = append(from.late, t)
		return
	}
	t.wake()
}

// drain pumps the connections that this loop has woken, each once in a round. A connection that is woken
// again has its next turn in the next round. So connections that wake themselves, or each other, do not delay
// the others.
func (l *Loop) drain() {
	round := l.driver.round
	for i := 0; i < len(l.queue); i++ {
		c := l.queue[i]
		l.queue[i] = nil
		if c.drained == round+1 {
			c.wake()
			continue
		}
		c.drained = round + 1
		l.ahead++
		c.woken()
	}
	l.queue = l.queue[:0]
}

// flush flushes the log before the loop sends the held output of the round, and pumps the connections that
// were woken for the end of the round.
func (l *Loop) flush() {
	l.flushLog()
	if len(l.late) == 0 {
		return
	}
	for i := 0; i < len(l.late); i++ {
		l.late[i].woken()
		l.late[i] = nil
	}
	l.late = l.late[:0]
	l.drain()
	l.flushLog()
}

func (l *Loop) flushLog() {
	if l.unflushed != nil {
		l.unflushed.Flush()
		l.unflushed = nil
	}
}
