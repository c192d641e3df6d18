package server

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	readBufferBytes = 16 << 10
	// writeBytes is how much is written at once.
	writeBytes = 256 << 10
	// mostSpareBytes is the room for replies that a connection keeps while it is idle.
	mostSpareBytes = 64 << 10
	// pausedGlance is how often a connection that is not read from is looked at: it may have been closed.
	pausedGlance = 50 * time.Millisecond
)

// streamConn is the transport of a connection that is not on an event loop: a pipe inside the process, or
// what any net.Listener accepts. One goroutine reads and runs commands, another writes, so that a client
// which does not read never keeps the server from reading, or from noticing that the client has gone.
type streamConn struct {
	conn    net.Conn
	session *session
	server  *Server

	// mu makes its holder the session's owner.
	mu    sync.Mutex
	batch batch

	outMu   sync.Mutex
	out     []byte // waits to be written
	writing int    // bytes that the writer has taken and not yet written
	queued  int64  // bytes that were ever put into out
	ended   bool   // the connection is to be closed when out is empty
	broken  bool   // nothing can be written any more

	signal chan struct{} // there is output, a kick, or an end
	pumped bool          // a kick is due (under outMu)
	drains bool          // a kick is due when the output has fallen to drainTo (under outMu)
	// drainTo is set by awaitDrain.
	drainTo int
	room    chan struct{} // the session's input may no longer be full
}

// serveConn serves one connection until it ends. It returns when both its goroutines have.
func (srv *Server) serveConn(nc net.Conn) {
	t := &streamConn{conn: nc, server: srv, signal: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	_, refusal := srv.executor.open(t, nc.LocalAddr(), nc.RemoteAddr(), -1)
	if refusal != "" {
		_, _ = nc.Write([]byte(refusal))
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
		case <-srv.stopTick: // the disk is not waited for
		}
	}
	t.mu.Lock()
	srv.executor.close(t.session)
	t.mu.Unlock()
	t.end()
	<-written
	_ = nc.Close()
}

