package queued

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"lockserver/internal/resp"
)

// patience is how long an answer may take on a busy machine.
const patience = 30 * time.Second

var errSilent = errors.New("no answer came")

// conn is a connection that tells pushes and replies apart.
type conn struct {
	nc      net.Conn
	replies chan resp.Value // closed with the connection
	pushes  *outcomes
	ended   chan struct{} // closed with the connection
	mu      sync.Mutex    // a call at a time
}

// outcomes are the pushes that a client has got by any of its connections, by owner.
type outcomes struct {
	mu sync.Mutex
	of map[string]chan resp.Value
}

// await returns where the outcomes of an owner come.
func (o *outcomes) await(owner string) chan resp.Value {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of[owner] == nil {
		o.of[owner] = make(chan resp.Value, 64)
	}
	return o.of[owner]
}

// open connects with version 3 of the protocol.
func open(dial func() (net.Conn, error), pushes *outcomes) (*conn, error) {
	nc, err := dial()
	if err != nil {
		return nil, err
	}
	c := &conn{nc: nc, replies: make(chan resp.Value, 16), pushes: pushes, ended: make(chan struct{})}
	go c.read()
	if _, err := c.call("HELLO", "3"); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *conn) read() {
	defer close(c.replies)
	defer close(c.ended)
	for in := bufio.NewReader(c.nc); ; {
		v, err := resp.ReadValue(in)
		switch {
		case err != nil:
			return
		case v.Kind != resp.Push:
			c.replies <- v
		case len(v.Elems) == 4 && strings.HasPrefix(v.Elems[0].Str, "lock-") && c.pushes != nil:
			c.pushes.await(v.Elems[3].Str) <- v
		}
	}
}

// call sends a command and returns its reply. An error says that the connection broke; errSilent that it did
// not, and there is no answer.
func (c *conn) call(words ...string) (resp.Value, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	if _, err := c.nc.Write(resp.AppendCommand(nil, args...)); err != nil {
		return resp.Value{}, err
	}
	select {
	case v, ok := <-c.replies:
		if !ok {
			return v, net.ErrClosed
		}
		return v, nil
	case <-time.After(patience):
		return resp.Value{}, fmt.Errorf("%w: %s", errSilent, strings.Join(words, " "))
	}
}

func (c *conn) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}
