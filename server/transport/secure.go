package transport

import (
	"container/list"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Encrypted connections. The handshake has a goroutine of its own, so that no loop waits for a peer's
// certificate or for arithmetic; then the connection is passed to an event loop (secure_epoll.go), or to
// goroutines of its own, like any other.

const (
	// handshakeTime is the time limit for a peer's handshake.
	handshakeTime = 10 * time.Second
	// mostHandshakes limits the handshakes at the same time, of at most some 40 KB each. Beyond it the oldest
	// is cut.
	mostHandshakes = 1000
	// handshakeLines limits the failed handshakes that are logged in each handshakePause.
	handshakeLines = 10
	handshakePause = time.Second
)

// handshakes holds the running handshakes, and the log state of failed handshakes. It has its own lock.
type handshakes struct {
	mu     sync.Mutex
	open   list.List // of net.Conn, the oldest first
	since  time.Time // begin of the period of lines
	lines  int
	silent int // failures that were not logged in this period
}

// begin records the beginning of a handshake, and cuts the oldest if there are too many.
func (h *handshakes) begin(nc net.Conn) *list.Element {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open.Len() >= mostHandshakes {
		cut(h.open.Remove(h.open.Front()).(net.Conn))
	}
	return h.open.PushBack(nc)
}

// end records the end of a handshake.
func (h *handshakes) end(e *list.Element) {
	h.mu.Lock()
	h.open.Remove(e) // does nothing for a handshake that was cut
	h.mu.Unlock()
}

// failed logs why a peer was refused. It logs nothing for a connection that was only opened and closed.
func (h *handshakes) failed(log *slog.Logger, peer net.Addr, err error) {
	if errors.Is(err, io.EOF) {
		log.Debug("a TLS connection ended before its handshake", "peer", peer)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.since) >= handshakePause {
		h.since, h.lines = now, 0
	}
	if h.lines++; h.lines > handshakeLines {
		h.silent++
		return
	}
	log.Warn("a TLS handshake failed, and the connection is closed", "peer", peer, "cause", err, "not-logged", h.silent)
	h.silent = 0
}

// serveSecure returns a function that does the handshake of a connection and serves it. The function returns
// false if the endpoint is not open.
func (e *Endpoint) serveSecure(config func() *tls.Config) func(net.Conn) bool {
	return func(nc net.Conn) bool {
		return e.carry(nc, func(nc net.Conn) { e.shakeAndServe(nc, config()) })
	}
}

// shakeAndServe is the goroutine of an encrypted connection. It ends when an event loop takes the connection,
// or when the connection ends.
func (e *Endpoint) shakeAndServe(nc net.Conn, config *tls.Config) {
	c := &carriage{Conn: nc}
	tc := tls.Server(c, config)
	place := e.handshakes.begin(nc)
	_ = nc.SetDeadline(time.Now().Add(handshakeTime))
	err := shake(tc)
	e.handshakes.end(place)
	if err != nil {
		e.handshakes.failed(e.log, nc.RemoteAddr(), err)
		_ = nc.Close()
		return
	}
	_ = nc.SetDeadline(time.Time{})
	if e.loops == nil || !e.loops.adopt(tc, c) {
		e.serveConn(tc)
	}
}

// shake runs the handshake. A panic caused by a peer's bytes ends the peer's connection, not the process.
func shake(tc *tls.Conn) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handshake panicked: %v", p)
		}
	}()
	return tc.Handshake()
}

// carriage is the connection underneath an encrypted connection. On an event loop it only passes bytes
// between crypto/tls and the loop: see layer.
type carriage struct {
	net.Conn
	layer *layer
}

// Read implements net.Conn.
func (c *carriage) Read(b []byte) (int, error) {
	if c.layer == nil {
		return c.Conn.Read(b)
	}
	return c.layer.take(b)
}

// Write implements net.Conn.
func (c *carriage) Write(b []byte) (int, error) {
	if c.layer == nil {
		return c.Conn.Write(b)
	}
	return c.layer.put(b), nil
}

