package server

import (
	"errors"
	"io"
	"net"
	"sync"
)

const (
	readBufferBytes = 16 << 10
	// mostSpareBytes is the room for replies that a connection keeps while it is idle.
	mostSpareBytes = 64 << 10
)

// streamConn is the transport of a connection that is not on an event loop: a pipe inside the process, or what any
// net.Listener accepts. One goroutine reads and runs commands, another writes, so that a client which does not read
// never keeps the server from reading, or from noticing that the client has gone.
type streamConn struct {
	conn    net.Conn
	session *session

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
}

// serveConn serves one connection until it ends. It returns when both its goroutines have.
func (srv *Server) serveConn(nc net.Conn) {
	t := &streamConn{conn: nc, signal: make(chan struct{}, 1)}
	_, refusal := srv.open(t, nc.LocalAddr(), nc.RemoteAddr(), -1)
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
	srv.close(t.session)
	t.mu.Unlock()
	t.end()
	<-written
	_ = nc.Close()
}

// read feeds the session until its end, or that of the input, which the error says.
func (t *streamConn) read() error {
	buf := make([]byte, readBufferBytes)
	for {
		n, err := t.conn.Read(buf)
		if n > 0 && t.pump(buf[:n]) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lingers reports whether a client that sends no more is still to get something; pump ends the connection behind that.
func (t *streamConn) lingers() bool {
	if p, ok := t.conn.(*pipeEnd); ok && p.out.isClosed() { // it reads no more, either
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session.lingers()
}

// pump runs what has been read (nil: goes on where a waiting command stood) and says whether to end.
func (t *streamConn) pump(data []byte) (hangUp bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hangUp = t.session.feed(data, &t.batch, nil)
	if cap(t.batch.out) > mostSpareBytes {
		t.batch.out = nil
	}
	if hangUp {
		t.end()
	}
	return hangUp
}

// write is the writer's goroutine.
func (t *streamConn) write() {
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
					_ = t.conn.Close()
					return
				}
				break
			}
			if n, err := t.conn.Write(out); err != nil {
				t.outMu.Lock()
				t.writing -= n
				t.broken = true
				t.outMu.Unlock()
				_ = t.conn.Close()
				return
			}
			if spare = out; cap(spare) > mostSpareBytes {
				spare = nil
			}
		}
	}
}

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

// unsent implements transport. What is being written to a socket may have arrived although the write has not returned.
func (t *streamConn) unsent() int {
	if _, ok := t.conn.(*pipeEnd); ok {
		return t.buffered()
	}
	t.outMu.Lock()
	defer t.outMu.Unlock()
	return len(t.out)
}

func (t *streamConn) hangUp() {
	if p, ok := t.conn.(*pipeEnd); ok {
		p.out.drop() // of a socket, too, nothing that we hold is sent any more
	}
	cut(t.conn)
	t.end() // nobody may be reading
}

func (t *streamConn) guardPeer(ms int64) { guardNetConn(carrier(t.conn), ms) }

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

// cut closes a connection without the farewell of TLS, for which a peer that does not read could make us wait.
func cut(nc net.Conn) { _ = carrier(nc).Close() }
