//go:build oracle

package differential

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// talkStep is what a connection sends at once: one or more commands. Without commands it is closed and opened
// again.
type talkStep struct {
	who      int
	commands []string // as redis-cli takes them; {B} is the id of B's connection
}

// String returns the step as a report shows it.
func (s talkStep) String() string {
	if len(s.commands) == 0 {
		return letter(s.who) + "-"
	}
	return letter(s.who) + " " + strings.Join(s.commands, " | ")
}

// letter returns the name of a connection.
func letter(who int) string { return string(rune('A' + who)) }

// weighted is a command with its frequency.
type weighted struct {
	weight   int
	template string
}

// spoken lists the commands of conversations. talkWord replaces the words in angle brackets. These are left
// out: SWAPDB (D57), QUIT, which a muted connection survives in Redis (D117), and AUTH in a pipeline (D106).
// So are overlapping prefixes in one call (D58), and commands that depend on chance or time.
var spoken = append(append(append(append([]weighted{}, spokenOfConnections...), spokenOfTracking...), spokenOfChannels...), spokenOfData...)

var spokenOfConnections = []weighted{
	{16, "HELLO 3"}, {7, "HELLO 2"}, {2, "HELLO"}, {2, "HELLO 3 SETNAME n<n>"}, {1, "HELLO 2 AUTH default x"}, {1, "HELLO 4"},
	{4, "RESET"}, {6, "SELECT <n>"}, {3, "CLIENT SETNAME n<n>"}, {2, "CLIENT GETNAME"}, {2, "CLIENT ID"}, {4, "CLIENT INFO"},
	{6, "CLIENT LIST"}, {2, "CLIENT LIST TYPE pubsub"}, {2, "CLIENT LIST ID <id> <id>"}, {1, "CLIENT NO-EVICT ON"},
	{1, "CLIENT NO-EVICT OFF"}, {1, "CLIENT NO-TOUCH ON"}, {1, "CLIENT NO-TOUCH OFF"}, {1, "CLIENT SETINFO LIB-NAME lib<n>"},
	{2, "CLIENT REPLY OFF"}, {5, "CLIENT REPLY ON"}, {3, "CLIENT REPLY SKIP"}, {3, "CLIENT UNBLOCK <id>"},
	{3, "CLIENT UNBLOCK <id> ERROR"}, {2, "CLIENT KILL ID <id>"}, {1, "CLIENT KILL ID <id> SKIPME no"}, {1, "CLIENT KILL TYPE pubsub"},
	{1, "CLIENT KILL nosuch:1"}, {1, "CLIENT PAUSE 100000 WRITE"}, {5, "CLIENT UNPAUSE"}, {4, "PING"}, {2, "PING <v>"}, {2, "ECHO <v>"},
	{3, "NOSUCH"}, {2, "GET"}, {1, "CLIENT NOSUCH"}, {3, "MONITOR"}, {3, "CONFIG SET notify-keyspace-events KEA"},
	{2, "CONFIG SET notify-keyspace-events Kg$"}, {3, `CONFIG SET notify-keyspace-events ""`}, {2, "CONFIG GET notify-keyspace-events"},
	{1, "CONFIG SET nosuch 1"}, {4, "INFO"}, {2, "INFO clients"}, {2, "INFO stats"}, {1, "DBSIZE"}, {1, "WAIT 0 0"},
	{18, "MULTI"}, {22, "EXEC"}, {3, "DISCARD"}, {6, "WATCH <k>"}, {1, "WATCH <k> <l>"}, {2, "UNWATCH"},
}

