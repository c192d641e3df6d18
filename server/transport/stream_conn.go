package transport

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	readBufferBytes = 16 << 10
	// writeBytes is the largest size of a write.
	writeBytes = 256 << 10
	// mostSpareBytes is the size of the largest reply buffer that a connection keeps while it is idle.
	mostSpareBytes = 64 << 10
	// pausedGlance is how often a connection that is not read is checked, because it may have been closed.
	pausedGlance = 50 * time.Millisecond
)

// streamConn is a connection that is not on an event loop: a pipe inside the process, or a connection of any
// net.Listener. One goroutine reads and runs commands, another writes, so that a client that does not read
// never prevents the server from reading, or from noticing that the client has disconnected.
type streamConn struct {
	conn    net.Conn
	session Session
	stop    <-chan struct{} // closed with the endpoint

	// The holder of mu is the session's owner.
	mu      sync.Mutex
	scratch Scratch

	outMu   sync.Mutex
	out     []byte // output to be written
	writing int    // bytes that the writer has taken and not yet written
	queued  int64  // number of bytes ever added to out
	ended   bool   // the connection must be closed when out is empty
	broken  bool   // a write has failed: nothing more can be written

	signal chan struct{} // there is output, a wake-up, or an end
	pumped bool          // a wake-up is due (under outMu)
	drains bool          // a wake-up is due when the output has fallen to drainTo (under outMu)
	// drainTo is set by AwaitDrain.
	drainTo int
	notFull chan struct{} // the session's input may have space again
}

// serveConn serves a connection until it ends. It returns when both its goroutines have ended.
func (e *Endpoint) serveConn(nc net.Conn) {
	t := &streamConn{conn: nc, stop: e.stop, scratch: e.host.NewScratch(false),
		signal: make(chan struct{}, 1), notFull: make(chan struct{}, 1)}
	end, piped := nc.(*pipeEnd)
	refusal, accepted := e.host.Open(t, Peer{Local: nc.LocalAddr(), Remote: nc.RemoteAddr(), FD: -1, Certificate: certificateName(nc),
		Audited: piped && end.audited})
	if !accepted {
		if refusal != "" { // a pipe delivers even an empty write only to a reader
			_, _ = nc.Write([]byte(refusal))
		}
		_ = nc.Close()
		return
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		t.write()
	}()
	if err := t.read(); errors.Is(err, io.EOF) && t.lingers() {
		select {
		case <-written:
		case <-e.stop: // does not wait for the disk
		}
	}
	t.mu.Lock()
	t.session.Close()
	t.mu.Unlock()
	t.end()
	<-written
	_ = nc.Close()
}

