package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// replyError is an error that the server answered.
type replyError string

func (e replyError) Error() string { return string(e) }

// conn is a connection to either server. It speaks just as much RESP2 as the measurements need, and does so without
// allocating, so that the generator's own collector stays out of the latencies.
type conn struct {
	c net.Conn
	r *bufio.Reader
}

// patience is how long a server may take to answer anything. SAVE of a big data set is the slowest.
const patience = 2 * time.Minute

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, r: bufio.NewReaderSize(c, 16<<10)}, nil
}

func (c *conn) close() { _ = c.c.Close() }

// do sends one command and returns its reply as text: the line of a status or a number, the content of a string, ""
// for nil and for an array. The error is a replyError if the server answered one.
func (c *conn) do(args ...string) (string, error) {
	if err := c.c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	b := appendArray(nil, len(args))
	for _, a := range args {
		b = appendBulk(b, a)
	}
	if _, err := c.c.Write(b); err != nil {
		return "", err
	}
	return readText(c.r)
}

func appendArray(b []byte, n int) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, '\r', '\n')
}

func appendBulk(b []byte, s string) []byte {
	b = append(b, '$')
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, '\r', '\n')
	b = append(b, s...)
	return append(b, '\r', '\n')
}

// digits is how long a number in a key is: what redis-benchmark puts for __rand_int__.
const digits = 12

// appendNumbered appends prefix, n with twelve digits, and suffix as one argument.
func appendNumbered(b []byte, prefix string, n int, suffix string) []byte {
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

// readLine is the next line without its end; it is good until the next read.
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

// readText reads one reply; see do.
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
		return "", replyError(text)
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
			var inner replyError
			if err != nil && !errors.As(err, &inner) {
				return "", err
			}
		}
		return "", nil
	}
	return "", fmt.Errorf("not a reply: %q", line)
}

// expect reads one reply, which must not be an array, and checks that it begins with want, such as "+OK", ":" or
// "$-1".
func expect(r *bufio.Reader, want string) error {
	line, err := readLine(r)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte(want)) {
		return fmt.Errorf("the reply begins with %q instead of %q", line, want)
	}
	if line[0] != '$' {
		return nil
	}
	n, err := strconv.Atoi(string(line[1:])) // does not escape, so does not allocate
	if err != nil || n < 0 {
		return err
	}
	_, err = r.Discard(n + 2)
	return err
}