var spokenOfTracking = []weighted{
	{14, "CLIENT TRACKING ON"}, {7, "CLIENT TRACKING OFF"}, {3, "CLIENT TRACKING ON BCAST"}, {4, "CLIENT TRACKING ON BCAST PREFIX <prefix>"},
	{2, "CLIENT TRACKING ON BCAST PREFIX a PREFIX b"}, {3, "CLIENT TRACKING ON OPTIN"}, {3, "CLIENT TRACKING ON OPTOUT"},
	{4, "CLIENT TRACKING ON NOLOOP"}, {3, "CLIENT TRACKING ON BCAST NOLOOP"}, {2, "CLIENT TRACKING ON BCAST NOLOOP PREFIX <prefix>"},
	{5, "CLIENT TRACKING ON REDIRECT <id>"}, {2, "CLIENT TRACKING ON REDIRECT <id> BCAST"}, {1, "CLIENT TRACKING ON REDIRECT <id> NOLOOP"},
	{5, "CLIENT CACHING YES"}, {4, "CLIENT CACHING NO"}, {4, "CLIENT TRACKINGINFO"}, {2, "CLIENT GETREDIR"},
}

var spokenOfChannels = []weighted{
	{7, "SUBSCRIBE <c>"}, {2, "SUBSCRIBE <c> <c>"}, {6, "SUBSCRIBE __redis__:invalidate"}, {4, "SUBSCRIBE __keyspace@0__:<k>"},
	{4, "PSUBSCRIBE <p>"}, {4, "SSUBSCRIBE <c>"}, {5, "UNSUBSCRIBE"}, {4, "UNSUBSCRIBE <c>"}, {4, "PUNSUBSCRIBE"}, {2, "PUNSUBSCRIBE <p>"},
	{3, "SUNSUBSCRIBE"}, {2, "SUNSUBSCRIBE <c>"}, {14, "PUBLISH <c> <v>"}, {6, "SPUBLISH <c> <v>"}, {1, "PUBSUB NUMSUB <c> <c>"},
	{1, "PUBSUB NUMPAT"}, {1, "PUBSUB SHARDNUMSUB <c>"},
}

var spokenOfData = []weighted{
	{30, "GET <k>"}, {8, "MGET <k> <k>"}, {24, "SET <k> <v>"}, {4, "MSET <k> <v> <k> <v>"}, {8, "DEL <k>"}, {6, "INCR <k>"},
	{3, "APPEND <k> <v>"}, {2, "EXPIRE <k> 1000"}, {2, "EXPIRE <k> -1"}, {2, "PERSIST <k>"}, {2, "RENAME <k> <k>"}, {2, "COPY <k> <k>"},
	{2, "MOVE <k> 1"}, {3, "EXISTS <k>"}, {3, "FLUSHALL"}, {2, "FLUSHDB"}, {2, "FLUSHALL ASYNC"}, {1, "FLUSHDB ASYNC"},
	{8, "RPUSH <l> <v>"}, {3, "LPUSH <l> <v> <v>"}, {4, "LPOP <l>"}, {6, "LRANGE <l> 0 -1"}, {2, "LLEN <l>"},
	{4, "ZADD z1 <n> <v>"}, {2, "ZRANGE z1 0 -1"}, {3, "XADD x1 1-* f <v>"}, {1, "XRANGE x1 - +"}, {3, "HSET h1 f <v>"}, {2, "HGETALL h1"},
	{1, "XGROUP CREATE x1 g $ MKSTREAM"}, {1, "XGROUP DESTROY x1 g"}, {1, "DEL x1"},
	{6, "BLPOP <l> <l> 0"}, {2, "BRPOP <l> 0"}, {4, "BLMOVE <l> <l> LEFT RIGHT 0"}, {2, "BZPOPMIN z1 0"}, {3, "XREAD BLOCK 0 STREAMS x1 $"},
	{2, "XREADGROUP GROUP g c BLOCK 0 STREAMS x1 >"},
	{3, `EVAL "return redis.call('GET', KEYS[1])" 1 <k>`}, {3, `EVAL "return redis.call('SET', KEYS[1], ARGV[1])" 1 <k> <v>`},
	{2, `EVAL_RO "return redis.call('MGET', KEYS[1], 'a1')" 1 <k>`}, {1, `EVAL_RO "return redis.call('SET', KEYS[1], 1)" 1 <k>`},
	{3, `EVAL "redis.call('SET', KEYS[1], 1) redis.call('PUBLISH', 'c1', 'm') return redis.call('GET', KEYS[1])" 1 <k>`},
	{1, `EVAL "redis.call('FLUSHDB') return redis.call('SET', 'a1', 1)" 0`}, {2, `EVAL "return redis.call('RPUSH', KEYS[1], 1, 2)" 1 <l>`},
	{1, `EVAL "redis.setresp(3) return redis.call('HGETALL', 'h1')" 0`}, {1, `EVAL "redis.call('SELECT', 1) return redis.call('SET', 'a1', 1)" 0`},
	{1, `EVAL "return redis.pcall('INCR', 'l1')" 0`}, {1, `EVAL "return redis.call('NOSUCH')" 0`},
}

