package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// loginTimeout is how long a connection may take to be one, and writeTimeout how long one write may.
const (
	loginTimeout = 5 * time.Second
	writeTimeout = 5 * time.Second
)

// keepAlive has the system notice in half a minute that the peer of a waiting connection is gone.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

var errBroken = errors.New("the connection is broken")

// wire is a connection that one call has, or the one that vouches: commands go out in any number, replies
// come back in their order, and pushes between them.
type wire struct {
	nc   net.Conn
	told func(push) // called by the goroutine that reads
	// broke is closed when the connection is of no use any more.
	broke chan struct{}

	wrote chan struct{} // something is in out

	mu      sync.Mutex
	awaited []chan answer
	out     []byte // still to be written
	err     error
}

type answer struct {
	value any
	err   error
}

// dialWire opens a connection and logs in. told hears what the server says unasked.
func dialWire(ctx context.Context, s Server, name string, told func(push)) (*wire, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	nc, login, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if tcp, ok := nc.(interface {
		SetKeepAliveConfig(net.KeepAliveConfig) error
	}); ok {
		_ = tcp.SetKeepAliveConfig(keepAlive)
	}
	w := &wire{nc: nc, told: told, broke: make(chan struct{}), wrote: make(chan struct{}, 1)}
	go w.read()
	go w.write()
	hello := []string{"HELLO", "3"}
	if login.Password != "" {
		user := login.User
		if user == "" {
			user = "default"
		}
		hello = append(hello, "AUTH", user, login.Password)
	}
	if _, err = w.do(ctx, append(hello, "SETNAME", name)...); err == nil && login.Database != 0 {
		_, err = w.do(ctx, "SELECT", strconv.Itoa(login.Database))
	}
	if err != nil {
		w.close(err)
		return nil, err
	}
	return w, nil
}

// read gives replies to those who wait for them, until the connection ends.
func (w *wire) read() {
	in := bufio.NewReader(w.nc)
	for {
		reply, err := readReply(in)
		if err != nil {
			w.close(fmt.Errorf("%w: %w", errBroken, err))
			return
		}
		if message, unasked := reply.(push); unasked {
			if w.told != nil {
				w.told(message)
			}
			continue
		}
		w.mu.Lock()
		if len(w.awaited) == 0 {
			w.mu.Unlock()
			w.close(fmt.Errorf("%w: a reply that nobody waits for", errBroken))
			return
		}
		first := w.awaited[0]
		w.awaited = w.awaited[1:]
		w.mu.Unlock()
		if refused, isError := reply.(ReplyError); isError {
			first <- answer{err: refused}
		} else {
			first <- answer{value: reply}
		}
	}
}

// send sends a command; its answer comes by the channel, in any case.
func (w *wire) send(words ...string) <-chan answer {
	came := make(chan answer, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		came <- answer{err: w.err}
		return came
	}
	w.awaited = append(w.awaited, came)
	w.out = fmt.Appendf(w.out, "*%d\r\n", len(words))
	for _, word := range words {
		w.out = fmt.Appendf(w.out, "$%d\r\n%s\r\n", len(word), word)
	}
	select {
	case w.wrote <- struct{}{}:
	default:
	}
	return came
}

// write sends what is to be written until the connection ends: a caller must not wait for a server that does
// not read.
func (w *wire) write() {
	var next []byte
	for {
		select {
		case <-w.wrote:
		case <-w.broke:
			return
		}
		w.mu.Lock()
		next, w.out = w.out, next[:0]
		w.mu.Unlock()
		_ = w.nc.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.nc.Write(next); err != nil {
			w.close(fmt.Errorf("%w: %w", errBroken, err))
			return
		}
	}
}

// do is send for who waits for the answer. When the context ends first the connection is closed: the server
// gives up what it was doing for it.
func (w *wire) do(ctx context.Context, words ...string) (any, error) {
	select {
	case a := <-w.send(words...):
		return a.value, a.err
	case <-ctx.Done():
		w.close(errBroken)
		return nil, ended(ctx)
	}
}

// reason is why the connection is of no use any more.
func (w *wire) reason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// close ends the connection, and every wait for a reply.
func (w *wire) close(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail(why)
}

// fail is close; the caller holds mu.
func (w *wire) fail(why error) {
	if w.err != nil {
		return
	}
	w.err = why
	_ = w.nc.Close()
	for _, came := range w.awaited {
		came <- answer{err: why}
	}
	w.awaited = nil
	close(w.broke)
}

// spares are connections for calls that wait, between two of them.
type spares struct {
	mu     sync.Mutex
	idle   []*wire
	closed bool
}

// mostSpares is how many of them are kept.
const mostSpares = 8

// take returns a connection that nobody uses; nil: there is none.
func (s *spares) take() *wire {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.idle) > 0 {
		w := s.idle[len(s.idle)-1]
		s.idle = s.idle[:len(s.idle)-1]
		select {
		case <-w.broke:
		default:
			return w
		}
	}
	return nil
}

// give takes a connection back.
func (s *spares) give(w *wire) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.idle) >= mostSpares {
		w.close(ErrClosed)
		return
	}
	s.idle = append(s.idle, w)
}

// close closes those that are there, and whatever is given back from now on.
func (s *spares) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, w := range s.idle {
		w.close(ErrClosed)
	}
	s.idle = nil
}
