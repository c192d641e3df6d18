package resp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"

	"lockserver/internal/decimal"
)

// Decoder splits a client's byte stream into commands. Its zero value is ready, with the default [Limits] and
// without the small limits of a client that has yet to log in; see [Decoder.SetAuthenticated].
//
// One read is handled as: Feed, Next until it returns false, Keep. Arguments are views into the fed bytes, so
// a caller that stores an argument copies it before Keep. A caller may stop calling Next while commands are
// left (its client is parked), call Keep, and go on with Next later, with or without another Feed.
//
// A Decoder without pending bytes keeps no buffer. It is not safe for use by several goroutines.
type Decoder struct {
	// data is the fed slice, borrowed, or the decoder's own buffer when own is set. data[pos:] is not yet
	// consumed. pos only moves past whole commands, so an incomplete command starts at data[pos].
	data []byte
	pos  int
	// part is the state of the incomplete command at pos, or nil. Its offsets count from pos, so they stay
	// valid when the bytes move. Invariant: part == nil when pos == len(data).
	part *partial
	// err stays set: after a protocol error the stream has no next command.
	err    error
	limits Limits
	own    bool
	// unauth is the negation of authenticated: the zero value suits readers of logs, which do not log in.
	unauth bool
}

// partial is the state of an incomplete command. Offsets count from the command's start.
type partial struct {
	began bool   // the '*' header has been read
	count int    // number of arguments to come, including the argument in bulk
	next  int    // offset of the current header line or argument
	seen  int    // the current line has no line end before this offset
	bulk  int    // the length of the argument at next, -1 while its header is awaited
	spans []span // the arguments read so far
}

type span struct{ from, to int }

// SetLimits replaces the limits, from the next header on.
func (d *Decoder) SetLimits(l Limits) { d.limits = l }

// SetAuthenticated(false) applies the limits for unauthenticated clients: those of Redis, 10 arguments and
// 16384 bytes for each, and our own limit for the whole command. SetAuthenticated(true) lifts them, from the
// next command on, so a large command may follow AUTH in the same pipeline.
func (d *Decoder) SetAuthenticated(yes bool) { d.unauth = !yes }

// Pending returns the number of held bytes that are not yet consumed.
func (d *Decoder) Pending() int { return len(d.data) - d.pos }

// Read returns the number of held bytes, including the commands that Next has returned since the last Feed or
// Keep.
func (d *Decoder) Read() int { return len(d.data) }

// Held returns about how much memory of its own the decoder would keep after Keep.
func (d *Decoder) Held() int {
	switch n := d.Pending(); {
	case n == 0:
		return 0
	case d.own:
		return cap(d.data)
	default:
		return d.capacity(n)
	}
}

// Feed adds bytes from the client. They are borrowed, not copied, when nothing is pending, and must then stay
// as they are until Keep. Arguments that Next returned before become invalid.
func (d *Decoder) Feed(data []byte) {
	switch {
	case d.err != nil:
	case d.Pending() == 0:
		d.data, d.pos, d.own = data, 0, false
	default:
		d.adopt(data)
	}
}

// Next appends the next command's arguments to args. It returns false when the command is incomplete, and an
// error, a [ProtocolError] or [ErrQueryTooLong], when it cannot continue. All later calls return the same
// error. Empty commands ("*0", "*-1", blank lines) are skipped. The arguments are valid until the next Feed
// or Keep. The caller must not write to them.
func (d *Decoder) Next(args [][]byte) ([][]byte, bool, error) {
	if d.err != nil {
		return args, false, d.err
	}
	for d.pos < len(d.data) {
		if d.part == nil && d.data[d.pos] == '*' {
			if out, n := d.whole(args); n > 0 {
				d.pos += n
				return out, true, nil
			}
		}
		p := partial{bulk: -1}
		if d.part != nil {
			p = *d.part
		}
		out, n, err := d.step(&p, args)
		if err != nil {
			d.fail(err)
			return args, false, err
		}
		if n == 0 {
			d.save(p)
			return args, false, nil
		}
		d.part = nil
		d.pos += n
		if len(out) > len(args) {
			return out, true, nil
		}
	}
	return args, false, nil
}

// Keep ends the use of the fed slice: unconsumed bytes move to the decoder's own buffer, or stay there. A
// long tail moves only when at least as many bytes were consumed before it. So a caller that takes one
// command at a time pays no more than a caller that takes all of them. Arguments that Next returned become
// invalid.
func (d *Decoder) Keep() {
	tail := d.data[d.pos:]
	switch {
	case len(tail) == 0:
		d.data, d.pos, d.own = nil, 0, false
	case len(tail) > d.limits.maxQuery():
		d.fail(ErrQueryTooLong)
	case !d.own:
		d.move(d.capacity(len(tail)), nil)
	case d.pos < len(tail):
	case cap(d.data) > 4096 && cap(d.data) > 4*len(tail):
		d.move(d.capacity(len(tail)), nil)
	default:
		d.data, d.pos = d.data[:copy(d.data, tail)], 0
	}
}

