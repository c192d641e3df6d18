package client

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The largest replies that are read. A larger reply is malformed, and ends its connection.
const (
	maxReplyDepth  = 16
	maxReplyLine   = 64 << 10
	maxReplyString = 64 << 20
	maxReplyItems  = 1 << 20
)

// errMalformed says that the bytes of the server are not a reply.
var errMalformed = errors.New("malformed reply")

// push is a message that the server sends without a request.
type push []any

// readReply reads one reply of RESP 2 or 3. It is an int64, a string, a bool, nil for a null, a ReplyError,
// or a push. An array, a set or a map (keys and values in turn) is a []any. Doubles and big numbers are
// strings, as sent; attributes are passed over. The error is io.EOF if there is nothing to read,
// io.ErrUnexpectedEOF if the reply is cut short, or wraps errMalformed. Memory is allocated as the bytes
// arrive, not as a length announces. The protocol is described at
// https://redis.io/docs/latest/develop/reference/protocol-spec.
func readReply(r *bufio.Reader) (any, error) {
	if _, err := r.Peek(1); err != nil {
		return nil, err
	}
	reply, err := readAt(r, 0)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return reply, err
}

// readAt is readReply inside depth aggregates.
func readAt(r *bufio.Reader, depth int) (any, error) {
	if depth > maxReplyDepth {
		return nil, fmt.Errorf("%w: more than %d levels", errMalformed, maxReplyDepth)
	}
	kind, text, err := readLine(r)
	if err != nil {
		return nil, err
	}
	switch kind {
	case '+', ',', '(':
		return text, nil
	case '-':
		return ReplyError(text), nil
	case ':':
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: integer %q", errMalformed, text)
		}
		return n, nil
	case '_':
		return nil, nil
	case '#':
		return text == "t", nil
	case '$', '=', '!':
		return readString(r, kind, text)
	case '*', '~', '%', '>', '|':
		return readAggregate(r, kind, text, depth)
	}
	return nil, fmt.Errorf("%w: no type begins with %q", errMalformed, kind)
}

// readString reads a string of the length that text says. A string of type '!' is an error, and one of type
// '=' begins with its format, as in "txt:".
func readString(r *bufio.Reader, kind byte, text string) (any, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n == -1:
		return nil, nil
	case err != nil || n < 0 || n > maxReplyString || kind == '=' && n < 4:
		return nil, fmt.Errorf("%w: length %q", errMalformed, text)
	}
	var s []byte
	for n += 2; len(s) < n; {
		some := make([]byte, min(n-len(s), 64<<10))
		if _, err := io.ReadFull(r, some); err != nil {
			return nil, err
		}
		s = append(s, some...)
	}
	s, end := s[:n-2], s[n-2:]
	if string(end) != "\r\n" {
		return nil, fmt.Errorf("%w: a string does not end with CR LF", errMalformed)
	}
	switch kind {
	case '!':
		return ReplyError(s), nil
	case '=':
		s = s[4:]
	}
	return string(s), nil
}

// readAggregate reads the items of an aggregate; text is the number of its items.
func readAggregate(r *bufio.Reader, kind byte, text string, depth int) (any, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n == -1:
		return nil, nil
	case err != nil || n < 0 || n > maxReplyItems:
		return nil, fmt.Errorf("%w: length %q", errMalformed, text)
	case kind == '%' || kind == '|':
		n *= 2
	}
	items := make([]any, 0, min(n, 64))
	for range n {
		item, err := readAt(r, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	switch kind {
	case '|': // attributes of the reply that follows
		return readAt(r, depth+1)
	case '>':
		return push(items), nil
	}
	return items, nil
}

// readLine reads a line. kind is the byte with the type of a reply; text is the rest without CR LF.
func readLine(r *bufio.Reader) (kind byte, text string, err error) {
	var line []byte
	for {
		some, err := r.ReadSlice('\n')
		line = append(line, some...)
		switch {
		case len(line) > maxReplyLine:
			return 0, "", fmt.Errorf("%w: a line of more than %d bytes", errMalformed, maxReplyLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return 0, "", err
		case len(line) < 3 || line[len(line)-2] != '\r':
			return 0, "", fmt.Errorf("%w: line %q", errMalformed, line)
		}
		return line[0], string(line[1 : len(line)-2]), nil
	}
}

// takenNumbers is the number of integers in the reply of a limiter.
const takenNumbers = 5
