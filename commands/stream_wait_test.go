package commands

import (
	"bufio"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// waitScenes lists actions of several clients. Some of them wait in XREAD BLOCK. A line has a client, its
// command and, after "=>", the reply; without a reply the client must wait. "2 => reply" is the reply that
// client 2 has got meanwhile, and "2 waits" says that it has none yet. Scenes are also played on a Redis,
// unless they say otherwise.
var waitScenes = []struct{ name, script string }{
	{"all who wait are answered", `
		1 XADD s 5 a b => "5-0"
		2 XREAD BLOCK 0 STREAMS s $
		3 XREAD BLOCK 0 STREAMS t s 0 $
		4 XREAD BLOCK 0 STREAMS t 0
		1 XADD s 6 a b => "6-0"
		2 => [["s" [["6-0" ["a" "b"]]]]]
		3 => [["s" [["6-0" ["a" "b"]]]]]
		4 waits
		1 XADD t 1 c d => "1-0"
		4 => [["t" [["1-0" ["c" "d"]]]]]
		1 XADD s 7 a b => "7-0"
		2 PING => +PONG`},
	{"version 3", `
		2 HELLO 3
		2 XREAD BLOCK 0 STREAMS s t $ $
		1 XADD t 6 a b => "6-0"
		2 => {"t":[["6-0" ["a" "b"]]]}`},
	{"a stream that comes again goes on from the ID that was resolved", `
		1 XADD s 5 a b => "5-0"
		2 XREAD BLOCK 0 STREAMS s $
		1 DEL s => 1
		1 XADD s 4 a b => "4-0"
		1 XADD s 5 a b => "5-0"
		2 waits
		1 XADD s 6 c d => "6-0"
		2 => [["s" [["6-0" ["c" "d"]]]]]`},
	{"flushed", `
		1 XADD s 5 a b => "5-0"
		2 XREAD BLOCK 0 STREAMS s $
		1 FLUSHALL => +OK
		1 XADD s 4 a b => "4-0"
		2 waits
		1 XADD s 6 c d => "6-0"
		2 => [["s" [["6-0" ["c" "d"]]]]]`},
	{"a key of another type is waited for on", `
		1 XADD s 5 a b => "5-0"
		2 XREAD BLOCK 0 STREAMS s $
		1 DEL s => 1
		1 SET s x => +OK
		2 waits
		1 DEL s => 1
		1 XADD s 9 c d => "9-0"
		2 => [["s" [["9-0" ["c" "d"]]]]]`},
	{"renamed and copied", `
		1 XADD z 1 a b => "1-0"
		2 XREAD BLOCK 0 STREAMS s 0
		3 XREAD BLOCK 0 STREAMS t 0
		1 COPY z t => 1
		3 => [["t" [["1-0" ["a" "b"]]]]]
		2 waits
		1 RENAME z s => +OK
		2 => [["s" [["1-0" ["a" "b"]]]]]`},
	{"XSETID, XDEL and XTRIM bring nothing new", `
		1 XADD s 1 a b => "1-0"
		1 XADD s 2 a b => "2-0"
		2 XREAD BLOCK 0 STREAMS s 3
		1 XSETID s 5 => +OK
		1 XDEL s 1 => 1
		1 XTRIM s MAXLEN 0 => 1
		1 EXPIRE s 100 => 1
		2 waits
		1 XADD s 6 a b => "6-0"
		2 => [["s" [["6-0" ["a" "b"]]]]]`},
	{"a key named twice", `
		1 XADD s 1 a b => "1-0"
		2 XREAD BLOCK 0 STREAMS s s 5 2
		3 XREAD BLOCK 0 STREAMS s s 1 1
		1 XADD s 3 a b => "3-0"
		2 => [["s" [["3-0" ["a" "b"]]]]]
		3 => [["s" [["3-0" ["a" "b"]]]] ["s" [["3-0" ["a" "b"]]]]]`},
	{"the answer to a waiter is all that is there; COUNT holds", `
		2 XREAD BLOCK 0 COUNT 1 STREAMS s t 0 0
		1 EVAL redis.call('XADD','t','1','a','b');redis.call('XADD','s','1','a','b');redis.call('XADD','s','2','a','b') 0 => $nil
		2 => [["s" [["1-0" ["a" "b"]]]] ["t" [["1-0" ["a" "b"]]]]]`},
	{"what is trimmed away at once wakes no waiter", `
		2 XREAD BLOCK 0 STREAMS s 0
		1 XADD s MAXLEN 0 1 a b => "1-0"
		2 waits
		1 XADD s 2 a b => "2-0"
		2 => [["s" [["2-0" ["a" "b"]]]]]`},
	{"the last entry, whatever that is by then", `
		2 XREAD BLOCK 0 STREAMS s +
		1 EVAL redis.call('XADD','s','1','a','b');redis.call('XADD','s','2','a','b') 0 => $nil
		2 => [["s" [["2-0" ["a" "b"]]]]]`},
	{"another key that has become another type", `
		2 XREAD BLOCK 0 STREAMS s t 0 0
		1 SET s v => +OK
		2 waits
		1 XADD t 1 a b => "1-0"
		2 => -WRONGTYPE Operation against a key holding the wrong kind of value`},
	{"the highest ID is never passed", `
		2 XREAD BLOCK 0 STREAMS s 18446744073709551615-18446744073709551615
		1 XADD s 18446744073709551615-18446744073709551615 a b => "18446744073709551615-18446744073709551615"
		2 waits`},
	{"a wait beyond the end of time", `
		2 XREAD BLOCK 9223372036854775807 STREAMS s 0 => -ERR timeout is out of range
		2 XREAD BLOCK 9000000000000000000 STREAMS s 0
		1 XADD s 1 a b => "1-0"
		2 => [["s" [["1-0" ["a" "b"]]]]]`},
	{"an emptied stream is waited for", `
		1 XADD s 7 a b => "7-0"
		1 XDEL s 7 => 1
		2 XREAD BLOCK 0 STREAMS s 0
		3 XREAD BLOCK 0 STREAMS s $
		1 XADD s 8 a b => "8-0"
		2 => [["s" [["8-0" ["a" "b"]]]]]
		3 => [["s" [["8-0" ["a" "b"]]]]]`},
}

// waitClient is a client of the fixture or of a Redis.
type waitClient interface {
	// send sends a command and returns the reply; ok is false if the client now waits.
	send(args ...string) (reply string, ok bool)
	// answered returns the reply that has come since; ok is false before it comes.
	answered() (reply string, ok bool)
}

func playWaitScene(t *testing.T, script string, client func(id int) waitClient) {
	t.Helper()
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		call, want, replies := strings.Cut(line, "=> ")
		args := strings.Fields(call)
		id, err := strconv.Atoi(args[0])
		require.NoError(t, err, line)
		cl := client(id)
		switch {
		case len(args) == 2 && args[1] == "waits":
			got, ok := cl.answered()
			require.False(t, ok, "%s, but got %s", line, got)
		case len(args) == 1:
			got, ok := cl.answered()
			require.True(t, ok, "%s: still waiting", line)
			require.Equal(t, want, got, line)
		case args[1] == "HELLO" || args[1] == "SELECT":
			cl.send(args[1:]...)
		default:
			got, ok := cl.send(args[1:]...)
			require.Equal(t, replies, ok, line)
			require.Equal(t, want, got, line)
		}
	}
}