// adopt appends data to the pending bytes, in the decoder's own buffer.
func (d *Decoder) adopt(data []byte) {
	tail := d.data[d.pos:]
	need := len(tail) + len(data)
	switch {
	case d.own && cap(d.data)-len(d.data) >= len(data):
		d.data = append(d.data, data...)
	case d.own && cap(d.data) >= need && d.pos >= len(tail):
		n := copy(d.data, tail)
		d.data, d.pos = append(d.data[:n], data...), 0
	default:
		d.move(d.capacity(need), data)
	}
}

// move copies the tail and data to a new buffer of the given capacity.
func (d *Decoder) move(capacity int, data []byte) {
	buf := make([]byte, 0, capacity)
	buf = append(buf, d.data[d.pos:]...)
	d.data, d.pos, d.own = append(buf, data...), 0, true
}

// capacity returns the capacity for a buffer that must hold need bytes now. It doubles while a command is
// arriving, but not beyond the end of the announced argument. An announcement alone never gets more than 16
// KiB; otherwise a client could allocate 512 MiB with a dozen bytes. Bytes behind commands that are not taken
// yet get a quarter more, so that each byte is moved only a few times.
func (d *Decoder) capacity(need int) int {
	switch p := d.part; {
	case p == nil:
		return need + need/4
	case p.bulk < 0:
		return max(2*need, 64)
	case need >= p.next+p.bulk+2:
		return need + need/4
	default:
		return min(p.next+p.bulk+2, max(2*need, 16<<10))
	}
}

func (d *Decoder) save(p partial) {
	if d.part == nil {
		d.part = new(partial)
	}
	*d.part = p
}

func (d *Decoder) fail(err error) {
	d.err = err
	d.data, d.pos, d.own, d.part = nil, 0, false, nil
}

// whole reads a complete command in the form that clients send. It returns the length of the command, or 0
// for any unusual form: then step parses the command from the start. This is the path of pipelines, so it
// allocates nothing and keeps no state.
func (d *Decoder) whole(args [][]byte) ([][]byte, int) {
	if d.unauth {
		return args, 0
	}
	b := d.data[d.pos:]
	maxArgs, maxBulk := d.limits.maxArgs(), d.limits.maxBulk()
	count, i := length(b, 1)
	if i == 0 || count == 0 || count > maxArgs {
		return args, 0
	}
	for ; count > 0; count-- {
		if maxBulk > maxShort {
			// No more than fit: a client may announce a million words and send two.
			free := args[len(args):min(len(args)+count, cap(args))]
			n, next := shortWords(free, b, i)
			args, i, count = args[:len(args)+n], next, count-n
			if count == 0 {
				break
			}
		}
		if i >= len(b) || b[i] != '$' {
			return args, 0
		}
		n, from := length(b, i+1)
		if from == 0 || n > maxBulk || n > len(b)-from-2 {
			return args, 0
		}
		to := from + n
		args = append(args, b[from:to:to])
		i = to + 2
	}
	if i > d.limits.maxQuery() {
		return args, 0
	}
	return args, i
}

// maxShort is the length of the longest word that shortWords reads.
const maxShort = 99

// shortWords sets the elements of dst to the words of b from b[i:] on, as long as their length has one or two
// digits. It returns the number of words that it has read, and the offset after them. It calls nothing, so
// everything stays in registers.
func shortWords(dst [][]byte, b []byte, i int) (n, next int) {
	for n = range dst {
		if i+6 > len(b) { // 6: the length of an empty word
			return n, i
		}
		head := binary.LittleEndian.Uint32(b[i:])
		size, from := head>>8&0xff-'0', i+4
		if head&0xffff00ff != '$'|'\r'<<16|'\n'<<24 {
			ones := head>>16&0xff - '0'
			if head&0xff0000ff != '$'|'\r'<<24 || b[i+4] != '\n' || size == 0 || ones > 9 {
				return n, i
			}
			size, from = size*10+ones, i+5
		} else if size > 9 {
			return n, i
		}
		to := from + int(size)
		if size > maxShort || to > len(b)-2 {
			return n, i
		}
		dst[n], i = b[from:to:to], to+2
	}
	return len(dst), i
}

