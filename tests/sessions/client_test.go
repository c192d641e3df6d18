package sessions

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"lockserver/internal/resp"
)

// client is one connection.
type client struct {
	world *world
	conn  net.Conn
	id    string // CLIENT ID
	// The state of the connection in which the next command will find it.
	db, mute, words int
	// mayEnd says that the server may end the connection: it has subscriptions, or another client has killed
	// it.
	mayEnd atomic.Bool

	mu       sync.Mutex
	book     *book
	pending  []*command // sent and without a reply
	parked   *command   // the first command of pending that the server may have reported as waiting
	ended    bool
	hungUp   bool // we closed it
	violated error
	gone     chan struct{} // closed when the reader has ended
}

// write sends commands in one write.
func (c *client) write(commands []*command) {
	var out []byte
	c.mu.Lock()
	for _, cmd := range commands {
		words := make([][]byte, len(cmd.words))
		for i, w := range cmd.words {
			words[i] = []byte(w)
		}
		out = resp.AppendCommand(out, words...)
		if w := cmd.words[0]; w == "SUBSCRIBE" || w == "PSUBSCRIBE" || w == "CLIENT" && cmd.words[1] == "TRACKING" {
			c.mayEnd.Store(true)
		}
		if cmd.muted && cmd.accepts != nil {
			cmd.accepts(c.book, resp.Value{}, false)
		}
		c.pending = append(c.pending, cmd)
	}
	c.mu.Unlock()
	_, _ = c.conn.Write(out) // the reader notices the error
}

// read reads replies until the connection ends.
func (c *client) read(in *bufio.Reader) {
	defer close(c.gone)
	for {
		v, err := resp.ReadValue(in)
		c.mu.Lock()
		if err != nil {
			c.end()
			c.mu.Unlock()
			return
		}
		if v.Kind != resp.Push {
			c.answered(v)
		}
		c.mu.Unlock()
	}
}

// answered finds the command of a reply: the first pending one that gets a reply.
func (c *client) answered(v resp.Value) {
	for len(c.pending) > 0 {
		cmd := c.pending[0]
		c.pending = c.pending[1:]
		if cmd.muted || cmd.noReply {
			continue
		}
		if !cmd.accepts(c.book, v, true) {
			c.violate("%s was answered %.200s", cmd, v)
		}
		return
	}
	c.violate("%.200s came without a command", v)
}

// end handles the end of the connection. A waiting command's grant was taken back if it was not read. The
// other commands may have run.
func (c *client) end() {
	c.ended = true
	for _, cmd := range c.pending {
		if !cmd.muted && !cmd.noReply && (!cmd.waited || cmd.words[0] == "BLPOP") {
			cmd.accepts(c.book, resp.Value{}, false)
		}
	}
	if !c.hungUp && !c.mayEnd.Load() {
		c.violate("the server has ended the connection")
	}
}

func (c *client) violate(format string, args ...any) {
	if c.violated == nil {
		c.violated = fmt.Errorf(c.book.owner+": "+format, args...)
	}
}

// mayWait returns the commands that the server may report as waiting.
func (c *client) mayWait() (list []*command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cmd := range c.pending {
		if cmd.key != (place{}) {
			list = append(list, cmd)
		}
	}
	return list
}

// stuck says why the test cannot leave the client alone yet: a command of it has no reply, and the server has
// not reported it as waiting. waits is the report of the server, and could holds the commands that it may
// mean: those without a reply before the server was asked. A single one is then known to wait. Of several,
// the replies of the first may be on their way.
func (c *client) stuck(waits bool, could []*command) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waits && len(could) == 1 {
		could[0].waited = true
	}
	if c.violated != nil || c.ended {
		return c.violated
	}
	for _, cmd := range c.pending {
		switch {
		case waits && cmd.key != (place{}):
			c.parked = cmd
			return nil
		case cmd.muted, cmd.noReply:
		default:
			return fmt.Errorf("%s: %s is not answered", c.book.owner, cmd)
		}
	}
	if waits {
		return fmt.Errorf("%s waits, with nothing that could", c.book.owner)
	}
	c.parked = nil
	return nil
}
