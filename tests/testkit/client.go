package testkit

import (
	"bufio"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// defaultTimeout is the time limit for a reply on a busy machine.
const defaultTimeout = 60 * time.Second

// Client is a connection on which a test sends commands and reads replies. Do, Send and Receive fail the test
// when the connection breaks, so only the test's goroutine may call them. Call returns the error and may be
// used on any goroutine.
type Client struct {
	// Timeout limits the wait for one reply.
	Timeout time.Duration

	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

// NewClient returns a client on conn, which is closed at the end of the test at the latest.
func NewClient(t testing.TB, conn net.Conn) *Client {
	t.Cleanup(func() { _ = conn.Close() })
	c := Connect(conn)
	c.t = t
	return c
}

// Connect returns a client on conn for code without a test. Such a client has Call, CallPipeline, Ask and
// Next, which return errors, and Close.
func Connect(conn net.Conn) *Client {
	return &Client{Timeout: defaultTimeout, conn: conn, in: bufio.NewReader(conn)}
}

// Ask sends a command and does not wait for its reply, as Send does.
func (c *Client) Ask(args ...string) error {
	c.queue(args)
	return c.flush()
}

// Dial returns a client on the connection that dial makes.
func Dial(t testing.TB, dial func() (net.Conn, error)) *Client {
	t.Helper()
	conn, err := dial()
	require.NoError(t, err)
	return NewClient(t, conn)
}

// Conn returns the connection, for tests that write their own bytes.
func (c *Client) Conn() net.Conn { return c.conn }

// Close closes the connection.
func (c *Client) Close() { _ = c.conn.Close() }

// Do sends a command and returns its reply.
func (c *Client) Do(args ...string) resp.Value {
	v, err := c.Call(args...)
	if err != nil { // Helper and Line cost time, and tests send a million commands
		c.t.Helper()
		require.NoError(c.t, err, "%s", Line(args))
	}
	return v
}

// Call sends a command and returns its reply, or the connection's error. An error reply is a value.
func (c *Client) Call(args ...string) (resp.Value, error) {
	c.queue(args)
	if err := c.flush(); err != nil {
		return resp.Value{}, err
	}
	return c.receive(c.Timeout)
}

// Send sends a command without waiting for its reply.
func (c *Client) Send(args ...string) {
	c.queue(args)
	if err := c.flush(); err != nil {
		c.t.Helper()
		require.NoError(c.t, err, "%s", Line(args))
	}
}

// Receive returns the next reply.
func (c *Client) Receive() resp.Value {
	v, err := c.receive(c.Timeout)
	if err != nil {
		c.t.Helper()
		require.NoError(c.t, err)
	}
	return v
}

// Next returns the next reply, or the connection's error.
func (c *Client) Next() (resp.Value, error) { return c.receive(c.Timeout) }

// ReceiveWithin returns the next reply if it begins within d; otherwise it returns false.
func (c *Client) ReceiveWithin(d time.Duration) (resp.Value, bool) {
	c.t.Helper()
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(d)))
	if _, err := c.in.Peek(1); errors.Is(err, os.ErrDeadlineExceeded) {
		return resp.Value{}, false
	}
	return c.Receive(), true
}

// Pipeline sends all commands at once and returns their replies.
func (c *Client) Pipeline(commands [][]string) []resp.Value {
	c.t.Helper()
	replies, err := c.CallPipeline(commands)
	require.NoError(c.t, err)
	return replies
}

// CallPipeline sends all commands at once and returns their replies, or the connection's error.
func (c *Client) CallPipeline(commands [][]string) ([]resp.Value, error) {
	for _, args := range commands {
		c.queue(args)
	}
	if err := c.flush(); err != nil {
		return nil, err
	}
	replies := make([]resp.Value, 0, len(commands))
	for range commands {
		v, err := c.receive(c.Timeout)
		if err != nil {
			return replies, err
		}
		replies = append(replies, v)
	}
	return replies, nil
}

// Hello chooses the version of the protocol, 2 or 3.
func (c *Client) Hello(version int) {
	c.t.Helper()
	word := map[int]string{2: "2", 3: "3"}[version]
	require.NotEmpty(c.t, word, "no such version: %d", version)
	v := c.Do("HELLO", word)
	require.False(c.t, v.IsError(), "%s", v)
}

func (c *Client) queue(args []string) {
	words := make([][]byte, len(args))
	for i, a := range args {
		words[i] = []byte(a)
	}
	c.out = resp.AppendCommand(c.out, words...)
}

func (c *Client) flush() error {
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	return err
}

func (c *Client) receive(within time.Duration) (resp.Value, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return resp.Value{}, err
	}
	return resp.ReadValue(c.in)
}

// Line returns a command in redis-cli's form, so that a report can be pasted there.
func Line(args []string) string {
	var b strings.Builder
	for i, arg := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		writeWord(&b, arg)
	}
	return b.String()
}

func writeWord(b *strings.Builder, word string) {
	if word != "" && strings.IndexFunc(word, needsQuotes) < 0 {
		b.WriteString(word)
		return
	}
	const hex = "0123456789abcdef"
	b.WriteByte('"')
	for i := range len(word) {
		switch c := word[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			b.WriteString(`\x`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}

func needsQuotes(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\'' || r == '\\' }
