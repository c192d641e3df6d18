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

// patience is the longest time for a reply on a busy machine.
const patience = 30 * time.Second

var errSilent = errors.New("no answer came")

// conn is a connection that separates pushes from replies.
type conn struct {
	nc      net.Conn
	replies chan resp.Value             // closed with the connection
	hear    func(c *conn, v resp.Value) // gets the pushes; nil drops them
	second  bool                        // it has attached its client's prefix
	ended   chan struct{}               // closed with the connection
	mu      sync.Mutex                  // held during a call
}

// outcomes holds the pushes that a client has got on any of its connections, by owner.
type outcomes struct {
	world  *world
	prefix string // prefix of its owners
	mu     sync.Mutex
	of     map[string]chan resp.Value
	// first says which connection got an outcome first.
	first map[string]*conn
}

func newOutcomes(w *world, prefix string) *outcomes {
	return &outcomes{world: w, prefix: prefix, of: make(map[string]chan resp.Value), first: make(map[string]*conn)}
}

// take stores a push if it is an outcome. An outcome for an owner of another client is an error.
func (o *outcomes) take(c *conn, v resp.Value) {
	if len(v.Elems) == 4 && strings.HasPrefix(v.Elems[0].Str, "lock-") {
		if !strings.HasPrefix(v.Elems[3].Str, o.prefix) {
			o.world.fail(fmt.Errorf("%s was sent to %s", v, o.prefix))
			return
		}
		o.heard(c, v)
		o.await(v.Elems[3].Str) <- v
	}
}

// heard counts which of two connections got an outcome first.
func (o *outcomes) heard(c *conn, v resp.Value) {
	o.mu.Lock()
	first, text := o.first[v.String()], v.String()
	if first == nil {
		o.first[text] = c
	}
	o.mu.Unlock()
	switch {
	case first == nil || first.second == c.second:
	case first.second:
		o.world.count(attachedHeardFirst)
	default:
		o.world.count(askerHeardFirst)
	}
}

// await returns the channel for the outcomes of an owner.
func (o *outcomes) await(owner string) chan resp.Value {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of[owner] == nil {
		o.of[owner] = make(chan resp.Value, 64)
	}
	return o.of[owner]
}

// open connects with RESP3. second says that the caller attaches the connection to a prefix.
func open(dial func() (net.Conn, error), pushes *outcomes, second bool) (*conn, error) {
	return openHearing(dial, pushes.take, second)
}

// openHearing is open with a function that gets the pushes; nil drops them.
func openHearing(dial func() (net.Conn, error), hear func(c *conn, v resp.Value), second bool) (*conn, error) {
	nc, err := dial()
	if err != nil {
		return nil, err
	}
	c := &conn{nc: nc, replies: make(chan resp.Value, 16), hear: hear, second: second, ended: make(chan struct{})}
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
		case c.hear != nil:
			c.hear(c, v)
		}
	}
}

// call sends a command and returns its reply. The error is errSilent if the connection lives and there is no
// reply; any other error means that the connection broke.
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
