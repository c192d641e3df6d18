package hostile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"lockserver/internal/resp"
	"lockserver/tests/grammar"
	"lockserver/tests/testkit"
)

// markPrefix begins the text of ECHO commands between the other commands. They show replies of the wrong
// command, or on the wrong connection.
const markPrefix = "mark-"

// lastMark is the number of the first mark after all commands.
const lastMark = 1_000_000

// client is a connection of a scenario. One goroutine sends, another reads.
type client struct {
	nc   net.Conn
	name string // the start of its marks
	half bool
	deaf bool

	mu sync.Mutex
	// expected holds the replies that are due: a mark, or "" for any reply. It is valid until loosen is
	// called: from then on a command may have several replies, or no reply.
	expected []string
	loose    bool
	sent     []string // the last commands that were sent
	marks    int      // number of marks sent
	// concluded is the number of last marks sent.
	concluded int
	seen      int    // the highest mark received
	wrong     string // the fault that was found
	received  atomic.Int64
	ended     chan struct{}
}

// answersOften lists commands with no reply or several, and commands after which other messages may come
// between the replies.
var answersOften = []string{"subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe", "monitor", "quit"}

// dial connects. A deaf client does not read yet. Its socket buffer has the usual size, because with a small
// one it would take minutes to read all its output.
func dial(addr, name string, deaf bool) (*client, error) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &client{nc: nc, name: name, deaf: deaf, ended: make(chan struct{})}
	if !deaf {
		go c.read()
	}
	return c, nil
}

// listen makes a deaf client start to read.
func (c *client) listen() {
	if c.deaf {
		c.deaf = false
		go c.read()
	}
}

// sendWithin limits a write. After that the rest is not sent: the server is allowed to stop reading.
const sendWithin = time.Second

// send sends commands and a mark, without the given number of bytes at the end.
func (c *client) send(commands [][]string, without int) error {
	var out []byte
	c.mu.Lock()
	for _, args := range commands {
		if len(args) == 0 {
			continue
		}
		words := make([][]byte, len(args))
		for i, a := range args {
			words[i] = []byte(a)
		}
		out = resp.AppendCommand(out, words...)
		c.expect("", args)
	}
	c.marks++
	out = c.mark(out, c.marks)
	c.mu.Unlock()
	return c.write(out[:max(0, len(out)-without)])
}

// mark appends an ECHO; the caller holds mu.
func (c *client) mark(out []byte, n int) []byte {
	mark := markPrefix + c.name + "-" + strconv.Itoa(n)
	c.expect(mark, nil)
	return resp.AppendCommand(out, []byte("ECHO"), []byte(mark))
}

func (c *client) write(b []byte) error {
	_ = c.nc.SetWriteDeadline(time.Now().Add(sendWithin))
	_, err := c.nc.Write(b)
	return err
}

// expect records a due reply; the caller holds mu.
func (c *client) expect(reply string, args []string) {
	if args != nil {
		name := strings.ToLower(args[0])
		c.loose = c.loose || slices.Contains(answersOften, name) || name == "client" && len(args) > 1 && strings.EqualFold(args[1], "reply")
		if c.sent = append(c.sent, testkit.Line(args)); len(c.sent) > 2*grammar.MostPerPipeline {
			c.sent = slices.Clone(c.sent[len(c.sent)-grammar.MostPerPipeline:])
		}
	}
	if c.loose {
		c.expected = nil
		return
	}
	c.expected = append(c.expected, reply)
}

// loosen records that replies can no longer be counted.
func (c *client) loosen() {
	c.mu.Lock()
	c.loose, c.expected = true, nil
	c.mu.Unlock()
}

// tooLongHere is the error of resp.ReadValue for a line that is too long, for example MONITOR's line for a
// command with megabytes.
const tooLongHere = "a line does not end with CR LF within"

// read is the goroutine that reads.
func (c *client) read() {
	defer close(c.ended)
	in := bufio.NewReaderSize(&counting{c.nc, &c.received}, 64<<10)
	for {
		v, err := resp.ReadValue(in)
		var network net.Error
		switch {
		case err == nil:
			c.take(v)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network), errors.Is(err, net.ErrClosed),
			errors.Is(err, syscall.ECONNRESET):
			return
		case strings.Contains(err.Error(), tooLongHere):
			_ = c.nc.Close()
			return
		default:
			c.blame("a reply that is none: %v", err)
			return
		}
	}
}

// counting counts the bytes that are read.
type counting struct {
	io.Reader
	bytes *atomic.Int64
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

// take checks a reply as far as possible.
func (c *client) take(v resp.Value) {
	if v.Kind == resp.Push {
		return
	}
	isMark := v.Kind == resp.Bulk && strings.HasPrefix(v.Str, markPrefix)
	if isMark {
		text, ours := strings.CutPrefix(v.Str, markPrefix+c.name+"-")
		n, err := strconv.Atoi(text)
		if !ours || err != nil || n <= c.seen {
			c.blame("%q came after %d, to %s", v.Str, c.seen, c.name)
			return
		}
		c.mu.Lock()
		c.seen = n
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loose {
		return
	}
	if len(c.expected) == 0 {
		c.blameLocked("a reply to nothing: %s", short(v))
		return
	}
	want := c.expected[0]
	c.expected = c.expected[1:]
	queued := v.Kind == resp.Simple && v.Str == "QUEUED"
	if isMark && v.Str != want || want != "" && !isMark && !v.IsError() && !queued {
		c.blameLocked("%s where %q was due", short(v), want)
	}
}

func short(v resp.Value) string {
	s := v.String()
	if len(s) > 200 {
		s = s[:200] + "..."
	}
	return s
}

// blame records a fault, once.
func (c *client) blame(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blameLocked(format, args...)
}

func (c *client) blameLocked(format string, args ...any) {
	if c.wrong == "" {
		last := c.sent[max(0, len(c.sent)-grammar.MostPerPipeline):]
		c.wrong = fmt.Sprintf(format, args...) + "\n    it had sent\n      " + strings.Join(last, "\n      ")
	}
	c.loose = true
}

// state returns the fault of the client, and whether it has got all possible replies.
func (c *client) state() (wrong string, quiet bool) {
	over := false
	select {
	case <-c.ended:
		over = true
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrong, over || c.seen >= lastMark
}

// caughtUp reports whether no reply is due for which the client can wait.
func (c *client) caughtUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loose || len(c.expected) == 0
}

// conclude sends a last mark, in any state of the session. A busy script may refuse it, so it may have to be
// sent again.
func (c *client) conclude() {
	c.listen()
	c.mu.Lock()
	var out []byte
	for _, line := range []string{"RESET", "CLIENT REPLY ON", "RESET"} {
		var words [][]byte
		for _, w := range strings.Fields(line) {
			words = append(words, []byte(w))
		}
		out = resp.AppendCommand(out, words...)
		c.expect("", []string{line})
	}
	out = c.mark(out, lastMark+c.concluded)
	c.concluded++
	c.mu.Unlock()
	if c.write(out) != nil {
		_ = c.nc.Close()
	}
}

// hangUp closes the connection, optionally with an RST.
func (c *client) hangUp(rst bool) {
	if rst {
		_ = c.nc.(*net.TCPConn).SetLinger(0)
	}
	_ = c.nc.Close()
}

// closeWrite ends the sending direction of the connection.
func (c *client) closeWrite() error { return c.nc.(*net.TCPConn).CloseWrite() }