func (cl *fakeClient) send(args ...string) (string, bool) {
	v := cl.do(args...)
	if v.Kind == 0 {
		return "", false
	}
	return v.String(), true
}

func (cl *fakeClient) answered() (string, bool) {
	if len(cl.replies) == 0 {
		return "", false
	}
	return cl.answer().String(), true
}

// scriptRow replaces EVAL in the scenes: it runs the calls of a script as one unit.
func scriptRow() []Row {
	return []Row{{Name: "eval", Group: Scripting, Since: "1.0.0", Summary: "Runs calls as one unit.", Complexity: "O(N)",
		Flags: Write, Args: []Arg{Str("script"), Int("numkeys")},
		Run: func(c *Ctx) error {
			for call := range strings.SplitSeq(string(c.Argv[1]), ";") {
				call = strings.TrimSuffix(strings.TrimPrefix(call, "redis.call('"), "')")
				argv := words(strings.Split(call, "','")...)
				row, err := c.Table.Resolve(argv)
				if err != nil {
					return err
				}
				inner := *c
				inner.Argv, inner.Row, inner.Out, inner.MayBlock = argv, row, &resp.Writer{}, false
				if err := row.Run(&inner); err != nil {
					return err
				}
			}
			c.Out.Null()
			return nil
		}}}
}

// playWaitScenes plays scenes on a fixture with these rows and, if there is one, on a Redis.
func playWaitScenes(t *testing.T, scenes []struct{ name, script string }, rows ...func() []Row) {
	t.Helper()
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			f := newFixture(t, rows...)
			playWaitScene(t, scene.script, func(id int) waitClient { return f.client(int64(id)) })
		})
	}
	if !withOracle {
		return
	}
	t.Run("on redis", func(t *testing.T) {
		redis := startOracle(t)
		for _, scene := range scenes {
			t.Log(scene.name)
			redis.do("FLUSHALL")
			clients := map[int]*waitingOracle{}
			playWaitScene(t, scene.script, func(id int) waitClient {
				if clients[id] == nil {
					clients[id] = redis.another()
				}
				return clients[id]
			})
			for _, cl := range clients {
				require.NoError(t, cl.conn.Close())
			}
			require.Eventually(t, func() bool { return redis.blocked() == 0 }, 30*time.Second, time.Millisecond)
		}
	})
}

