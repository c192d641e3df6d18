package demo

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"

	"lockserver/internal/resp"
)

// patience is the time limit for each reply of the server.
const patience = 30 * time.Second

// replyError is an error that the server answered.
type replyError string

func (e replyError) Error() string { return string(e) }

// conn is a connection of one client. The client waits for each answer before the next command. The
// connection breaks when its context ends.
type conn struct {
	nc     net.Conn
	in     *bufio.Reader
	out    resp.Writer
	unbind func() bool
}

// connect opens a connection and logs in.
func connect(ctx context.Context, o Options) (*conn, error) {
	nc, err := o.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{nc: nc, in: bufio.NewReader(nc)}
	c.unbind = context.AfterFunc(ctx, func() { _ = nc.Close() })
	if o.Password != "" {
		if _, err := c.do("AUTH", o.Password); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// close ends the connection at once.
func (c *conn) close() {
	c.unbind()
	_ = c.nc.Close()
}

// send sends a command without waiting for its answer.
func (c *conn) send(args ...string) error {
	c.out.Buf = c.out.Buf[:0]
	c.out.Array(len(args))
	for _, arg := range args {
		c.out.BulkString(arg)
	}
	if err := c.nc.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := c.nc.Write(c.out.Buf)
	return err
}

// do sends a command and returns its reply. An error reply of the server is returned as a replyError.
func (c *conn) do(args ...string) (resp.Value, error) {
	if err := c.send(args...); err != nil {
		return resp.Value{}, err
	}
	v, err := resp.ReadValue(c.in)
	if err == nil && v.IsError() {
		err = fmt.Errorf("%s: %w", args[0], replyError(v.Str))
	}
	return v, err
}

// integer sends a command that replies with an integer.
func (c *conn) integer(args ...string) (int64, error) {
	v, err := c.do(args...)
	if err == nil && v.Kind != resp.Integer {
		err = fmt.Errorf("%s: answered %s instead of a number", args[0], v)
	}
	return v.Int, err
}
