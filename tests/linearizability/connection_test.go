package linearizability

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockserver/internal/resp"
)

// patience is the time after which something counts as hanging, on a busy machine.
const patience = time.Minute

// errSilent is the error for a missing reply on a living connection.
var errSilent = errors.New("no reply")

// connection is a connection of a client; its number represents it in the history.
type connection struct {
	number int
	conn   net.Conn
	in     *bufio.Reader
	id     string // the id that the server gave it

	mu           sync.Mutex
	ending, gone moment        // the start and the end of its end; zero before
	ended        chan struct{} // closed when gone is set
}

// open connects and asks for the connection's id.
func (w *world) open() (*connection, error) {
	nc, err := w.dial()
	if err != nil {
		return nil, err
	}
	c := &connection{conn: nc, in: bufio.NewReader(nc), ended: make(chan struct{})}
	id, err := c.call("CLIENT", "ID")
	if err != nil {
		return nil, err
	}
	c.id = strconv.FormatInt(id.Int, 10)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, c)
	c.number = len(w.conns)
	return c, nil
}

// call sends a command and returns its reply, or errSilent if none comes in time.
func (c *connection) call(words ...string) (resp.Value, error) {
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	if _, err := c.conn.Write(resp.AppendCommand(nil, args...)); err != nil {
		return resp.Value{}, err
	}
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return resp.Value{}, err
	}
	v, err := resp.ReadValue(c.in)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errSilent
	}
	return v, err
}

// end ends a connection by calling how, and waits until the server has noticed it. Only the first call has an
// effect. A manual clock stands still meanwhile, so that it is known exactly when the connection ended.
func (w *world) end(c *connection, how func()) {
	w.time.hold.RLock()
	defer w.time.hold.RUnlock()
	w.time.ending.Add(1)
	defer w.time.ending.Add(-1)
	c.mu.Lock()
	if c.ending.ns != 0 {
		c.mu.Unlock()
		return
	}
	c.ending = w.time.now()
	c.mu.Unlock()
	how()
	err := w.awaitGone(c)
	c.mu.Lock()
	c.gone = w.time.now()
	c.mu.Unlock()
	close(c.ended)
	if err != nil {
		w.fail(err)
	}
}

// awaitGone waits until the server has done all its work for the end of a connection.
func (w *world) awaitGone(c *connection) error {
	w.adminMu.Lock()
	defer w.adminMu.Unlock()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
		v, err := w.admin.call("CLIENT", "LIST", "ID", c.id)
		if err != nil {
			return fmt.Errorf("CLIENT LIST: %w", err)
		}
		if v.Str == "" {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("connection %s has ended and is still listed: %s", c.id, v.Str)
		}
	}
	// CLIENT KILL removes a connection from the list before the goroutine or loop of that connection has
	// noticed it. An event loop has noticed it when it has answered a later request. A goroutine may still
	// wait to run, and nothing outside shows when it has. A round that was late itself does not count: if
	// this process waits for a processor, the goroutine may wait as well.
	for calm, rounds := 0, 0; calm < 3 && rounds < mostRounds; rounds++ {
		asleep := time.Now()
		time.Sleep(pause)
		if time.Since(asleep) < 2*pause {
			calm++
		}
		for _, c := range w.bystanders {
			if _, err := c.call("PING"); err != nil {
				return fmt.Errorf("PING: %w", err)
			}
		}
	}
	return nil
}

// pause is a third of the time that the goroutine of a killed connection gets to notice it.
const pause = 2 * time.Millisecond

// mostRounds is the largest number of pauses on a machine where most of them are late.
const mostRounds = 12

// hangUp closes a connection from the client's side. abruptly closes a TCP connection by a reset.
func (w *world) hangUp(c *connection, abruptly bool) {
	w.end(c, func() {
		if tcp, ok := c.conn.(*net.TCPConn); ok && abruptly {
			_ = tcp.SetLinger(0)
		}
		_ = c.conn.Close()
	})
}

// kill ends a connection from the server's side.
func (w *world) kill(c *connection) {
	w.end(c, func() {
		w.adminMu.Lock()
		defer w.adminMu.Unlock()
		if _, err := w.admin.call("CLIENT", "KILL", "ID", c.id); err != nil {
			w.fail(fmt.Errorf("CLIENT KILL: %w", err))
		}
	})
}

// unblock ends another client's wait with an error.
func (w *world) unblock(c *connection) {
	w.adminMu.Lock()
	defer w.adminMu.Unlock()
	if _, err := w.admin.call("CLIENT", "UNBLOCK", c.id, "ERROR"); err != nil {
		w.fail(fmt.Errorf("CLIENT UNBLOCK: %w", err))
	}
}

// situation returns the server's INFO about itself, for a report.
func (w *world) situation() string {
	w.adminMu.Lock()
	defer w.adminMu.Unlock()
	var b strings.Builder
	ask := func(words ...string) {
		v, err := w.admin.call(words...)
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", strings.Join(words, " "), err)
			return
		}
		text := v.String()
		if v.Str != "" {
			text = "\n" + v.Str
		}
		fmt.Fprintf(&b, "%s: %s\n", strings.Join(words, " "), text)
	}
	for k := range maxKeys {
		ask("HGETALL", keyName(k))
		ask("PTTL", keyName(k))
	}
	ask("CLIENT", "LIST")
	return b.String()
}

// life returns what is known about the connection's end, after the history is over.
func (c *connection) life() life {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending.ns == 0 {
		return life{ever, ever}
	}
	return life{c.ending.ms, c.gone.ms}
}

// hasEnded reports whether the end of the connection has begun.
func (c *connection) hasEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending.ns != 0
}