// talk makes the steps of conversations.
type talk struct {
	rand    *rand.Rand
	talkers int
	value   int
	sum     int
}

func newTalk(seed, number uint64, talkers int) *talk {
	g := &talk{rand: rand.New(rand.NewPCG(seed, number)), talkers: talkers}
	for _, w := range spoken {
		g.sum += w.weight
	}
	return g
}

// steps returns n steps. A connection often has several steps in a row, so that its transactions make
// progress.
func (g *talk) steps(n int) []talkStep {
	list := make([]talkStep, 0, n)
	who := 0
	for range n {
		if g.rand.IntN(3) > 0 {
			who = g.rand.IntN(g.talkers)
		}
		s := talkStep{who: who}
		if g.rand.IntN(60) > 0 {
			s.commands = append(s.commands, g.command())
			for g.rand.IntN(6) == 0 && !mayWait(s.commands[len(s.commands)-1]) {
				if next := g.command(); !looksAround(next) {
					s.commands = append(s.commands, next)
				}
			}
		}
		list = append(list, s)
	}
	return list
}

// looksAround reports whether a command shows the state of other connections. It is not sent after another
// command: until its round is over, Redis shows a client that was served by that command as waiting.
func looksAround(command string) bool {
	return strings.HasPrefix(command, "INFO") || strings.HasPrefix(command, "CLIENT LIST")
}

// mayWait reports whether a command may wait. FLUSHALL does so for a thread of Redis. No command is sent
// after it. Redis may run that command in the same round as the end of the wait, or in another. This would
// show in the messages to BCAST.
func mayWait(command string) bool {
	return command == "FLUSHALL" || command == "FLUSHDB" || strings.HasPrefix(command, "BL") || strings.HasPrefix(command, "BR") || strings.HasPrefix(command, "BZ") ||
		strings.Contains(command, " BLOCK ")
}

func (g *talk) command() string {
	at := g.rand.IntN(g.sum)
	for _, w := range spoken {
		if at -= w.weight; at < 0 {
			return g.fill(w.template)
		}
	}
	panic("the weights have another sum")
}

// fill replaces the words in angle brackets.
func (g *talk) fill(template string) string {
	for {
		before, rest, found := strings.Cut(template, "<")
		if !found {
			return template
		}
		name, after, _ := strings.Cut(rest, ">")
		template = before + g.word(name) + after
	}
}

// word returns a random word of a kind.
func (g *talk) word(kind string) string {
	pick := func(words ...string) string { return words[g.rand.IntN(len(words))] }
	switch kind {
	case "n":
		return fmt.Sprint(g.rand.IntN(3))
	case "k":
		return pick("a1", "a1", "a2", "b1", "b1", "l1")
	case "l":
		return pick("l1", "l1", "l2")
	case "c":
		return pick("c1", "c1", "c2")
	case "p":
		return pick("c*", "*", "__key*__:a*", "c1")
	case "prefix":
		return pick("a", "a1", "b", "l", `""`)
	case "id":
		return "{" + letter(g.rand.IntN(g.talkers)) + "}"
	case "v":
		g.value++
		return pick("1", "2", fmt.Sprint("v", g.value), `"x\r\n\x00\xff\"y"`)
	}
	panic("no such word: " + kind)
}
