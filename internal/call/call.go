// Package call is a connection to a server from the client's side: commands out, replies in. It is the small
// part of a client library that the program's own clients need (`lockserver top`, the console). A library
// with a method for each command of Redis would make the program larger by half.
//
// It owns the exchange: one caller at a time, many commands in one go, a bound on how long an answer may
// take. It must not know what the commands mean, how a connection is made, or the server. What a reply can be
// read as is added to Fields.
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

// ErrLost says that a connection is of no use any more: it broke, the server took too long, or what it sent
// was no reply.
var ErrLost = errors.New("the connection to the server is lost")

// Error is an error reply of the server, with its exact text.
type Error string

func (e Error) Error() string { return string(e) }

// Conn is a connection for commands. Each call has it for itself.
type Conn struct {
	timeout time.Duration
	mu      sync.Mutex
	nc      net.Conn
	in      *bufio.Reader
	out     []byte
	lost    bool
}

// New returns a connection on nc, which it owns. timeout is how long the replies of one call may take.
func New(nc net.Conn, timeout time.Duration) *Conn {
	return &Conn{timeout: timeout, nc: nc, in: bufio.NewReader(nc)}
}

// Close ends the connection, and a call that is under way.
func (c *Conn) Close() { _ = c.nc.Close() }

// All sends commands together and returns their replies, errors among them. Its own error wraps ErrLost.
func (c *Conn) All(commands ...[]string) ([]resp.Value, error) {
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
			c.Close() // which ends the write
			<-sent
			return nil, err
		}
		replies = append(replies, v)
	}
	return replies, <-sent
}

// Do is All for one command. It also returns the error reply, as an Error.
func (c *Conn) Do(words ...string) (resp.Value, error) {
	replies, err := c.All(words)
	if err != nil {
		return resp.Value{}, err
	}
	return replies[0], Failure(replies...)
}

// Failure returns the first of the replies that is an error; nil: none is.
func Failure(replies ...resp.Value) error {
	for _, v := range replies {
		if v.IsError() {
			return Error(v.Str)
		}
	}
	return nil
}
