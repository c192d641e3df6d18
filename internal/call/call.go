// Package call is a connection to a server from the client's side: commands out, replies in. It is the small
// part of a client library that the program's own clients need (`lockserver top`, the console). A library
// with a method for each command of Redis would make the program larger by half.
//
// It owns the exchange: one caller at a time, many commands in one batch, a limit on the time of an answer.
// It must not know how a connection is made, or the server. The
// commands that list, and have no key, are in a table (shards.go), because all shards of a cluster are asked.
// A new way to read a reply is a method of Fields.
package call

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"lockserver/internal/resp"
)

// ErrLost says that the connection cannot be used any more: it broke, the server took too long, or the server
// sent bytes that are no reply.
var ErrLost = errors.New("the connection to the server is lost")

// Error is an error reply of the server, with its exact text.
type Error string

func (e Error) Error() string { return string(e) }

// Conn is a connection for commands. Calls take turns: each call uses the connection alone.
type Conn struct {
	timeout time.Duration
	mu      sync.Mutex
	nc      net.Conn
	in      *bufio.Reader
	out     []byte
	lost    bool
	shards  *shards // of Join, instead of all other fields; nil: the connection is to one server
}

// New returns a connection on nc, which it owns. timeout is how long the replies of one call may take.
func New(nc net.Conn, timeout time.Duration) *Conn {
	return &Conn{timeout: timeout, nc: nc, in: bufio.NewReader(nc)}
}

// Close ends the connection, and a running call.
func (c *Conn) Close() {
	if c.shards == nil {
		_ = c.nc.Close()
		return
	}
	for _, of := range c.shards.of {
		of.Close()
	}
}

// All sends the commands together and returns their replies, including error replies. Its own error wraps
// ErrLost.
func (c *Conn) All(commands ...[]string) ([]resp.Value, error) {
	if c.shards != nil {
		return c.shards.all(commands)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		return nil, ErrLost
	}
	replies, err := c.exchange(commands)
	if err != nil {
		c.lost = true
		c.Close()
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	return replies, nil
}

func (c *Conn) exchange(commands [][]string) ([]resp.Value, error) {
	c.out = c.out[:0]
	for _, words := range commands {
		c.out = resp.AppendArray(c.out, len(words))
		for _, word := range words {
			c.out = resp.AppendBulk(c.out, word)
		}
	}
	if err := c.nc.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return nil, err
	}
	sent := make(chan error, 1) // replies are read meanwhile: neither side may wait for the other
	go func(out []byte) {
		_, err := c.nc.Write(out)
		sent <- err
	}(c.out)
	replies := make([]resp.Value, 0, len(commands))
	for range commands {
		v, err := resp.ReadValue(c.in)
		if err != nil {
			c.Close() // this ends the write
			<-sent
			return nil, err
		}
		replies = append(replies, v)
	}
	return replies, <-sent
}

// Do sends one command, as All does. It returns an error reply as an Error.
func (c *Conn) Do(words ...string) (resp.Value, error) {
	replies, err := c.All(words)
	if err != nil {
		return resp.Value{}, err
	}
	return replies[0], Failure(replies...)
}

// Failure returns the first error among the replies, or nil.
func Failure(replies ...resp.Value) error {
	for _, v := range replies {
		if v.IsError() {
			return Error(v.Str)
		}
	}
	return nil
}
