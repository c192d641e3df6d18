//go:build oracle

package differential

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
)

// commandsAUse is how many units of the flag -commands a command counts after which uses are compared.
const commandsAUse = 20

// byTurns is how often the rows take turns, so that none is left out.
const byTurns = 5

// TestGeneratedUses compares how each server counts the uses of its keys, after each of many commands: OBJECT
// FREQ, and the numbers of hits and misses. Each use counts 1, and the counts never decay. TestGenerated
// compares the replies.
func TestGeneratedUses(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("seed %d", seed)
	p := startUses(t)
	names := map[string]bool{}
	for _, name := range p.redis.Do("COMMAND", "LIST").Elems {
		names[strings.ToLower(name.Str)] = true
	}
	g := newGenerator(func(name string) bool { return names[name] })
	g.payloads = payloads(p.pair)
	failures, turn := map[string]bool{}, 0
	most := *commandsFlag / commandsAUse
	for i := 0; i*sequenceLength < most && len(failures) < mostFailures; i++ {
		if *sequenceFlag >= 0 {
			i = *sequenceFlag
		}
		g.pool = pool{rand: rand.New(rand.NewPCG(seed, uint64(i))), nextMS: 1000}
		p.begin(2)
		for _, key := range homes[commands.Stream] { // otherwise hardly any XREADGROUP would find its group
			p.both("XGROUP", "CREATE", key, "g1", "0", "MKSTREAM")
		}
		was := p.uses()
		for at := range sequenceLength {
			row, args := g.next()
			if at%byTurns == 0 {
				row = g.rows[turn%len(g.rows)]
				args = g.of(row)
				turn++
			}
			if row.FullName() == "scan" && len(args) > 1 { // all keys at once, because a cursor is only valid on its own server
				args[1] = "0"
				args = append(args, "COUNT", "1000")
			}
			p.do(args...)
			if row.FullName() == "spop" && len(args) > 1 { // by chance the servers have different members left
				p.both("DEL", args[1])
			}
			now := p.uses()
			if wrong := was.different(now); wrong != "" && !failures[row.FullName()] {
				failures[row.FullName()] = true
				t.Errorf("%s\n%sto replay: -run TestGeneratedUses -seed %d -sequence %d", shortLine(args), wrong, seed, i)
			}
			was = now
		}
		if *sequenceFlag >= 0 {
			return
		}
	}
	if most >= byTurns*len(g.rows)+sequenceLength && !t.Failed() {
		require.GreaterOrEqual(t, turn, len(g.rows), "rows have had no turn")
	}
}

// waits lists commands that wait, each with the commands before, and the command that wakes it and leaves the
// key in place.
var waits = []struct{ before, wait, wake string }{
	{"", "BLPOP l1 0", "RPUSH l1 a b"},
	{"", "BRPOP l2 l1 0", "RPUSH l1 a b"},
	{"", "BRPOPLPUSH l1 l2 0", "RPUSH l1 a b"},
	{"RPUSH l2 x", "BLMOVE l1 l2 LEFT LEFT 0", "RPUSH l1 a b"},
	{"", "BLMPOP 0 2 l1 l2 LEFT COUNT 2", "RPUSH l2 a b c"},
	{"", "BZPOPMIN z1 0", "ZADD z1 1 a 2 b"},
	{"", "BZPOPMAX z2 z1 0", "ZADD z1 1 a 2 b"},
	{"", "BZMPOP 0 1 z1 MIN", "ZADD z1 1 a 2 b"},
	{"", "XREAD BLOCK 0 STREAMS x1 $", "XADD x1 1-1 f v"},
	{"XADD x1 1-1 f v", "XREAD BLOCK 0 STREAMS x2 x1 $ $", "XADD x1 2-1 f v"},
	{"XGROUP CREATE x1 g1 0 MKSTREAM", "XREADGROUP GROUP g1 c1 BLOCK 0 STREAMS x1 >", "XADD x1 1-1 f v"},
	{"XGROUP CREATE x1 g1 0 MKSTREAM", "XREADGROUP GROUP g1 c1 BLOCK 0 STREAMS x1 >", "DEL x1"},
}

// TestUsesByWaiting compares the counts when a command waits and is woken.
func TestUsesByWaiting(t *testing.T) {
	p := startUses(t)
	for _, w := range waits {
		p.begin(2)
		if w.before != "" {
			p.both(strings.Fields(w.before)...)
		}
		was := p.uses()
		for _, s := range p.sides() {
			s.Send(strings.Fields(w.wait)...)
		}
		for _, s := range p.sides() {
			require.Eventually(t, func() bool {
				return infoFields(s.watch.Do("INFO", "clients").Str)["blocked_clients"] == "1"
			}, time.Minute, time.Millisecond, w.wait)
		}
		p.both(strings.Fields(w.wake)...)
		ours, redis := p.ours.Receive(), p.redis.Receive()
		require.Equal(t, redis.String(), ours.String(), w.wait)
		require.Empty(t, was.different(p.uses()), w.wait)
	}
}

