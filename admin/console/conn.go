package console

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"lockserver/internal/resp"
)

// replyTimeout is how long the server may take for an answer.
const replyTimeout = 10 * time.Second

// errLost says that a connection is of no use any more.
var errLost = errors.New("the connection to the server is lost")

// replyError is an error that the server answered.
type replyError string

func (e replyError) Error() string { return string(e) }

// conn is a connection for commands. Each call has it for itself.
type conn struct {
	mu   sync.Mutex
	nc   net.Conn
	in   *bufio.Reader
	out  []byte
	lost bool
}

func connect(b Backend) (*conn, error) {
	nc, err := b.Dial()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLost, err)
	}
	return &conn{nc: nc, in: bufio.NewReader(nc)}, nil
}

func (c *conn) close() { _ = c.nc.Close() }

// call sends commands together and returns their replies, errors among them. Its own error is errLost.
func (c *conn) call(commands ...[]string) ([]resp.Value, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		return nil, errLost
	}
	replies, err := c.exchange(commands)
	if err != nil {
		c.lost = true
		c.close()
		return nil, fmt.Errorf("%w: %w", errLost, err)
	}
	return replies, nil
}

func (c *conn) exchange(commands [][]string) ([]resp.Value, error) {
	c.out = c.out[:0]
	for _, words := range commands {
		c.out = resp.AppendArray(c.out, len(words))
		for _, word := range words {
			c.out = resp.AppendBulk(c.out, word)
		}
	}
	if err := c.nc.SetDeadline(time.Now().Add(replyTimeout)); err != nil {
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
			c.close() // which ends the write
			<-sent
			return nil, err
		}
		replies = append(replies, v)
	}
	return replies, <-sent
}

// ask is call for one command, whose error it returns.
func (c *conn) ask(words ...string) (resp.Value, error) {
	replies, err := c.call(words)
	if err != nil {
		return resp.Value{}, err
	}
	return replies[0], failure(replies...)
}

// failure returns the first of the replies that is an error.
func failure(replies ...resp.Value) error {
	for _, v := range replies {
		if v.IsError() {
			return replyError(v.Str)
		}
	}
	return nil
}

// fields is a map of a reply.
type fields map[string]resp.Value

func fieldsOf(v resp.Value) fields {
	f := make(fields, len(v.Elems)/2)
	for i := 0; i+1 < len(v.Elems); i += 2 {
		f[v.Elems[i].Str] = v.Elems[i+1]
	}
	return f
}

func (f fields) text(name string) string { return f[name].Str }
func (f fields) int(name string) int64   { return f[name].Int }

// number reads an integer that is a text, as INFO has them; 0: it is none.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