// read feeds the session until the session or the input ends. The error is that of the input.
func (t *streamConn) read() (err error) {
	defer t.contain(&err)
	buf := make([]byte, readBufferBytes)
	for {
		n, err := t.conn.Read(buf)
		if n > 0 {
			hangUp, full := t.pump(buf[:n])
			if hangUp || full && !t.awaitSpace() {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// errPanicked is the reason for the end of a connection after a panic in its input or output.
var errPanicked = errors.New("transport: the connection panicked")

// contain is deferred by both goroutines. After a panic, which may come from a foreign net.Conn, it ends the
// connection and not the process.
func (t *streamConn) contain(err *error) {
	if p := recover(); p != nil {
		t.session.Panicked(p)
		*err = errPanicked
		t.outMu.Lock()
		t.broken = true
		t.outMu.Unlock()
		cut(t.conn)
		t.end()
	}
}

// awaitSpace waits until the session's input has space. It returns false if the connection has ended.
func (t *streamConn) awaitSpace() bool {
	glance := time.NewTicker(pausedGlance)
	defer glance.Stop()
	for {
		t.mu.Lock()
		full := t.session.InputFull(readBufferBytes)
		t.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-t.notFull:
		case <-t.stop:
			return false
		case <-glance.C:
			if t.isClosed() {
				return false
			}
		}
	}
}

// isClosed reports whether nothing can be sent any more.
func (t *streamConn) isClosed() bool {
	if p, ok := t.conn.(*pipeEnd); ok {
		return p.out.isClosed()
	}
	t.outMu.Lock()
	defer t.outMu.Unlock()
	return t.broken || t.ended || t.session.Lost()
}

// lingers reports whether a client that has closed its sending half will get further output; pump then ends
// the connection after that output.
func (t *streamConn) lingers() bool {
	if p, ok := t.conn.(*pipeEnd); ok && p.out.isClosed() { // the client does not read, either
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session.Lingers(false) // the output of the connection is written in any case
}

// pump runs the input; data may be nil: then it continues after a waiting command. It reports whether the
// connection must end, and whether the input is full.
func (t *streamConn) pump(data []byte) (hangUp, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hangUp = t.session.Feed(data, t.scratch, nil)
	t.scratch.Trim(mostSpareBytes)
	if hangUp {
		t.end()
	}
	full = t.session.InputFull(readBufferBytes)
	if data == nil && !full { // the reader may be waiting
		select {
		case t.notFull <- struct{}{}:
		default:
		}
	}
	return hangUp, full
}

// write is the writer's goroutine.
func (t *streamConn) write() {
	defer t.contain(new(error))
	var spare []byte
	for range t.signal {
		for {
			t.outMu.Lock()
			woken := t.pumped
			t.pumped = false
			t.outMu.Unlock()
			if woken {
				t.pump(nil)
			}
			t.outMu.Lock()
			out := t.out
			t.out = spare[:0]
			t.writing = len(out)
			ended := t.ended
			t.outMu.Unlock()
			if len(out) == 0 {
				spare = out
				if ended {
					if !t.session.Lost() {
						_ = t.conn.Close()
					}
					return
				}
				break
			}
			if t.writeOut(out) != nil {
				_ = t.conn.Close()
				return
			}
			if spare = out; cap(spare) > mostSpareBytes {
				spare = nil
			}
		}
	}
}

// writeOut writes output in pieces, to notice when the client takes some of it.
func (t *streamConn) writeOut(out []byte) error {
	for len(out) > 0 {
		n, err := t.conn.Write(out[:min(len(out), writeBytes)])
		t.wrote(n, err)
		if err != nil {
			return err
		}
		out = out[n:]
	}
	return nil
}

// wrote counts the written bytes.
func (t *streamConn) wrote(n int, err error) {
	if n == writeBytes {
		t.session.MarkRead()
	}
	t.outMu.Lock()
	defer t.outMu.Unlock()
	t.writing -= n
	t.broken = err != nil
	if _, ok := t.conn.(*pipeEnd); !ok && t.drains && len(t.out)+t.writing <= t.drainTo {
		t.drains, t.pumped = false, true
	}
}

// AwaitDrain implements Conn.
func (t *streamConn) AwaitDrain(low int) bool {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	if p, ok := t.conn.(*pipeEnd); ok {
		return p.out.whenTaken(t.queued-int64(low), t.drained)
	}
	if len(t.out)+t.writing <= low {
		return false
	}
	t.drains, t.drainTo = true, low
	return true
}

// drained wakes the session's owner when a pipe has drained.
func (t *streamConn) drained() { t.Wake(nil) }

func (t *streamConn) wake() {
	select {
	case t.signal <- struct{}{}:
	default:
	}
}

// end closes the connection once all output has been written.
func (t *streamConn) end() {
	t.outMu.Lock()
	t.ended = true
	t.outMu.Unlock()
	t.wake()
}

// Wake implements Conn: the writing goroutine feeds the session.
func (t *streamConn) Wake(*Loop) {
	t.outMu.Lock()
	t.pumped = true
	t.outMu.Unlock()
	t.wake()
}

// WakeAtEnd implements Conn.
func (t *streamConn) WakeAtEnd(from *Loop) { t.Wake(from) }

// Send implements Conn.
func (t *streamConn) Send(b []byte, _ bool) (held bool, err error) {
	if !t.session.MayLeave() {
		t.HangUp()
		return false, net.ErrClosed
	}
	t.outMu.Lock()
	defer t.outMu.Unlock()
	if t.broken {
		return false, net.ErrClosed
	}
	t.out = append(t.out, b...)
	t.queued += int64(len(b))
	t.wake()
	return false, nil
}

// Buffered implements Conn.
func (t *streamConn) Buffered() int {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	if p, ok := t.conn.(*pipeEnd); ok { // the bytes in the pipe may also count as being written
		return int(t.queued - p.out.everTaken())
	}
	return len(t.out) + t.writing
}

// WhileBusy implements Conn. It does nothing, because every connection has goroutines of its own.
func (t *streamConn) WhileBusy() {}

// Unsent implements Conn. Bytes that are being written to a socket may have arrived although the write has
// not returned.
func (t *streamConn) Unsent() int {
	if _, ok := t.conn.(*pipeEnd); ok {
		return t.Buffered()
	}
	t.outMu.Lock()
	defer t.outMu.Unlock()
	return len(t.out)
}

// Unacked implements Conn. For an encrypted connection the system only knows the records. The peer may have
// read more than their bytes show, so they count as read.
func (t *streamConn) Unacked() int {
	if carrier(t.conn) != t.conn {
		return t.Buffered()
	}
	return t.Buffered() + netConnUnacked(t.conn)
}

// HangUp implements Conn.
func (t *streamConn) HangUp() {
	if t.session.Lost() {
		resetNetConn(carrier(t.conn)) // the reader notices the end of input, and closes the session before the connection
		return
	}
	if p, ok := t.conn.(*pipeEnd); ok {
		p.out.drop() // discards output, as for a socket
	}
	cut(t.conn)
	t.end() // perhaps no goroutine is reading
}

// The other methods of Conn.

func (t *streamConn) GuardPeer(ms int64)     { guardNetConn(carrier(t.conn), ms) }
func (t *streamConn) Heard() Silence         { return netConnHeard(carrier(t.conn)) }
func (t *streamConn) SetUnauthenticated(int) {} // reads are small, and clients do not wait for each other
func (t *streamConn) Attach(s Session)       { t.session = s }

// PeerGone implements Conn.
func (t *streamConn) PeerGone() bool {
	if p, ok := t.conn.(*pipeEnd); ok {
		return p.in.isClosed()
	}
	return netConnPeerGone(carrier(t.conn))
}

// carrier returns the connection underneath an encrypted connection.
func carrier(nc net.Conn) net.Conn {
	for {
		over, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return nc
		}
		nc = over.NetConn()
	}
}

// cut closes a connection without the closing message of TLS, because a peer that does not read could block
// it.
func cut(nc net.Conn) { _ = carrier(nc).Close() }
