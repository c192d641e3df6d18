//go:build simulation

package simulation

import (
	"bufio"
	"net"
	"sync"
	"time"

	"lockserver/internal/resp"
)

// conns holds the connections of clients to a member.
type conns struct {
	mu   sync.Mutex
	all  []net.Conn
	over bool
}

func (c *conns) add(n net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		_ = n.Close()
	}
	c.all = append(c.all, n)
}

// cut closes them, and all later ones.
func (c *conns) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, n := range c.all {
		_ = n.Close()
	}
}

// caller sends commands on a connection, one at a time.
type caller struct {
	conn net.Conn
	in   *bufio.Reader
}

func newCaller(c net.Conn) *caller { return &caller{c, bufio.NewReader(c)} }

// call sends a command and returns its reply. After an error the connection cannot be used any more.
func (c *caller) call(within time.Duration, words ...string) (v resp.Value, err error) {
	var args [][]byte
	for _, w := range words {
		args = append(args, []byte(w))
	}
	if err := c.conn.SetDeadline(time.Now().Add(within)); err != nil {
		return v, err
	}
	if _, err := c.conn.Write(resp.AppendCommand(nil, args...)); err != nil {
		return v, err
	}
	return resp.ReadValue(c.in)
}