// length reads digits and CR LF at b[i:] and returns the number and the offset after the line. The offset is
// 0 unless it is a number of at most nine digits without leading zeros.
func length(b []byte, i int) (n, next int) {
	if i+2 < len(b) && b[i+1] == '\r' && b[i+2] == '\n' { // one digit, the most frequent case
		n = int(b[i] - '0')
		if n > 9 {
			return 0, 0
		}
		return n, i + 3
	}
	if i+3 < len(b) && b[i+2] == '\r' && b[i+3] == '\n' { // two digits
		tens, ones := b[i]-'1', b[i+1]-'0'
		if tens > 8 || ones > 9 {
			return 0, 0
		}
		return 10*int(tens+1) + int(ones), i + 4
	}
	if i >= len(b) || b[i] == '0' {
		return 0, 0
	}
	for start := i; i < len(b) && i < start+10; i++ {
		c := b[i] - '0'
		if c <= 9 {
			n = n*10 + int(c)
			continue
		}
		if i == start || b[i] != '\r' || i+1 >= len(b) || b[i+1] != '\n' {
			return 0, 0
		}
		return n, i + 2
	}
	return 0, 0
}

// step continues to parse the command at pos from the state p. It returns the command's length once it is
// whole (perhaps without arguments), or 0 while bytes are missing.
func (d *Decoder) step(p *partial, args [][]byte) ([][]byte, int, error) {
	b := d.data[d.pos:]
	if b[0] != '*' {
		return d.inline(p, b, args)
	}
	if !p.began {
		ok, err := d.countHeader(p, b)
		if !ok || err != nil {
			return args, 0, err
		}
	}
	for p.count > 0 {
		if p.bulk < 0 {
			ok, err := d.bulkHeader(p, b)
			if !ok || err != nil {
				return args, 0, err
			}
		}
		// Redis skips the two bytes after an argument without looking at them.
		if len(b)-p.next-2 < p.bulk {
			return args, 0, nil
		}
		p.spans = append(p.spans, span{p.next, p.next + p.bulk})
		p.next += p.bulk + 2
		p.seen, p.bulk = p.next, -1
		p.count--
	}
	for _, s := range p.spans {
		args = append(args, b[s.from:s.to:s.to])
	}
	return args, p.next, nil
}

// countHeader reads the '*' line. Zero and negative counts are an empty command.
func (d *Decoder) countHeader(p *partial, b []byte) (bool, error) {
	line, ok, err := d.header(p, b, ErrMultibulkTooBig)
	if !ok || err != nil {
		return false, err
	}
	n, valid := decimal.ParseInt(line[1:])
	switch {
	case !valid || n > int64(d.limits.maxArgs()):
		return false, ErrMultibulkLength
	case n > unauthMaxArgs && d.unauth:
		return false, ErrUnauthMultibulk
	}
	p.began, p.count = true, int(n)
	return true, nil
}

// bulkHeader reads a '$' line.
func (d *Decoder) bulkHeader(p *partial, b []byte) (bool, error) {
	line, ok, err := d.header(p, b, ErrBulkTooBig)
	if !ok || err != nil {
		return false, err
	}
	if len(line) == 0 {
		return false, errExpectedBulk('\r')
	}
	if line[0] != '$' {
		return false, errExpectedBulk(line[0])
	}
	n, valid := decimal.ParseInt(line[1:])
	switch {
	case !valid || n < 0 || n > int64(d.limits.maxBulk()):
		return false, ErrBulkLength
	case d.unauth && (n > unauthMaxBulk || n > int64(unauthMaxBytes-p.next)):
		return false, ErrUnauthBulk
	case n > int64(d.limits.maxQuery()-p.next-2):
		return false, ErrQueryTooLong
	}
	p.bulk = int(n)
	return true, nil
}

// header returns the line at p.next without its end and moves p past it. Redis looks for the CR only and
// takes whatever byte follows it for the LF.
func (d *Decoder) header(p *partial, b []byte, tooBig error) (line []byte, ok bool, err error) {
	end, err := d.lineEnd(p, b, '\r', tooBig)
	if end < 0 || err != nil || end+2 > len(b) {
		return nil, false, err
	}
	line = b[p.next:end]
	p.next = end + 2
	p.seen = p.next
	return line, true, nil
}

// lineEnd returns the offset of the byte end in the line at p.next, -1 if it has not arrived, and tooBig if
// it is not within the limit. As in Redis, which searches C strings, a line end after a NUL is not found:
// such a line can only grow too big.
func (d *Decoder) lineEnd(p *partial, b []byte, end byte, tooBig error) (int, error) {
	limit := d.limits.maxInline()
	if d.unauth {
		limit = min(limit, unauthMaxBulk)
	}
	to := max(p.seen, min(len(b), p.next+limit+1)) // p.seen may be above a limit that was lowered since
	if window := b[p.seen:to]; len(window) > 0 && window[0] != 0 {
		i := bytes.IndexByte(window, end)
		line := window
		if i >= 0 {
			line = window[:i]
		}
		if nul := bytes.IndexByte(line, 0); nul >= 0 {
			p.seen += nul
		} else if p.seen += len(line); i >= 0 {
			return p.seen, nil
		}
	}
	if len(b)-p.next > limit {
		return -1, tooBig
	}
	return -1, nil
}

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
