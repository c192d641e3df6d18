package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
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

// wire is a connection: commands go out in any number, replies come back in their order, and pushes between
// them.
type wire struct {
	nc     net.Conn
	onPush func(*wire, push) // called by the goroutine that reads
	// broke is closed when the connection is of no use any more.
	broke chan struct{}

	wrote chan struct{} // something is in out

	came atomic.Uint64 // how many replies and pushes have come

	mu      sync.Mutex
	awaited []func(answer)
	out     []byte // still to be written
	err     error
}

type answer struct {
	value any
	err   error
}

// dialWire opens a connection and logs in. onPush is called with each push of the server.
func dialWire(ctx context.Context, s Server, name string, onPush func(*wire, push)) (*wire, error) {
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
	w := &wire{nc: nc, onPush: onPush, broke: make(chan struct{}), wrote: make(chan struct{}, 1)}
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
		w.came.Add(1)
		if message, unasked := reply.(push); unasked {
			w.onPush(w, message)
			continue
		}
		w.mu.Lock()
		if len(w.awaited) == 0 {
			w.mu.Unlock()
			w.close(fmt.Errorf("%w: a reply that no call waits for", errBroken))
			return
		}
		first := w.awaited[0]
		w.awaited = w.awaited[1:]
		w.mu.Unlock()
		if refused, isError := reply.(ReplyError); isError {
			first(answer{err: refused})
		} else {
			first(answer{value: reply})
		}
	}
}

// send sends a command; its answer comes by the channel, in any case.
func (w *wire) send(words ...string) <-chan answer {
	came := make(chan answer, 1)
	w.then(func(a answer) { came <- a }, words...)
	return came
}

// then sends a command. take is called with its answer, in any case. The goroutine that reads calls it,
// between what came before and what comes after. If the connection ends first, a goroutine of its own does.
func (w *wire) then(take func(answer), words ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		go take(answer{err: w.err})
		return
	}
	w.awaited = append(w.awaited, take)
	w.out = fmt.Appendf(w.out, "*%d\r\n", len(words))
	for _, word := range words {
		w.out = fmt.Appendf(w.out, "$%d\r\n%s\r\n", len(word), word)
	}
	select {
	case w.wrote <- struct{}{}:
	default:
	}
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

// alive asks the server for a sign of life, and reports whether it was answered. The connection is closed
// when nothing has come for as long as within. The answer may have very many others before it.
func (w *wire) alive(ctx context.Context, within time.Duration) bool {
	answered := w.send("PING")
	for before := w.came.Load(); ; before = w.came.Load() {
		select {
		case a := <-answered:
			return a.err == nil
		case <-ctx.Done():
			w.close(errBroken)
			return false
		case <-time.After(within):
		}
		if w.came.Load() == before {
			w.close(errBroken)
			return false
		}
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
	if w.err != nil {
		return
	}
	w.err = why
	nc := w.nc
	if encrypted, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = encrypted.NetConn()
	}
	if tcp, ok := nc.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // what the server has not read it is not to read later
	}
	_ = w.nc.Close()
	awaited := w.awaited
	w.awaited = nil
	go func() {
		for _, take := range awaited {
			take(answer{err: why})
		}
	}()
	close(w.broke)
}
