package server

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"os"
)

// pipe returns the two ends of an in-process connection. Unlike net.Pipe a write never waits for the reader, so a
// client may send a long pipeline before it reads the first reply, as it may over TCP; how much may be under way is
// bounded by the server's buffer limits.
func pipe() (client, server net.Conn) {
	a, b := newPipeBuffer(), newPipeBuffer()
	return &pipeEnd{in: a, out: b, local: "client"}, &pipeEnd{in: b, out: a, local: "server"}
}

// pipeBuffer carries bytes in one direction.
type pipeBuffer struct {
	mu       sync.Mutex
	ready    sync.Cond
	data     []byte
	off      int
	taken    int64 // bytes that were read, ever
	closed   bool
	deadline time.Time
	alarm    *time.Timer
}

func newPipeBuffer() *pipeBuffer {
	b := &pipeBuffer{}
	b.ready.L = &b.mu
	return b
}

func (b *pipeBuffer) read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.off == len(b.data) {
		if b.closed {
			return 0, io.EOF
		}
		if !b.deadline.IsZero() && !time.Now().Before(b.deadline) {
			return 0, os.ErrDeadlineExceeded
		}
		b.ready.Wait()
	}
	n := copy(p, b.data[b.off:])
	b.off += n
	b.taken += int64(n)
	if b.off == len(b.data) {
		b.off = 0
		b.data = b.data[:0]
		if cap(b.data) > 64<<10 {
			b.data = nil
		}
	}
	return n, nil
}

func (b *pipeBuffer) write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, io.ErrClosedPipe
	}
	b.data = append(b.data, p...)
	b.ready.Signal()
	return len(p), nil
}

func (b *pipeBuffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.alarm != nil {
		b.alarm.Stop()
	}
	b.ready.Broadcast()
}

// drop closes the buffer, and what was not read by now never is.
func (b *pipeBuffer) drop() {
	b.mu.Lock()
	b.data, b.off, b.closed = nil, 0, true
	b.mu.Unlock()
	b.close()
}

func (b *pipeBuffer) setDeadline(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deadline = t
	if b.alarm != nil {
		b.alarm.Stop()
		b.alarm = nil
	}
	if !t.IsZero() && !b.closed {
		b.alarm = time.AfterFunc(time.Until(t), func() {
			b.mu.Lock()
			b.ready.Broadcast()
			b.mu.Unlock()
		})
	}
}

// everTaken returns how many bytes were ever read.
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

// pipeEnd is one end; it implements net.Conn.
type pipeEnd struct {
	in, out *pipeBuffer
	local   pipeAddr
}

func (e *pipeEnd) Read(p []byte) (int, error) { return e.in.read(p) }

func (e *pipeEnd) Write(p []byte) (int, error) {
	n, err := e.out.write(p)
	if errors.Is(err, io.ErrClosedPipe) {
		return n, net.ErrClosed
	}
	return n, err
}

// Close ends both directions: what is under way can still be read.
func (e *pipeEnd) Close() error {
	e.in.close()
	e.out.close()
	return nil
}

// CloseWrite ends one direction, as that of net.TCPConn does: what the other end writes can still be read.
func (e *pipeEnd) CloseWrite() error {
	e.out.close()
	return nil
}

func (e *pipeEnd) LocalAddr() net.Addr  { return e.local }
func (e *pipeEnd) RemoteAddr() net.Addr { return pipeAddr("in-process") }

func (e *pipeEnd) SetDeadline(t time.Time) error { return e.SetReadDeadline(t) }

// SetReadDeadline bounds Read.
func (e *pipeEnd) SetReadDeadline(t time.Time) error {
	e.in.setDeadline(t)
	return nil
}

// SetWriteDeadline does nothing: a write never waits.
func (e *pipeEnd) SetWriteDeadline(time.Time) error { return nil }

// pipeAddr names an end of a pipe.
type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }
