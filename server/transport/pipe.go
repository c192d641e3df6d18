package transport

import (
	"errors"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"time"
)

// mostPiped limits the bytes from a client that the server has not read. The server reads at once, unless it
// makes the client wait: see flow.go.
const mostPiped = 1 << 20

// pipe returns the two ends of an in-process connection. Unlike with net.Pipe a write does not wait for the
// reader, so a client may send a long pipeline before it reads the first reply, as over TCP. The server's
// limits bound the bytes to the client, and mostPiped bounds the bytes to the server.
func pipe() (client, server *pipeEnd) {
	a, b := newPipeBuffer(math.MaxInt), newPipeBuffer(mostPiped)
	return &pipeEnd{in: a, out: b, local: "client"}, &pipeEnd{in: b, out: a, local: "server"}
}

// pipeBuffer carries bytes in one direction.
type pipeBuffer struct {
	most     int // a write waits while the buffer has more
	writing  sync.Mutex
	mu       sync.Mutex
	ready    sync.Cond // data was written, the buffer was closed, or a deadline may have passed
	space    sync.Cond // data was read, the buffer was closed, or a deadline may have passed
	data     []byte
	off      int
	taken    int64 // number of bytes ever read
	closed   bool
	deadline pipeDeadline // deadline of reads
	writeBy  pipeDeadline
	// onTaken is called once, when taken has reached awaited.
	onTaken func()
	awaited int64
}

// pipeDeadline is the time until which a call may wait; zero means for ever.
type pipeDeadline struct {
	at    time.Time
	alarm *time.Timer
}

func (d *pipeDeadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func newPipeBuffer(most int) *pipeBuffer {
	b := &pipeBuffer{most: most}
	b.ready.L, b.space.L = &b.mu, &b.mu
	return b
}

func (b *pipeBuffer) read(p []byte) (int, error) {
	n, taken, err := b.take(p)
	if taken != nil {
		taken()
	}
	return n, err
}

// take reads without calling onTaken. It returns onTaken if the call is due, because onTaken needs locks that
// must be taken before the buffer's lock.
func (b *pipeBuffer) take(p []byte) (n int, taken func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.off == len(b.data) {
		if b.closed {
			return 0, nil, io.EOF
		}
		if b.deadline.passed() {
			return 0, nil, os.ErrDeadlineExceeded
		}
		b.ready.Wait()
	}
	n = copy(p, b.data[b.off:])
	b.off += n
	b.taken += int64(n)
	b.space.Signal()
	if b.off == len(b.data) {
		b.off = 0
		b.data = b.data[:0]
		if cap(b.data) > 64<<10 {
			b.data = nil
		}
	}
	if b.onTaken != nil && b.taken >= b.awaited {
		taken, b.onTaken = b.onTaken, nil
	}
	return n, taken, nil
}

// whenTaken makes the reader call f once, when it has read that many bytes in total. It returns false if it
// already has.
func (b *pipeBuffer) whenTaken(bytes int64, f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken >= bytes {
		return false
	}
	b.onTaken, b.awaited = f, bytes
	return true
}

// compact drops the bytes already read, if they are most of the buffer: a reader that never catches up would
// leave them there.
func (b *pipeBuffer) compact() {
	if b.off > len(b.data)/2 {
		b.data = b.data[:copy(b.data, b.data[b.off:])]
		b.off = 0
	}
}

func (b *pipeBuffer) write(p []byte) (n int, err error) {
	b.writing.Lock() // two writers must not mix their bytes
	defer b.writing.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch free := b.most - (len(b.data) - b.off); {
		case b.closed:
			return n, io.ErrClosedPipe
		case b.writeBy.passed():
			return n, os.ErrDeadlineExceeded
		case free > 0:
			part := p[n:min(len(p), n+free)]
			b.compact()
			b.data = append(b.data, part...)
			n += len(part)
			b.ready.Signal()
			if n == len(p) {
				return n, nil
			}
		}
		b.space.Wait()
	}
}

func (b *pipeBuffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, d := range []*pipeDeadline{&b.deadline, &b.writeBy} {
		if d.alarm != nil {
			d.alarm.Stop()
		}
	}
	b.ready.Broadcast()
	b.space.Broadcast()
}

// drop closes the buffer and discards its unread bytes.
func (b *pipeBuffer) drop() {
	b.mu.Lock()
	b.data, b.off, b.closed = nil, 0, true
	b.mu.Unlock()
	b.close()
}

// setDeadline sets one of the buffer's deadlines.
func (b *pipeBuffer) setDeadline(d *pipeDeadline, t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d.at = t
	if d.alarm != nil {
		d.alarm.Stop()
		d.alarm = nil
	}
	if t.IsZero() || b.closed {
		return
	}
	d.alarm = time.AfterFunc(time.Until(t), func() {
		b.mu.Lock()
		b.ready.Broadcast()
		b.space.Broadcast()
		b.mu.Unlock()
	})
}

// everTaken returns the number of bytes ever read.
func (b *pipeBuffer) everTaken() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken
}

func (b *pipeBuffer) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// pipeEnd is an end of a pipe; it implements net.Conn.
type pipeEnd struct {
	in, out *pipeBuffer
	local   pipeAddr
	audited bool // see Peer.Audited
}

func (e *pipeEnd) Read(p []byte) (int, error) { return e.in.read(p) }

func (e *pipeEnd) Write(p []byte) (int, error) {
	n, err := e.out.write(p)
	if errors.Is(err, io.ErrClosedPipe) {
		return n, net.ErrClosed
	}
	return n, err
}

// Close ends both directions: bytes in the buffers can still be read.
func (e *pipeEnd) Close() error {
	e.in.close()
	e.out.close()
	return nil
}

// CloseWrite ends one direction, like that of net.TCPConn: the bytes that the other end writes can still be
// read.
func (e *pipeEnd) CloseWrite() error {
	e.out.close()
	return nil
}

func (e *pipeEnd) LocalAddr() net.Addr  { return e.local }
func (e *pipeEnd) RemoteAddr() net.Addr { return pipeAddr("in-process") }

// SetDeadline limits Read and Write.
func (e *pipeEnd) SetDeadline(t time.Time) error {
	e.in.setDeadline(&e.in.deadline, t)
	e.out.setDeadline(&e.out.writeBy, t)
	return nil
}

// SetReadDeadline limits Read.
func (e *pipeEnd) SetReadDeadline(t time.Time) error {
	e.in.setDeadline(&e.in.deadline, t)
	return nil
}

// SetWriteDeadline limits Write.
func (e *pipeEnd) SetWriteDeadline(t time.Time) error {
	e.out.setDeadline(&e.out.writeBy, t)
	return nil
}

// pipeAddr names an end of a pipe.
type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }
