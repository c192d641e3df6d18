//go:build oracle

package differential

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/shrink"
	"lockserver/tests/testkit"
)

const (
	// talkers is the number of connections in a conversation, talkLength the number of its steps.
	talkers, talkLength = 5, 80
	// commandsAStep is how many units of the flag -commands one step of a conversation counts.
	commandsAStep = 8
)

// TestConversations plays random steps of several connections, which subscribe, track, monitor, wait and have
// transactions. After each step it compares everything that each of them receives.
func TestConversations(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	most := max(1, *commandsFlag/commandsAStep/talkLength)
	t.Logf("seed %d, %d conversations of %d steps", seed, most, talkLength)
	first := 0
	if *sequenceFlag >= 0 {
		first, most = *sequenceFlag, *sequenceFlag+1
	}
	failures := 0
	for i := first; i < most && failures < mostFailures; {
		t.Run("", func(t *testing.T) {
			c := startConversations(t)
			for ; i < most && failures < mostFailures && c.died == nil; i++ {
				if report := c.converse(newTalk(seed, uint64(i), talkers).steps(talkLength)); report != "" {
					failures++
					t.Errorf("%s\n\nto replay: go test -tags oracle -count=1 ./tests/differential -run TestConversations -seed %d -sequence %d",
						report, seed, i)
				}
			}
		})
	}
}

// converse plays steps, and returns a report of the first fault, or "".
func (c *conversations) converse(steps []talkStep) (report string) {
	defer func() {
		if p := recover(); p != nil {
			end, ok := p.(died)
			if !ok {
				panic(p)
			}
			c.t.Logf("Redis has died (%v); the next steps are played on another one", end.cause)
			c.died = end.cause
		}
	}()
	at, wrong := c.play(steps)
	if wrong == "" {
		return ""
	}
	return c.report(steps[:at+1], wrong)
}

// conversations holds the two servers and their connections.
type conversations struct {
	t           *testing.T
	ours, redis talkSide
	died        error // the error if Redis has died
	paused      bool  // CLIENT PAUSE was sent
	// after, if set, is called after each step.
	after func(step talkStep)
}

// talkSide is a server with its connections.
type talkSide struct {
	socket  string
	control *testkit.Client // the fence: its reply comes after all messages to the others
	talkers [talkers]*talker
}

func startConversations(t *testing.T) *conversations {
	t.Helper()
	c := &conversations{t: t}
	dir, err := os.MkdirTemp("", "talk") // t.TempDir may be too long for a socket's name
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c.ours.socket = filepath.Join(dir, "s")
	directives := configOf("").Directives()
	directives["unixsocket"] = c.ours.socket
	srv, err := server.New(server.Options{Directives: directives, Seed: 1, EventLoops: true})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	c.redis.socket = testkit.StartRedis(t).Socket
	c.level()
	for _, s := range c.sides() {
		s.control = testkit.Dial(t, s.dial)
		s.control.Do("CLIENT", "SETNAME", "fence")
	}
	return c
}

func (c *conversations) sides() []*talkSide { return []*talkSide{&c.ours, &c.redis} }

func (s *talkSide) dial() (net.Conn, error) { return net.Dial("unix", s.socket) }

// fence returns when all output of the steps so far has been sent. The servers send output in each round of
// their event loops, and the second command runs in a later round than the first.
func (s *talkSide) fence() {
	for range 2 {
		if _, err := s.control.Call("ECHO", "fence"); err != nil {
			panic(died{s.socket, err})
		}
	}
}

// died is the panic value after the end of a server: Redis has faults, too.
type died struct {
	socket string
	cause  error
}

// await waits until something has happened for which the server may need a moment.
func (s *talkSide) await(happened func() bool) {
	for until := time.Now().Add(time.Minute); !happened(); s.fence() {
		if time.Now().After(until) {
			panic("it does not happen on " + s.socket)
		}
	}
}

// begin resets both servers, and opens connections with the same ids.
func (c *conversations) begin() {
	c.t.Helper()
	for _, s := range c.sides() {
		for _, other := range s.talkers {
			if other != nil {
				_ = other.conn.Close()
			}
		}
		s.talkers = [talkers]*talker{}
	}
	c.level()
	for _, s := range c.sides() {
		s.await(func() bool { return strings.Count(s.control.Do("CLIENT", "LIST").Str, "\n") == 1 })
		for _, l := range []string{"CLIENT UNPAUSE", `CONFIG SET notify-keyspace-events ""`, "FLUSHALL", "CONFIG RESETSTAT"} {
			require.Equal(c.t, "+OK", s.control.Do(words(c.t, l)...).String())
		}
	}
	for who := range talkers {
		c.open(who)
	}
}

// level makes the ids of the next connections equal.
func (c *conversations) level() {
	c.t.Helper()
	next := func(s *talkSide) int64 {
		conn := testkit.Dial(c.t, s.dial)
		defer conn.Close()
		return conn.Do("CLIENT", "ID").Int
	}
	ours, redis := next(&c.ours), next(&c.redis)
	for ; ours < redis; ours = next(&c.ours) {
	}
	for ; redis < ours; redis = next(&c.redis) {
	}
}

// open opens a connection of a talker to both servers.
func (c *conversations) open(who int) {
	c.t.Helper()
	for _, s := range c.sides() {
		conn, err := s.dial()
		require.NoError(c.t, err)
		c.t.Cleanup(func() { _ = conn.Close() })
		tk := &talker{conn: conn.(*net.UnixConn)}
		tk.raw, err = tk.conn.SyscallConn()
		require.NoError(c.t, err)
		s.talkers[who] = tk
		tk.send("CLIENT", "ID")
		s.await(func() bool { tk.drain(); return len(tk.got) == 1 })
		tk.id, tk.got = tk.got[0].Int, nil
	}
	require.Equal(c.t, c.redis.talkers[who].id, c.ours.talkers[who].id, "the numbers of the connections")
}

// play plays steps, and returns the index of the first wrong step with the difference, or "".
func (c *conversations) play(steps []talkStep) (at int, wrong string) {
	c.t.Helper()
	c.begin()
	c.paused = false
	for at, step := range steps {
		if wrong := c.step(step); wrong != "" {
			return at, wrong
		}
	}
	return 0, ""
}

func (c *conversations) step(step talkStep) (wrong string) {
	c.t.Helper()
	if c.ours.talkers[step.who].closed || len(step.commands) == 0 {
		c.reopen(step.who)
	}
	if c.redis.waits(step.who) { // the output in between depends on the time
		return ""
	}
	if slices.Contains(step.commands, "CLIENT KILL ID {"+letter(step.who)+"} SKIPME no") { // D117, if it is muted
		return ""
	}
	for _, s := range c.sides() {
		var out []byte
		for _, l := range step.commands {
			c.paused = c.paused || strings.HasPrefix(l, "CLIENT PAUSE")
			for who, other := range s.talkers {
				l = strings.ReplaceAll(l, "{"+letter(who)+"}", strconv.FormatInt(other.id, 10))
			}
			split, ok := resp.SplitWords(nil, []byte(l))
			require.True(c.t, ok, l)
			out = resp.AppendCommand(out, split...)
		}
		s.talkers[step.who].write(out)
	}
	if c.after != nil {
		c.after(step)
	}
	// Redis makes a FLUSHALL wait for a thread, and closes connections a round later.
	for try := range 60 {
		if wrong = c.compare(); wrong == "" {
			return ""
		}
		time.Sleep(time.Duration(try) * 100 * time.Microsecond)
	}
	return wrong
}

// waits reports whether a talker's command waits.
func (s *talkSide) waits(who int) bool {
	list := s.control.Do("CLIENT", "LIST", "ID", strconv.FormatInt(s.talkers[who].id, 10))
	return strings.Contains(flagsOf(list), "b")
}