// read feeds the session until its end, or that of the input, which the error says.
func (t *streamConn) read() (err error) {
	defer t.contain(&err)
	buf := make([]byte, readBufferBytes)
	for {
		n, err := t.conn.Read(buf)
		if n > 0 {
			hangUp, full := t.pump(buf[:n])
			if hangUp || full && !t.awaitRoom() {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// errPanicked is why a connection ends whose input or output panicked.
var errPanicked = errors.New("server: the connection panicked")

// contain is deferred by both goroutines. It makes a panic, which may be that of a net.Conn of somebody
// else's, end the connection, not the process.
func (t *streamConn) contain(err *error) {
	if p := recover(); p != nil {
		t.session.logPanic(p)
		*err = errPanicked
		t.outMu.Lock()
		t.broken = true
		t.outMu.Unlock()
		cut(t.conn)
		t.end()
	}
}

// awaitRoom waits until the session's input is no longer full; false: the connection is gone.
func (t *streamConn) awaitRoom() bool {
	glance := time.NewTicker(pausedGlance)
	defer glance.Stop()
	for {
		t.mu.Lock()
		full := t.session.inputFull(readBufferBytes)
		t.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-t.room:
		case <-t.server.stopTick:
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
	return t.broken || t.ended || t.session.lost.Load()
}

// lingers reports whether a client that sends no more is still to get something; pump
// ends the connection behind that.
func (t *streamConn) lingers() bool {
	if p, ok := t.conn.(*pipeEnd); ok && p.out.isClosed() { // it reads no more, either
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session.lingers(false) // what the transport has is written in any case
}

// pump runs what has been read (nil: goes on where a waiting command stood) and says whether to end, and
// whether nothing more may be read for now.
func (t *streamConn) pump(data []byte) (hangUp, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hangUp = t.session.feed(data, &t.batch, nil)
	if cap(t.batch.out) > mostSpareBytes {
		t.batch.out = nil
	}
	if hangUp {
		t.end()
	}
	full = t.session.inputFull(readBufferBytes)
	if data == nil && !full { // the reader may be waiting
		select {
		case t.room <- struct{}{}:
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
			kicked := t.pumped
			t.pumped = false
			t.outMu.Unlock()
			if kicked {
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
					if !t.session.lost.Load() {
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

// writeOut writes output in pieces, so that it is seen when the client takes some.
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

// wrote notes what was written.
func (t *streamConn) wrote(n int, err error) {
	if n == writeBytes {
		t.session.reads.Store(true)
	}
	t.outMu.Lock()
	defer t.outMu.Unlock()
	t.writing -= n
	t.broken = err != nil
	if _, ok := t.conn.(*pipeEnd); !ok && t.drains && len(t.out)+t.writing <= t.drainTo {
		t.drains, t.pumped = false, true
	}
}

// awaitDrain implements transport.
func (t *streamConn) awaitDrain(low int) bool {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	if p, ok := t.conn.(*pipeEnd); ok {
		return p.out.whenTaken(t.queued-int64(low), t.kickBack)
	}
	if len(t.out)+t.writing <= low {
		return false
	}
	t.drains, t.drainTo = true, low
	return true
}

// kickBack is kick for a pipe.
func (t *streamConn) kickBack() { t.kick(nil) }

func (t *streamConn) wake() {
	select {
	case t.signal <- struct{}{}:
	default:
	}
}

// end closes the connection once everything has been written.
func (t *streamConn) end() {
	t.outMu.Lock()
	t.ended = true
	t.outMu.Unlock()
	t.wake()
}

func (t *streamConn) kick(*loop) {
	t.outMu.Lock()
	t.pumped = true
	t.outMu.Unlock()
	t.wake()
}

func (t *streamConn) send(b []byte, _ bool) (held bool, err error) {
	if !t.session.mayLeave() {
		t.hangUp()
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

func (t *streamConn) buffered() int {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	if p, ok := t.conn.(*pipeEnd); ok { // what the pipe holds may count as being written still
		return int(t.queued - p.out.everTaken())
	}
	return len(t.out) + t.writing
}

// whileBusy has nothing to do: every connection has goroutines of its own.
func (t *streamConn) whileBusy() {}

// unsent implements transport. What is being written to a socket may have arrived
// although the write has not returned.
func (t *streamConn) unsent() int {
	if _, ok := t.conn.(*pipeEnd); ok {
		return t.buffered()
	}
	t.outMu.Lock()
	defer t.outMu.Unlock()
	return len(t.out)
}

func (t *streamConn) unacked() int { return t.buffered() + netConnUnacked(carrier(t.conn)) }

func (t *streamConn) hangUp() {
	if t.session.lost.Load() {
		resetNetConn(carrier(t.conn)) // the reader finds the end of input, and closes the session before the connection
		return
	}
	if p, ok := t.conn.(*pipeEnd); ok {
		p.out.drop() // of a socket, too, nothing that we hold is sent any more
	}
	cut(t.conn)
	t.end() // nobody may be reading
}

func (t *streamConn) guardPeer(ms int64) { guardNetConn(carrier(t.conn), ms) }

func (t *streamConn) heard() silence {
	return t.session.executor.onItsClock(netConnHeard(carrier(t.conn)))
}

func (t *streamConn) attach(s *session) { t.session = s }

func (t *streamConn) peerGone() bool {
	if p, ok := t.conn.(*pipeEnd); ok {
		return p.in.isClosed()
	}
	return netConnPeerGone(carrier(t.conn))
}

// carrier is the connection underneath one that encrypts.
func carrier(nc net.Conn) net.Conn {
	if over, ok := nc.(interface{ NetConn() net.Conn }); ok {
		return over.NetConn()
	}
	return nc
}

// cut closes a connection without the farewell of TLS, for which a peer that does
// not read could make us wait.
func cut(nc net.Conn) { _ = carrier(nc).Close() }
