package resp

import (
	"errors"
	"math"
)

// ProtocolError says that a client's bytes do not follow the protocol. The connection cannot continue
// afterwards, because the beginning of the next command is unknown. Its text is Redis' without the leading
// "ERR ".
type ProtocolError string

// Error returns the text without a code word, such as "Protocol error: invalid bulk length".
func (e ProtocolError) Error() string { return string(e) }

// Reply returns the text for the client, with its code word, for [Writer.Error].
func (e ProtocolError) Reply() string { return "ERR " + string(e) }

// The protocol errors with a fixed text. The only other error is "Protocol error: expected '$', got 'x'",
// which names the byte in the place of an argument's '$'.
const (
	// ErrMultibulkLength: the number after '*' is no integer as Redis writes them, or above Limits.MaxArgs.
	ErrMultibulkLength ProtocolError = "Protocol error: invalid multibulk length"
	// ErrBulkLength: the number after '$' is no integer, negative, or above Limits.MaxBulk.
	ErrBulkLength ProtocolError = "Protocol error: invalid bulk length"
	// ErrInlineTooBig: an inline command without a line end within Limits.MaxInline bytes.
	ErrInlineTooBig ProtocolError = "Protocol error: too big inline request"
	// ErrMultibulkTooBig: a '*' header without a line end within Limits.MaxInline bytes.
	ErrMultibulkTooBig ProtocolError = "Protocol error: too big mbulk count string"
	// ErrBulkTooBig: a '$' header without a line end within Limits.MaxInline bytes.
	ErrBulkTooBig ProtocolError = "Protocol error: too big bulk count string"
	// ErrUnbalancedQuotes: an inline command with an open quote, or with a quote closed in the middle of a
	// word.
	ErrUnbalancedQuotes ProtocolError = "Protocol error: unbalanced quotes in request"
	// ErrUnauthMultibulk: more than 10 arguments before the client has logged in.
	ErrUnauthMultibulk ProtocolError = "Protocol error: unauthenticated multibulk length"
	// ErrUnauthBulk: an argument of more than 16384 bytes before the client has logged in.
	ErrUnauthBulk ProtocolError = "Protocol error: unauthenticated bulk length"
)

// ErrQueryTooLong says that a client has more than Limits.MaxQuery bytes pending, in one command or in
// commands that were not taken. Redis closes such a connection without a reply, so this is not a
// [ProtocolError].
var ErrQueryTooLong = errors.New("resp: query buffer limit reached")

func errExpectedBulk(got byte) error {
	return ProtocolError("Protocol error: expected '$', got '" + string([]byte{got}) + "'")
}

// The limits before a client has logged in, as in Redis: enough for AUTH and HELLO.
const (
	unauthMaxArgs = 10
	unauthMaxBulk = 16384
	// unauthMaxBytes limits a whole command (D120): one argument of that length, with the headers of ten.
	unauthMaxBytes = unauthMaxBulk + 512
)

// The defaults of [Limits].
const (
	DefaultMaxInline = 64 << 10
	DefaultMaxArgs   = 1 << 20
	DefaultMaxBulk   = 512 << 20
	DefaultMaxQuery  = 1 << 30
)

// Limits limits the memory of a [Decoder] for one connection. A zero field means its default.
type Limits struct {
	// MaxInline is the longest inline command, and the longest '*' or '$' header line, in bytes without
	// the line end: 64 KiB by default.
	MaxInline int
	// MaxArgs is the largest number of arguments of one command: 1,048,576 by default. Redis accepts up to
	// 2,147,483,647, which no client sends.
	MaxArgs int
	// MaxBulk is the longest argument in bytes (Redis' proto-max-bulk-len): 512 MiB by default.
	MaxBulk int64
	// MaxQuery is the limit in bytes of a command, or of the commands that are not taken yet (Redis'
	// client-query-buffer-limit): 1 GiB by default.
	MaxQuery int64
}

func (l Limits) maxInline() int {
	if l.MaxInline == 0 {
		return DefaultMaxInline
	}
	return l.MaxInline
}

func (l Limits) maxArgs() int {
	if l.MaxArgs == 0 {
		return DefaultMaxArgs
	}
	return l.MaxArgs
}

func (l Limits) maxBulk() int {
	if l.MaxBulk == 0 {
		return DefaultMaxBulk
	}
	return int(min(l.MaxBulk, math.MaxInt))
}

func (l Limits) maxQuery() int {
	if l.MaxQuery == 0 {
		return DefaultMaxQuery
	}
	return int(min(l.MaxQuery, math.MaxInt))
}