// reopen closes a connection, and opens a new one after both servers have noticed.
func (c *conversations) reopen(who int) {
	c.t.Helper()
	for _, s := range c.sides() {
		old := s.talkers[who]
		_ = old.conn.Close()
		s.await(func() bool { return s.control.Do("CLIENT", "LIST", "ID", strconv.FormatInt(old.id, 10)).Str == "" })
	}
	c.open(who)
}

// compare reads what every connection has received since the last equal state, and returns the difference.
func (c *conversations) compare() (wrong string) {
	for _, s := range c.sides() {
		s.fence()
		for _, tk := range s.talkers {
			tk.drain()
		}
	}
	for who := range talkers {
		ours, redis := c.ours.talkers[who], c.redis.talkers[who]
		a, b := maskAll(ours.got, c.ours.socket), maskAll(redis.got, c.redis.socket)
		if c.paused {
			a, b = joinInvalidations(withoutMonitored(a)), joinInvalidations(withoutMonitored(b))
		}
		if slices.ContainsFunc(b, showsWithin) {
			a, b = inPieces(a), inPieces(b)
		}
		if slices.EqualFunc(a, b, resp.Value.Equal) && ours.closed == redis.closed && (len(ours.in) > 0) == (len(redis.in) > 0) {
			continue
		}
		wrong += fmt.Sprintf("%s received\n  lockserver: %s%s\n  redis:      %s%s\n", letter(who),
			short(resp.Value{Kind: resp.Array, Elems: a}), ours.ended(), short(resp.Value{Kind: resp.Array, Elems: b}), redis.ended())
	}
	if wrong == "" {
		for _, s := range c.sides() {
			for _, tk := range s.talkers {
				tk.got = nil
			}
		}
	}
	return wrong
}

// report describes a failure with the steps that it needs.
func (c *conversations) report(steps []talkStep, wrong string) string {
	c.t.Helper()
	r := shrink.Search(steps, func(part []talkStep) bool {
		at, again := c.play(part)
		if again == "" || at != len(part)-1 {
			return false
		}
		wrong = again
		return true
	}, shrink.Limits{Time: shrinkTime})
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n", r)
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	return b.String() + wrong
}

// talker is a connection that reads all data, without expected replies.
type talker struct {
	conn   *net.UnixConn
	raw    syscall.RawConn
	id     int64
	in     []byte // the beginning of an incomplete value
	got    []resp.Value
	closed bool // by the server
}

func (tk *talker) ended() string {
	text := ""
	if len(tk.in) > 0 {
		text = fmt.Sprintf(" and %q", tk.in)
	}
	if tk.closed {
		text += ", and was closed"
	}
	return text
}

func (tk *talker) send(words ...string) {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	tk.write(resp.AppendCommand(nil, args...))
}

// write sends bytes. The connection may already be closed.
func (tk *talker) write(b []byte) { _, _ = tk.conn.Write(b) }

// drain reads the data that has arrived, without waiting.
func (tk *talker) drain() {
	buf := make([]byte, 64<<10)
	for !tk.closed {
		n, cause := 0, error(nil)
		err := tk.raw.Read(func(fd uintptr) bool {
			n, cause = syscall.Read(int(fd), buf)
			return true
		})
		if errors.Is(cause, syscall.EAGAIN) {
			break
		}
		if err != nil || cause != nil || n == 0 {
			tk.closed = true
			break
		}
		tk.in = append(tk.in, buf[:n]...)
	}
	from := bytes.NewReader(tk.in)
	reader := bufio.NewReader(from)
	whole := 0
	for {
		v, err := resp.ReadValue(reader)
		if err != nil {
			break
		}
		tk.got = append(tk.got, v)
		whole = len(tk.in) - from.Len() - reader.Buffered()
	}
	tk.in = slices.Clone(tk.in[whole:])
}
