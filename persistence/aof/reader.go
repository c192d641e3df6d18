package aof

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// readBuffer is the size of a read from a file. The buffer grows for a longer command.
	readBuffer = 256 << 10
	// maxAnnotation limits the length of a line that begins with '#'.
	maxAnnotation = 2048
	// evidenceBytes limits the search for whole commands behind a command that is too long for the file.
	evidenceBytes = 1 << 20
	// maxDigits limits the digits of a length.
	maxDigits = 18
)

// reader reads commands from a file. The real size of the file limits its memory: an announced length
// allocates nothing.
type reader struct {
	src        io.Reader
	left       int64 // bytes of the file that are not read from src yet
	buf        []byte
	pos, end   int   // buf[pos:end] is read and not consumed
	base       int64 // offset of buf[0] in the file
	args       [][]byte
	annotation func(text []byte) // is called with annotations, without '#' and the end of the line; may be nil
}

// newReader reads a file of size bytes from offset on. src is already at that offset.
func newReader(src io.Reader, offset, size int64) *reader {
	return &reader{src: src, left: size - offset, base: offset}
}

// offset returns the offset of the next command.
func (r *reader) offset() int64 { return r.base + int64(r.pos) }

// fault is the offset where reading stopped, and the reason. torn says that the file ends there, or has only
// zeros from there on: some file systems leave zeros after a power failure.
type fault struct {
	offset int64
	torn   bool
	reason string
	err    error // the read error, if reading failed
}

// next returns the next command. Its arguments are valid until the next call. nil without a fault means the
// end of the file. Annotations are skipped.
func (r *reader) next() ([][]byte, *fault) {
	for {
		b := r.buf[r.pos:r.end]
		p := parser{b: b, args: r.args[:0]}
		switch n := p.parse(); {
		case n > 0:
			r.args = p.args
			r.pos += n
			if b[0] == '#' {
				if r.annotation != nil {
					r.annotation(bytes.TrimRight(b[1:n], "\r\n"))
				}
				continue
			}
			return p.args, nil
		case p.reason != "":
			return nil, r.malformed(r.offset()+int64(p.at), p.reason)
		case len(b) == 0 && r.left == 0:
			return nil, nil
		case int64(p.need-len(b)) > r.left:
			return nil, r.short()
		default:
			r.args = p.args
			if err := r.fill(p.need); err != nil {
				return nil, &fault{offset: r.base + int64(r.end), reason: "read", err: err}
			}
		}
	}
}

// short returns the fault of a command that is longer than the rest of the file. That is a torn end, unless
// whole commands follow: then the length is wrong, and cutting there would lose sound commands.
func (r *reader) short() *fault {
	at := r.offset()
	have := r.end - r.pos
	if more := int(min(r.left, evidenceBytes)); more > 0 {
		if err := r.fill(have + more); err != nil {
			return &fault{offset: r.base + int64(r.end), reason: "read", err: err}
		}
	}
	b := r.buf[r.pos:r.end]
	for i := 1; ; i++ {
		n := bytes.Index(b[i:], []byte("\r\n*"))
		if n < 0 {
			return &fault{offset: at, torn: true, reason: "the file ends in the middle of a command"}
		}
		i += n
		run, toTheEnd := commandsIn(b[i+2:])
		if toTheEnd {
			return &fault{offset: at, reason: fmt.Sprintf("a command runs over others, which go on at offset %d", at+int64(i+2))}
		}
		i += run // otherwise each command of a long run would be tried as another beginning
	}
}

// commandsIn returns how many bytes at the beginning of b are whole commands. toTheEnd reports whether b
// holds nothing else, except for a command that is cut off. So a value that contains the text of a command is
// not mistaken for a log.
func commandsIn(b []byte) (run int, toTheEnd bool) {
	var args [][]byte
	for run < len(b) {
		p := parser{b: b[run:], args: args[:0]}
		n := p.parse()
		if n == 0 {
			return run, run > 0 && p.reason == ""
		}
		run += n
		args = p.args
	}
	return run, run > 0
}

