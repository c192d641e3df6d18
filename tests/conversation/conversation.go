// Package conversation plays a text in which several clients talk with one server. Its lines are commands and
// replies, and say when the clock moves on. The tests of locks, semaphores and waits are such texts. It knows
// a server by its connections and by two counts only, so that tests inside of package server can use it, too.
package conversation

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// soon bounds how long a conversation waits for what must happen.
const soon = 2 * time.Minute

// Welcome is the reply to HELLO 3 of the first client.
const Welcome = `{"server":"redis" "version":"7.4.1" "proto":3 "id":1 "mode":"standalone" "role":"master" "modules":[]}`

// Server has the connections and the figures of the server that a conversation uses.
type Server struct {
	Dial func() (net.Conn, error)
	// Parked returns how many commands wait, and Connected how many clients there are.
	Parked, Connected func() int
	// Clock is the server's clock, which stands still; nil: no line moves it.
	Clock Clock
}

// Clock is a clock that only the test moves.
type Clock interface {
	NowUS() int64
	// Set moves the clock; what falls due happens later. Advance lets it happen.
	Set(t time.Time)
	Advance(d time.Duration)
}

type conversation struct {
	Server
	clients map[string]*testkit.Client
	tokens  map[string]int64
}

// Run plays a conversation, and fails the test at the first line that is not true. A line is one of
//
//	A LOCK k a PX 1000 -> token     client A sends a command and gets a reply
//	B LOCK k b WAIT 0 -> waits      the command is parked
//	B <- token                      the reply to what was sent earlier
//	B <- closed                     the server has closed the connection
//	B <- granted k x b              the push of a grant: key, token (see below), owner
//	B <- granted k,l x,y b          the same after an MLOCK
//	B sends UNLOCK k b              no reply is expected yet
//	B pipelines PING ; PING         the same, of several in one write
//	+500ms                          the clock moves on, and what falls due happens
//	!500ms                          the clock moves on, and nothing has happened yet
//	close B                         the client goes
//	parked 2                        so many commands wait
//
// An expected reply is written as resp.Value.String does. For fencing tokens it is "token" (any token),
// "token=x" (the token with the name x; the first use names it) or "token>x" (a token above x).
// "tokens=x,y" is an array of such tokens. In an argument, and inside of a reply, token:x stands for the
// token x. "" is an empty argument. share:x:2:0 is the value of a shared holder with the token x, ~ is any
// reply, and "addr" is the address of any client.
func Run(t *testing.T, srv Server, text string) {
	t.Helper()
	sc := &conversation{srv, make(map[string]*testkit.Client), make(map[string]int64)}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		if line = strings.TrimSpace(line); line != "" {
			sc.line(t, fmt.Sprintf("line %d: %s", i+1, line), strings.Fields(line))
		}
	}
}

func (sc *conversation) line(t *testing.T, where string, words []string) {
	t.Helper()
	switch {
	case words[0][0] == '+':
		d, err := time.ParseDuration(words[0][1:])
		require.NoError(t, err, where)
		sc.Clock.Advance(d)
	case words[0][0] == '!':
		d, err := time.ParseDuration(words[0][1:])
		require.NoError(t, err, where)
		sc.Clock.Set(time.UnixMicro(sc.Clock.NowUS()).Add(d))
	case words[0] == "close":
		before := sc.Connected()
		sc.client(t, words[1]).Close()
		delete(sc.clients, words[1])
		Await(t, soon, func() bool { return sc.Connected() < before }, "%s", where)
	case words[0] == "parked":
		n, err := strconv.Atoi(words[1])
		require.NoError(t, err, where)
		sc.awaitParked(t, where, n)
	case words[1] == "<-":
		sc.receive(t, where, sc.client(t, words[0]), strings.Join(words[2:], " "))
	case words[1] == "pipelines":
		var bytes []byte
		for _, command := range strings.Split(strings.Join(words[2:], " "), " ; ") {
			bytes = append(bytes, command+"\r\n"...)
		}
		_, err := sc.client(t, words[0]).Conn().Write(bytes)
		require.NoError(t, err, where)
	case words[1] == "sends":
		sc.client(t, words[0]).Send(sc.arguments(words[2:])...)
	default:
		sc.exchange(t, where, words)
	}
}

func (sc *conversation) exchange(t *testing.T, where string, words []string) {
	t.Helper()
	arrow := slices.Index(words, "->") // an error may contain more of them
	require.Positive(t, arrow, where)
	c, want := sc.client(t, words[0]), strings.Join(words[arrow+1:], " ")
	before := sc.Parked()
	c.Send(sc.arguments(words[1:arrow])...)
	if want == "waits" {
		sc.awaitParked(t, where, before+1)
		return
	}
	sc.receive(t, where, c, want)
}

