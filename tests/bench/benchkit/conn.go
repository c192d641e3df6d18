package benchkit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"lockserver/internal/resp"
)

// ReplyError is an error reply of the server.
type ReplyError string

func (e ReplyError) Error() string { return string(e) }

// Conn is a connection to either server. It uses the part of RESP2 that the measurements need, and skips the
// pushes and maps of RESP3. It does not allocate, so that the generator's own collector does not affect the
// latencies.
type Conn struct {
	c net.Conn
	r *bufio.Reader
}

// Patience is the longest time for a reply. SAVE of a large data set takes longest.
const Patience = 2 * time.Minute

// Dial connects to a server at a TCP address.
func Dial(addr string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", addr, Patience)
	if err != nil {
		return nil, err
	}
	return &Conn{c: c, r: bufio.NewReaderSize(c, 16<<10)}, nil
}

// Close ends the connection.
func (c *Conn) Close() { _ = c.c.Close() }

// SetDeadline limits all later reads and writes.
func (c *Conn) SetDeadline(at time.Time) error { return c.c.SetDeadline(at) }

// Write sends requests that were built with Command.
func (c *Conn) Write(requests []byte) error {
	_, err := c.c.Write(requests)
	return err
}

// Expect reads one reply, an array as a whole, and checks that it begins with want, such as "+OK", ":", "*10"
// or "$-1".
func (c *Conn) Expect(want string) error { return expect(c.r, want) }

// Read implements io.Reader. It returns the bytes without decoding them.
func (c *Conn) Read(b []byte) (int, error) { return c.r.Read(b) }

// ReadText reads one reply, in the form of Do.
func (c *Conn) ReadText() (string, error) { return readText(c.r) }

// Do sends one command and returns its reply as text: the line of a status or a number, the content of a
// string, and "" for nil or an array. The error is a ReplyError if the reply is an error.
func (c *Conn) Do(args ...string) (string, error) {
	if err := c.c.SetDeadline(time.Now().Add(Patience)); err != nil {
		return "", err
	}
	b := Command(nil, len(args))
	for _, a := range args {
		b = b.Arg(a)
	}
	if _, err := c.c.Write(b); err != nil {
		return "", err
	}
	return readText(c.r)
}

// Request holds requests under construction.
type Request []byte

// Command appends the head of a command with n arguments, including its name, to b.
func Command(b []byte, n int) Request {
	return resp.AppendArray(b, n)
}

// Arg appends one argument.
func (b Request) Arg(s string) Request {
	return resp.AppendBulk(b, s)
}

// Int appends a number as one argument.
func (b Request) Int(n int64) Request {
	var text [20]byte
	return resp.AppendBulk(b, strconv.AppendInt(text[:0], n, 10))
}

// digits is the length of a number in a key, as redis-benchmark writes it for __rand_int__.
const digits = 12

// Numbered appends prefix, n with twelve digits, and suffix as one argument.
func (b Request) Numbered(prefix string, n int, suffix string) Request {
	b = append(b, '$')
	b = strconv.AppendInt(b, int64(len(prefix)+digits+len(suffix)), 10)
	b = append(b, '\r', '\n')
	b = append(b, prefix...)
	at := len(b)
	b = append(b, "000000000000"...)
	for i := at + digits - 1; i >= at; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
	b = append(b, suffix...)
	return append(b, '\r', '\n')
}

// readLine returns the next line without its end; it is valid until the next read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, fmt.Errorf("not a reply: %q", line)
	}
	return line[:len(line)-2], nil
}

// readText reads one reply; see Do.
func readText(r *bufio.Reader) (string, error) {
	line, err := readLine(r)
	if err != nil {
		return "", err
	}
	text := string(line[1:])
	switch line[0] {
	case '+', ':':
		return text, nil
	case '-':
		return "", ReplyError(text)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", fmt.Errorf("not a reply: %q", line)
	}
	switch {
	case n < 0:
		return "", nil
	case line[0] == '$':
		body := make([]byte, n+2)
		_, err = io.ReadFull(r, body)
		return string(body[:n]), err
	case line[0] == '*':
		for range n {
			_, err := readText(r)
			var inner ReplyError
			if err != nil && !errors.As(err, &inner) {
				return "", err
			}
		}
		return "", nil
	}
	return "", fmt.Errorf("not a reply: %q", line)
}

// expect is Conn.Expect.
func expect(r *bufio.Reader, want string) error {
	line, err := readLine(r)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte(want)) {
		return fmt.Errorf("the reply begins with %q instead of %q", line, want)
	}
	return discardRest(r, line)
}

// discardRest skips the rest of a reply after its first line. In an array it accepts errors like any other
// element.
func discardRest(r *bufio.Reader, line []byte) error {
	kind := line[0]
	if kind != '$' && kind != '*' && kind != '>' && kind != '%' {
		return nil
	}
	n, err := strconv.Atoi(string(line[1:])) // the string does not escape, so it is not allocated
	if err != nil || n < 0 {
		return err
	}
	switch kind {
	case '$':
		_, err = r.Discard(n + 2)
		return err
	case '%':
		n *= 2
	}
	for range n {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		if err := discardRest(r, line); err != nil {
			return err
		}
	}
	return nil
}