// fill reads until need bytes are in the buffer, or more if a read returns more.
func (r *reader) fill(need int) error {
	have := r.end - r.pos
	if need > len(r.buf)-r.pos || r.end == len(r.buf) {
		buf := r.buf
		if need > len(buf) || have == len(buf) {
			buf = make([]byte, min(max(readBuffer, need, 2*have), have+int(min(r.left, 1<<40))))
		}
		copy(buf, r.buf[r.pos:r.end])
		r.buf, r.base = buf, r.base+int64(r.pos)
		r.pos, r.end = 0, have
	}
	n, err := io.ReadAtLeast(r.src, r.buf[r.end:], need-have)
	r.end += n
	r.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the file has become shorter meanwhile
	}
	return err
}

// malformed returns the fault of an unexpected byte.
func (r *reader) malformed(at int64, reason string) *fault {
	f := &fault{offset: at, reason: reason}
	zeros, err := r.onlyZerosFrom(at)
	if err != nil {
		return &fault{offset: at, reason: "read", err: err}
	}
	if zeros {
		f.torn, f.reason = true, "the file ends in zeros"
	}
	return f
}

// onlyZerosFrom reads the rest of the file, and reports whether it has only zeros.
func (r *reader) onlyZerosFrom(at int64) (bool, error) {
	b := r.buf[at-r.base : r.end]
	for {
		for _, c := range b {
			if c != 0 {
				return false, nil
			}
		}
		if r.left == 0 {
			return true, nil
		}
		n, err := r.src.Read(r.buf[:min(int64(len(r.buf)), r.left)])
		if n == 0 && err != nil {
			return false, err
		}
		b = r.buf[:n]
		r.left -= int64(n)
	}
}

// parser parses a command, or an annotation, at the beginning of b.
type parser struct {
	b    []byte
	args [][]byte
	// need is the smallest length of b for the next attempt, if b is too short. at and reason describe the
	// fault at b[at].
	need   int
	at     int
	reason string
}

// parse returns the length of the command, or 0 after setting need or reason.
func (p *parser) parse() int {
	if len(p.b) == 0 {
		p.need = 1
		return 0
	}
	switch p.b[0] {
	case '#':
		return p.annotation()
	case '*':
	default:
		return p.wrong(0, "a command begins with *")
	}
	count, i := p.length(1)
	if i == 0 {
		return 0
	}
	if count == 0 {
		return p.wrong(1, "a command has a name")
	}
	for ; count > 0; count-- {
		if i >= len(p.b) {
			return p.more(i + 1)
		}
		if p.b[i] != '$' {
			return p.wrong(i, "an argument begins with $")
		}
		n, from := p.length(i + 1)
		if from == 0 {
			return 0
		}
		to := from + n
		if to+2 > len(p.b) {
			if !p.endsRight(to) {
				return 0
			}
			return p.more(to + 2)
		}
		if !p.endsRight(to) {
			return 0
		}
		p.args = append(p.args, p.b[from:to:to])
		i = to + 2
	}
	return i
}

// endsRight reports whether CR LF is at b[i], as far as b reaches.
func (p *parser) endsRight(i int) bool {
	for j, c := range []byte{'\r', '\n'} {
		if i+j < len(p.b) && p.b[i+j] != c {
			p.wrong(i+j, "a line ends with CR LF")
			return false
		}
	}
	return true
}

// length reads digits and CR LF at b[i]. It returns the number and the offset of the next line, which is 0
// after a fault.
func (p *parser) length(i int) (n, next int) {
	start := i
	for ; i < len(p.b); i++ {
		c := p.b[i] - '0'
		if c > 9 {
			break
		}
		if i-start == maxDigits || i > start && p.b[start] == '0' {
			return p.wrong(i, "too many digits"), 0
		}
		n = n*10 + int(c)
	}
	switch {
	case i == len(p.b):
		return p.more(i + 1), 0
	case i == start:
		return p.wrong(i, "a length is made of digits"), 0
	case !p.endsRight(i):
		return 0, 0
	case i+2 > len(p.b):
		return p.more(i + 2), 0
	}
	return n, i + 2
}

// annotation skips a line.
func (p *parser) annotation() int {
	for i, c := range p.b[:min(len(p.b), maxAnnotation)] {
		if c == '\n' {
			return i + 1
		}
		if c == 0 {
			return p.wrong(i, "an annotation is text")
		}
	}
	if len(p.b) >= maxAnnotation {
		return p.wrong(maxAnnotation, "an annotation is a short line")
	}
	return p.more(len(p.b) + 1)
}

func (p *parser) more(need int) int {
	p.need = need
	return 0
}

func (p *parser) wrong(at int, reason string) int {
	p.at, p.reason = at, reason
	return 0
}
