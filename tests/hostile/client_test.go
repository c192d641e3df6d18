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
	"lockserver/internal/testkit"
	"lockserver/tests/grammar"
)

// markPrefix begins what ECHO is to say between the commands: replies of the wrong
// command, or connection, show by it.
const markPrefix = "mark-"

// lastMark is the number of the first mark behind everything.
const lastMark = 1_000_000

// client is one connection of a scenario. One goroutine sends, another reads.
type client struct {
	nc   net.Conn
	name string // begins its marks
	half bool
	deaf bool

	mu sync.Mutex
	// expected are the replies that are due: a mark, or "" for one that may be anything. It is kept as long
	// as each command has one reply, which loose ends.
	expected []string
	loose    bool
	sent     []string // the last commands that were sent
	marks    int      // sent
	// concluded is how many last marks were sent.
	concluded int
	seen      int    // the highest mark that has come
	wrong     string // what was found
	received  atomic.Int64
	ended     chan struct{}
}

// answersOften are commands that have no reply, or several, or after which something else
// may stand between the replies.
var answersOften = []string{"subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe", "monitor", "quit"}

// dial connects. A client that is deaf does not read yet. Its socket buffer has the usual size: with little,
// it would take minutes to get what has been kept for it.
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

// listen makes a deaf client read.
func (c *client) listen() {
	if c.deaf {
		c.deaf = false
		go c.read()
	}
}

// sendWithin bounds how long a server may leave input where it is; then it is let
// be, for it need not read on.
const sendWithin = time.Second

// send sends commands, with a mark behind them, but for some bytes at the end.
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

// expect records a reply that is due; the caller holds mu.
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

// loosen says that replies can no longer be counted.
func (c *client) loosen() {
	c.mu.Lock()
	c.loose, c.expected = true, nil
	c.mu.Unlock()
}

// tooLongHere is what resp.ReadValue says of a line that it does not take: one of
// MONITOR, of a command with megabytes.
const tooLongHere = "a line does not end with CR LF within"

// read is the reader's goroutine.
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

// counting counts what is read.
type counting struct {
	io.Reader
	bytes *atomic.Int64
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

// take checks a reply as far as that can be done.
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

// state is what is wrong with the client, and whether it has all the replies that it can have.
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

// caughtUp reports whether nothing is due that can be waited for.
func (c *client) caughtUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loose || len(c.expected) == 0
}

// conclude asks for a last mark, whatever state the session is in. It may be refused while a script is
// busy, and is to be asked for again.
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

// hangUp closes the connection; with an RST if so.
func (c *client) hangUp(rst bool) {
	if rst {
		_ = c.nc.(*net.TCPConn).SetLinger(0)
	}
	_ = c.nc.Close()
}

// closeWrite ends what the client sends.
func (c *client) closeWrite() error { return c.nc.(*net.TCPConn).CloseWrite() }