// SetWriteDeadline implements net.Conn: the closing message of TLS sets a deadline, which has no effect on a
// loop.
func (c *carriage) SetWriteDeadline(t time.Time) error {
	if c.layer == nil {
		return c.Conn.SetWriteDeadline(t)
	}
	return nil
}

// NetConn returns the connection underneath, for code that needs its socket.
func (c *carriage) NetConn() net.Conn { return c.Conn }

// certificateName returns the common name in the certificate that the peer has proved to own, or "".
func certificateName(nc net.Conn) string {
	tc, ok := nc.(*tls.Conn)
	if !ok {
		return ""
	}
	if chains := tc.ConnectionState().VerifiedChains; len(chains) > 0 {
		return chains[0][0].Subject.CommonName
	}
	return ""
}

// errDry tells crypto/tls that there is no more ciphertext for now. It is a temporary error, so that a later
// read continues.
type errDry struct{}

func (errDry) Error() string   { return "transport: no input yet" }
func (errDry) Timeout() bool   { return true }
func (errDry) Temporary() bool { return true }

// recordBytes is the largest plaintext of a TLS record.
const recordBytes = 16 << 10

// layer is TLS on an event loop: it decrypts input, and encrypts output as records. crypto/tls needs a
// connection that never waits, which is carriage.
type layer struct {
	conn   *tls.Conn
	input  []byte // ciphertext that conn has not read yet
	sealed []byte // records that conn has written since seal or open began

	// How much output the peer can have read is counted in plaintext, but known only by whole records,
	// because an incomplete record cannot be read. last is a ring with the last records.
	plain, cipher int64
	last          [16]record
	next          int
}

// record is the position of a record, counted from the connection's first byte.
type record struct{ plainFrom, plainTo, cipherTo int64 }

// take passes ciphertext to conn.
func (l *layer) take(b []byte) (int, error) {
	if len(l.input) == 0 {
		return 0, errDry{}
	}
	n := copy(b, l.input)
	l.input = l.input[n:]
	return n, nil
}

// put takes a record from conn, or a part of a record.
func (l *layer) put(b []byte) int {
	l.sealed = append(l.sealed, b...)
	l.cipher += int64(len(b))
	return len(b)
}

// open decrypts the input into buf; more says that buf was full. err is io.EOF after the peer's closing
// message, and otherwise the fault in the peer's bytes. unload returns the answer to send.
func (l *layer) open(buf []byte) (n int, more bool, err error) {
	for n < len(buf) {
		got, err := l.conn.Read(buf[n:])
		n += got
		if errors.Is(err, errDry{}) {
			return n, false, nil
		}
		if err != nil {
			return n, false, err
		}
	}
	return n, true, nil
}

// seal encrypts output as records, one for each recordBytes. It may use the memory of buf.
func (l *layer) seal(b, buf []byte) ([]byte, error) {
	l.sealed = append(buf[:0], l.sealed...)
	for len(b) > 0 {
		piece := b[:min(len(b), recordBytes)]
		if _, err := l.conn.Write(piece); err != nil {
			return nil, err
		}
		b = b[len(piece):]
		from := l.plain
		l.plain += int64(len(piece))
		l.last[l.next] = record{from, l.plain, l.cipher}
		l.next = (l.next + 1) % len(l.last)
	}
	return l.unload(), nil
}

// farewell returns the closing message.
func (l *layer) farewell() []byte {
	_ = l.conn.CloseWrite()
	return l.unload()
}

// unload returns the records to send.
func (l *layer) unload() []byte {
	b := l.sealed
	l.sealed = nil
	return b
}

// missing returns how many bytes of the output the peer cannot have read, if the last cipher bytes of
// ciphertext have not reached it. For records that are not in the ring any more it assumes the best case.
func (l *layer) missing(cipher int) int {
	if cipher == 0 {
		return 0
	}
	arrived := l.cipher - int64(cipher)
	read := l.last[l.next].plainFrom // of the oldest record; 0 if the ring is not full yet
	for i := range l.last {
		if r := &l.last[i]; r.cipherTo <= arrived {
			read = max(read, r.plainTo)
		}
	}
	return int(l.plain - read)
}
