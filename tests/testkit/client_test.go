package testkit

import (
	"bufio"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// startEcho starts a server on a pipe that answers every command with its last word; it does not answer
// "silence".
func startEcho(t *testing.T) *Client {
	t.Helper()
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		in := bufio.NewReader(far)
		for {
			v, err := resp.ReadValue(in)
			if err != nil {
				return // the client has disconnected
			}
			w := resp.Writer{Proto: 3}
			if last := v.Elems[len(v.Elems)-1].Str; last == "error" {
				w.Error("ERR as asked")
			} else if last != "silence" {
				w.BulkString(last)
			}
			go func() { _, _ = far.Write(w.Buf) }()
		}
	}()
	return NewClient(t, near)
}

func TestClient(t *testing.T) {
	c := startEcho(t)
	require.Equal(t, `"b\r\n"`, c.Do("ECHO", "b\r\n").String())
	require.Equal(t, "-ERR as asked", c.Do("error").String())
	c.Send("ECHO", "later")
	require.Equal(t, `"later"`, c.Receive().String())
	c.Hello(3)
}

func TestReceiveWithin(t *testing.T) {
	c := startEcho(t)
	c.Send("silence")
	_, got := c.ReceiveWithin(10 * time.Millisecond)
	require.False(t, got)
	c.Send("x")
	v, got := c.ReceiveWithin(time.Minute)
	require.True(t, got)
	require.Equal(t, `"x"`, v.String())
}

func TestCallReturnsWhatBreaks(t *testing.T) {
	c := startEcho(t)
	c.Timeout = 10 * time.Millisecond
	_, err := c.Call("silence")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	c.Close()
	_, err = c.Call("ECHO", "x")
	require.Error(t, err)
}