func (sc *conversation) arguments(words []string) []string {
	args := make([]string, len(words))
	for i, w := range words {
		if args[i] = w; w == `""` {
			args[i] = ""
		} else if name, ok := strings.CutPrefix(w, "token:"); ok {
			args[i] = strconv.FormatInt(sc.tokens[name], 10)
		}
	}
	return args
}

func (sc *conversation) client(t *testing.T, name string) *testkit.Client {
	t.Helper()
	c := sc.clients[name]
	if c == nil {
		c = testkit.Dial(t, sc.Dial)
		c.Do("PING") // it is connected, for the counts
		sc.clients[name] = c
	}
	return c
}

func (sc *conversation) receive(t *testing.T, where string, c *testkit.Client, want string) {
	t.Helper()
	if want == "closed" {
		AwaitClosed(t, c.Conn())
		return
	}
	got := c.Receive()
	if words, ok := strings.CutPrefix(want, "granted "); ok {
		sc.granted(t, where, got, strings.Fields(words))
		return
	}
	if names, ok := strings.CutPrefix(want, "tokens="); ok {
		require.Equal(t, resp.Array, got.Kind, "%s: %s", where, got)
		list := strings.Split(names, ",")
		require.Len(t, got.Elems, len(list), where)
		for i, name := range list {
			sc.token(t, where, got.Elems[i], "="+name)
		}
		return
	}
	if name, ok := strings.CutPrefix(want, "token:"); ok {
		want = strconv.Quote(strconv.FormatInt(sc.tokens[name], 10))
	}
	if name, ok := strings.CutPrefix(want, "share:"); ok {
		name, rest, _ := strings.Cut(name, ":")
		want = fmt.Sprintf("\"$%d:%s\"", sc.tokens[name], rest)
	}
	for name, token := range sc.tokens {
		want = strings.ReplaceAll(want, " token:"+name+" ", " "+strconv.FormatInt(token, 10)+" ")
	}
	if want == "~" {
		return
	}
	if !strings.HasPrefix(want, "token") {
		require.Equal(t, want, address.ReplaceAllString(strings.TrimRight(got.String(), " "), `"address" "addr"`), where)
		return
	}
	sc.token(t, where, got, want[len("token"):])
}

// granted checks the push of a grant.
func (sc *conversation) granted(t *testing.T, where string, got resp.Value, words []string) {
	t.Helper()
	require.Equal(t, resp.Push, got.Kind, "%s: %s", where, got)
	require.Len(t, got.Elems, 4, "%s: %s", where, got)
	require.Equal(t, `"lock-granted"`, got.Elems[0].String(), where)
	require.Equal(t, strconv.Quote(words[2]), got.Elems[3].String(), where)
	keys, tokens := []resp.Value{got.Elems[1]}, []resp.Value{got.Elems[2]}
	if strings.Contains(words[0], ",") {
		keys, tokens = keys[0].Elems, tokens[0].Elems
	}
	names := strings.Split(words[1], ",")
	require.Len(t, tokens, len(names), where)
	for i, key := range strings.Split(words[0], ",") {
		require.Equal(t, strconv.Quote(key), keys[i].String(), where)
		sc.token(t, where, tokens[i], "="+names[i])
	}
}

// address matches a client's address in a reply.
var address = regexp.MustCompile(`"address" "[^"]*"`)

// token checks one token against what stands behind the word: nothing, =x or >x.
func (sc *conversation) token(t *testing.T, where string, got resp.Value, name string) {
	t.Helper()
	require.Equal(t, resp.Integer, got.Kind, "%s: %s", where, got)
	require.Positive(t, got.Int, where)
	switch {
	case name == "":
	case name[0] == '>':
		require.Greater(t, got.Int, sc.tokens[name[1:]], where)
	case sc.tokens[name[1:]] == 0:
		sc.tokens[name[1:]] = got.Int
	default:
		require.Equal(t, sc.tokens[name[1:]], got.Int, where)
	}
}

// awaitParked waits until so many commands wait.
func (sc *conversation) awaitParked(t *testing.T, where string, n int) {
	t.Helper()
	Await(t, soon, func() bool { return sc.Parked() == n }, "%s: %d commands should wait", where, n)
}

// Await waits until a condition holds, and fails the test if it does not within the limit. The condition is
// checked often in the beginning, and every 2 ms later.
func Await(t testing.TB, limit time.Duration, holds func() bool, format string, args ...any) {
	t.Helper()
	pause := 200 * time.Microsecond
	for end := time.Now().Add(limit); !holds(); time.Sleep(pause) {
		if time.Now().After(end) {
			require.Failf(t, "it did not happen", format, args...)
		}
		pause = min(pause*5/4, 2*time.Millisecond)
	}
}

// AwaitClosed fails unless the server has closed the connection, or does soon, and sends nothing before.
func AwaitClosed(t testing.TB, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(soon)))
	buf := make([]byte, 64)
	n, err := conn.Read(buf)
	require.Zero(t, n, "%q", buf[:n])
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}