func TestStreamWaits(t *testing.T) {
	playWaitScenes(t, waitScenes, StreamRows, StringRows, KeyRows, KeyspaceRows, scriptRow, pingRow)
}

func pingRow() []Row {
	return []Row{{Name: "ping", Group: Connection, Since: "1.0.0", Summary: "Answers.", Complexity: "O(1)", Flags: Fast,
		Run: func(c *Ctx) error {
			c.Out.Simple("PONG")
			return nil
		}}}
}

// waitingOracle is another connection to the oracle, which may wait.
type waitingOracle struct {
	oracle
	first *oracle
}

func (o *oracle) another() *waitingOracle {
	o.t.Helper()
	conn, err := net.Dial("unix", o.conn.RemoteAddr().String())
	require.NoError(o.t, err)
	return &waitingOracle{oracle{t: o.t, conn: conn, in: bufio.NewReader(conn)}, o}
}

// blocked returns the number of waiting clients.
func (o *oracle) blocked() int {
	info := o.do("INFO", "clients").Str
	_, rest, _ := strings.Cut(info, "blocked_clients:")
	n, err := strconv.Atoi(rest[:strings.IndexByte(rest, '\r')])
	require.NoError(o.t, err)
	return n
}

func (w *waitingOracle) send(args ...string) (string, bool) {
	w.t.Helper()
	before := w.first.blocked()
	_, err := w.conn.Write(resp.AppendCommand(nil, words(args...)...))
	require.NoError(w.t, err)
	if args[0] != "XREAD" && args[0][0] != 'B' {
		return w.read(30 * time.Second)
	}
	var reply string
	var ok bool
	require.Eventually(w.t, func() bool {
		reply, ok = w.read(time.Millisecond)
		return ok || w.first.blocked() > before
	}, 30*time.Second, time.Millisecond)
	return reply, ok
}

// answered relies on Redis to write the reply of a waiter together with the reply of the client that woke it.
// When Redis has answered a later command, all of that has been written.
func (w *waitingOracle) answered() (string, bool) {
	w.t.Helper()
	w.first.do("PING")
	for range 2 { // twice: on a busy machine the first attempt may run out of time
		if reply, ok := w.read(10 * time.Millisecond); ok {
			return reply, true
		}
	}
	return w.read(10 * time.Millisecond)
}

func (w *waitingOracle) read(timeout time.Duration) (string, bool) {
	w.t.Helper()
	require.NoError(w.t, w.conn.SetReadDeadline(time.Now().Add(timeout)))
	if _, err := w.in.Peek(1); err != nil {
		return "", false
	}
	require.NoError(w.t, w.conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	v, err := resp.ReadValue(w.in)
	require.NoError(w.t, err)
	return v.String(), true
}

// TestStreamWaitEnds: a wait ends at its time, and at once where no wait is allowed. The replies are those of
// Redis 7.4.1, in a transaction.
func TestStreamWaitEnds(t *testing.T) {
	f := newFixture(t, StreamRows)
	waiter := f.client(2)
	require.Zero(t, waiter.do("XREAD", "BLOCK", "100", "STREAMS", "s", "0"))
	f.advance(99)
	require.Empty(t, waiter.replies)
	f.advance(1)
	require.Equal(t, "*nil", waiter.answer().String())
	waiter.proto = 3
	require.Zero(t, waiter.do("XREAD", "BLOCK", "1", "STREAMS", "s", "0"))
	f.advance(1)
	require.Equal(t, "nil", waiter.answer().String())
	f.do("XADD", "s", "1", "a", "b")
	require.Empty(t, waiter.replies)

	f.client(1).noBlock = true
	f.want("*nil", "XREAD", "BLOCK", "0", "STREAMS", "s", "$")
	f.want(`[["s" [["1-0" ["a" "b"]]]]]`, "XREAD", "BLOCK", "0", "STREAMS", "s", "0")
}

// TestStreamWaitCount: a client that has waited without COUNT gets all entries that then exist.
func TestStreamWaitCount(t *testing.T) {
	f := newFixture(t, StreamRows, scriptRow)
	waiter := f.client(2)
	require.Zero(t, waiter.do("XREAD", "BLOCK", "0", "STREAMS", "s", "0"))
	const many = 1001
	var calls []string
	for i := range many {
		calls = append(calls, "redis.call('XADD','s','"+strconv.Itoa(i+1)+"','a','b')")
	}
	f.do("EVAL", strings.Join(calls, ";"), "0")
	require.Len(t, waiter.answer().Elems[0].Elems[1].Elems, many)
}
