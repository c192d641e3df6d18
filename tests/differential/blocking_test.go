//go:build oracle

package differential

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// play is a script for several connections, each with a letter, on both servers. A line is one of
//
//	A XADD s 1-1 f v       sends a command and compares the replies
//	A* XREAD BLOCK 0 ...   sends a command, and continues when both servers say that it waits
//	A<                     compares the replies that a waiting command got
//	A?                     a waiting command still waits
//	A+ PING                sends a command; A< compares the replies
//	A-                     closes the connection
//	A= 3                   switches to that version of the protocol
//	A~ PUBLISH c m         sends a command and compares its two answers
//	A! D0 GET k            sends a command with replies that differ, see docs/DIFFERENCES.md
//	sleep 20               milliseconds
//
// {A} is the id of A's connection.
type play string

// TestBlocking plays commands that wait, on several connections.
func TestBlocking(t *testing.T) {
	playAll(t, startPair(t, ""), slices.Concat(blockingCases(), listWaits(), zsetWaits(), transactionCases(), groupPlays()))
}

// playAll plays every case in both versions of the protocol, and compares the data at the end.
func playAll(t *testing.T, p *pair, cases []blockingCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, version := range []string{"2", "3"} {
				here := p.in(t)
				here.begin(2)
				s := &stage{pair: here, version: version, ours: map[string]*actor{}, redis: map[string]*actor{}}
				for _, l := range strings.Split(string(c.play), "\n") {
					if l = strings.TrimSpace(l); l != "" && l[0] != '#' {
						s.step(l)
					}
				}
				require.Empty(t, here.diff(), "the data differs")
			}
		})
	}
}

// stage holds the connections of one play by letter.
type stage struct {
	*pair
	version     string
	ours, redis map[string]*actor
}

// actor is a connection of a play, with its id.
type actor struct {
	*testkit.Client
	id string
}

func newActor(t *testing.T, on side, version string) *actor {
	t.Helper()
	a := &actor{Client: testkit.Dial(t, on.dial)}
	a.id = a.Do("CLIENT", "ID").String()
	if version == "3" {
		a.Hello(3)
	}
	return a
}

// actor returns both connections of a letter. Its first line opens them.
func (s *stage) actor(name string) (ours, redis *actor) {
	s.t.Helper()
	if s.ours[name] == nil {
		s.ours[name] = newActor(s.t, s.pair.ours, s.version)
		s.redis[name] = newActor(s.t, s.pair.redis, s.version)
	}
	return s.ours[name], s.redis[name]
}

func (s *stage) step(l string) {
	s.t.Helper()
	who, rest, _ := strings.Cut(l, " ")
	if who == "sleep" {
		s.isStep(words(s.t, l))
		return
	}
	ours, redis := s.actor(who[:1])
	switch who[1:] {
	case "":
		s.send(rest, ours, redis)
		s.compare(l, ours, redis)
	case "*":
		s.send(rest, ours, redis)
		s.awaitBlocked(l, s.pair.ours.watch, ours.id)
		s.awaitBlocked(l, s.pair.redis.watch, redis.id)
	case "+":
		s.send(rest, ours, redis)
	case "<":
		s.compare(l, ours, redis)
	case "?":
		for name, c := range map[string]*actor{"lockserver": ours, "redis": redis} {
			v, got := c.ReceiveWithin(30 * time.Millisecond)
			require.Falsef(s.t, got, "%s: %s was answered %s", l, name, v)
		}
	case "-":
		ours.Close()
		redis.Close()
		s.awaitGone(l, s.pair.ours.watch, ours.id)
		s.awaitGone(l, s.pair.redis.watch, redis.id)
	case "=":
		version, err := strconv.Atoi(rest)
		require.NoError(s.t, err, l)
		ours.Hello(version)
		redis.Hello(version)
	case "!":
		_, command, _ := strings.Cut(rest, " ")
		s.send(command, ours, redis)
		a, b := ours.Receive(), redis.Receive()
		require.Falsef(s.t, a.Equal(b), "version %s, %s: no difference: %s", s.version, l, a)
	case "~":
		s.send(rest, ours, redis)
		s.compare(l, ours, redis)
		s.compare(l, ours, redis)
	default:
		require.Fail(s.t, "what is this line?", l)
	}
}

// send sends a command to both servers; {A} is replaced by the ids of the clients.
func (s *stage) send(text string, ours, redis *actor) {
	s.t.Helper()
	ours.Send(words(s.t, withIDs(text, s.ours))...)
	redis.Send(words(s.t, withIDs(text, s.redis))...)
}

func withIDs(text string, actors map[string]*actor) string {
	for name, a := range actors {
		text = strings.ReplaceAll(text, "{"+name+"}", a.id)
	}
	return text
}

func (s *stage) compare(l string, ours, redis *actor) {
	s.t.Helper()
	s.same(l, ours.Receive(), redis.Receive())
}

// same compares two replies, except the times in replies about consumer groups, because the servers' clocks
// differ.
func (s *stage) same(l string, a, b resp.Value) {
	s.t.Helper()
	if strings.Contains(l, "XPENDING") || strings.Contains(l, "XINFO") {
		a, b = withoutTimes(a), withoutTimes(b)
	}
	require.Truef(s.t, a.Equal(b), "version %s, %s\n  %s", s.version, l, differ(a, b))
}

// awaitBlocked returns when the server says that the connection with this id waits.
func (s *stage) awaitBlocked(l string, watch *testkit.Client, id string) {
	s.t.Helper()
	require.Eventuallyf(s.t, func() bool {
		list := watch.Do("CLIENT", "LIST", "ID", id)
		return strings.Contains(flagsOf(list), "b")
	}, time.Minute, time.Millisecond, "%s does not wait", l)
}

// awaitGone returns when the server has noticed that the connection with this id has ended.
func (s *stage) awaitGone(l string, watch *testkit.Client, id string) {
	s.t.Helper()
	require.Eventuallyf(s.t, func() bool { return watch.Do("CLIENT", "LIST", "ID", id).Str == "" }, time.Minute,
		time.Millisecond, "%s: it is still there", l)
}

func flagsOf(list resp.Value) string {
	_, rest, _ := strings.Cut(list.Str, " flags=")
	flags, _, _ := strings.Cut(rest, " ")
	return flags
}