// TestUsesOfOneKeyTwice compares the counts when a command names the same key several times, which generated
// commands hardly ever do.
func TestUsesOfOneKeyTwice(t *testing.T) {
	p := startUses(t)
	for _, line := range []string{"RENAME s1 s1", "RENAMENX s1 s1", "COPY s1 s1 REPLACE", "MGET s1 s1", "MSET s1 a s1 b", "MSETNX s1 a s1 b", "EXISTS s1 s1",
		"TOUCH s1 s1", "BITOP AND s1 s1 s1", "LCS s1 s1", "PFMERGE p1 p1 p1", "PFCOUNT p1 p1", "LMOVE l1 l1 LEFT RIGHT", "RPOPLPUSH l1 l1",
		"LMPOP 2 l1 l1 LEFT", "BLMOVE l1 l1 LEFT RIGHT 0", "SMOVE t1 t1 a", "SMOVE t1 t1 x", "SINTER t1 t1", "SINTERCARD 2 t1 t1", "SUNIONSTORE t1 t1 t1", "SDIFFSTORE t1 t1 t1",
		"ZUNIONSTORE z1 2 z1 z1", "ZINTER 2 z1 z1", "ZDIFF 2 z1 z1", "ZRANGESTORE z1 z1 0 -1", "ZMPOP 2 z1 z1 MIN", "SORT l1 ALPHA STORE l1",
		"GEOSEARCHSTORE g1 g1 FROMMEMBER a BYRADIUS 1 m", "XREAD STREAMS x1 x1 0 0", "DEL s1 s1", "UNLINK l1 l1"} {
		p.begin(2)
		for _, before := range []string{"SET s1 a", "PFADD p1 a", "RPUSH l1 a b c", "SADD t1 a b", "ZADD z1 1 a 2 b", "GEOADD g1 1 1 a", "XADD x1 1-1 f v"} {
			p.both(strings.Fields(before)...)
		}
		was := p.uses()
		p.do(strings.Fields(line)...)
		if wrong := was.different(p.uses()); wrong != "" {
			t.Errorf("%s\n%s", line, wrong)
		}
	}
}

// usesPair is a pair of servers that count each use of a key.
type usesPair struct{ *pair }

func startUses(t *testing.T) usesPair {
	t.Helper()
	conf := configOf("")
	// With a memory limit Redis does not share small numbers (D5).
	conf.MaxMemory, conf.MaxMemoryPolicy, conf.LFULogFactor, conf.LFUDecayMinutes = 8<<30, "allkeys-lfu", 0, 0
	return usesPair{startPairOf(t, conf, "--maxmemory", "8gb", "--maxmemory-policy", "allkeys-lfu", "--lfu-log-factor", "0", "--lfu-decay-time", "0")}
}

// both runs a command on both servers, without a comparison.
func (p usesPair) both(args ...string) {
	for _, s := range p.sides() {
		s.watch.Do(args...)
	}
}

// uses holds the counts of both servers: for each of allKeys, and of hits and misses.
type uses struct{ ours, redis [][2]string }

func (p usesPair) uses() uses {
	p.t.Helper()
	var ask [][]string
	for _, key := range allKeys {
		ask = append(ask, []string{"OBJECT", "FREQ", key})
	}
	ask = append(ask, []string{"INFO", "stats"})
	of := func(s *side) (list [][2]string) {
		replies := s.watch.Pipeline(ask)
		for i, key := range allKeys {
			list = append(list, [2]string{key, replies[i].String()})
		}
		info := infoFields(replies[len(allKeys)].Str)
		require.NotEmpty(p.t, info["keyspace_hits"])
		return append(list, [2]string{"hits", info["keyspace_hits"]}, [2]string{"misses", info["keyspace_misses"]})
	}
	return uses{of(&p.ours), of(&p.redis)}
}

// different returns a count that has changed differently on the two sides, or "". changed returns how a count
// has changed, if it is a number.
func changed(was, is [2]string) string {
	a, errA := strconv.Atoi(strings.TrimPrefix(was[1], ":"))
	b, errB := strconv.Atoi(strings.TrimPrefix(is[1], ":"))
	if errA != nil || errB != nil {
		return is[1]
	}
	return strconv.Itoa(b - a)
}

func (was uses) different(now uses) string {
	var b strings.Builder
	for i, a := range now.ours {
		if a == now.redis[i] || changed(was.ours[i], a) == changed(was.redis[i], now.redis[i]) {
			continue
		}
		fmt.Fprintf(&b, "  %q: lockserver from %s to %s, redis from %s to %s\n", a[0], was.ours[i][1], a[1], was.redis[i][1], now.redis[i][1])
	}
	return b.String()
}
