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

// loginTimeout is the largest time for connecting and logging in, and writeTimeout for one write.
const (
	loginTimeout = 5 * time.Second
	writeTimeout = 5 * time.Second
)

// keepAlive lets the system detect in half a minute that the peer of a waiting connection is gone.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

var errBroken = errors.New("the connection is broken")

// wire is a connection. Commands are sent in any number; replies arrive in their order, with pushes between
// them.
type wire struct {
	nc     net.Conn
	onPush func(*wire, push) // called by the goroutine that reads
	// broke is closed when the connection can no longer be used.
	broke chan struct{}

	wrote chan struct{} // something is in out

	came atomic.Uint64 // the number of replies and pushes so far

	mu      sync.Mutex
	awaited []func(answer)
	out     []byte // still to be written
	err     error
}

type answer struct {
	value any
	err   error
}

// dialWire opens a connection by a function like [Server.Dial], and logs in. onPush is called with each push
// of the server.
func dialWire(ctx context.Context, dial func(context.Context) (net.Conn, Login, error), name string, onPush func(*wire, push)) (*wire, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	nc, login, err := dial(ctx)
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

// read delivers replies to their waiters, until the connection ends.
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

// send sends a command. Its answer always comes by the channel.
func (w *wire) send(words ...string) <-chan answer {
	came := make(chan answer, 1)
	w.then(func(a answer) { came <- a }, words...)
	return came
}

// then sends a command. take is always called with its answer. The goroutine that reads calls it, in the
// order of the replies and pushes. If the connection ends first, a goroutine of its own calls it.
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

// write sends the waiting bytes until the connection ends. It has a goroutine of its own, because a caller
// must not wait for a server that does not read.
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

// do sends a command and waits for its answer. When the context ends first the connection is closed: the
// server stops the command then.
func (w *wire) do(ctx context.Context, words ...string) (any, error) {
	select {
	case a := <-w.send(words...):
		return a.value, a.err
	case <-ctx.Done():
		w.close(errBroken)
		return nil, ended(ctx)
	}
}

// alive asks the server for a sign of life, and reports whether there was an answer. The connection is closed
// when nothing has arrived for the time within. Very many other replies may come before the answer.
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

// reason returns why the connection can no longer be used.
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
		_ = tcp.SetLinger(0) // the server must not read the rest of the sent bytes later
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
