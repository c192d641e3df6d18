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

// patience is how long anything may take on a busy machine before it counts as never.
const patience = time.Minute

// errSilent is a reply that does not come on a connection that lives.
var errSilent = errors.New("no reply")

// connection is a client's connection; its number stands for it in the history.
type connection struct {
	number int
	conn   net.Conn
	in     *bufio.Reader
	id     string // the server's

	mu           sync.Mutex
	ending, gone moment        // zero as long as it has not
	ended        chan struct{} // closed once gone is known
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

// call sends a command and returns its reply; errSilent if none comes in time.
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

// end makes a connection end, by how, and waits until the server has noticed it; only the
// first call does anything. On a manual clock no time passes meanwhile, so that it is known
// exactly when the connection ended.
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

// awaitGone waits until the server has done all that it does when a connection ends.
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
	// A connection that CLIENT KILL ends is off the list before its owner has found it shut. An event
	// loop has when it has answered a request that came later; a goroutine is waiting to run, and
	// nothing outside shows when it has. A round that was late itself does not count: a process that has to
	// wait for a processor may keep the goroutine waiting as well.
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

// pause is a third of the time that the owner of a killed connection gets to find that out.
const pause = 2 * time.Millisecond

// mostRounds is how often it gets that time on a machine where most rounds are late.
const mostRounds = 12

// hangUp ends a connection from the client's side; abruptly, over TCP, with a reset.
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

// situation is what the server says of itself, for a report.
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

// life is what is known of the connection's end, once the history is over.
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
