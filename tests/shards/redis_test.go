//go:build oracle

package shards

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// redisCluster starts a Redis Cluster of three masters with the slots that shards have, and returns their
// addresses.
func redisCluster(t *testing.T) (addrs []string) {
	t.Helper()
	var first *testkit.Client
	var nodes []*testkit.Client
	for i := range count {
		port := testkit.ClusterPort(t)
		redis := testkit.StartRedis(t, "--cluster-enabled", "yes", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--cluster-node-timeout", "60000")
		c := redis.Client(t)
		from, to := slotsOf(i)
		require.Equal(t, "+OK", c.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)).String())
		require.Equal(t, "+OK", c.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)).String())
		if first == nil {
			first = c
		} else {
			require.Equal(t, "+OK", first.Do("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(port)).String())
		}
		nodes = append(nodes, c)
		addrs = append(addrs, "127.0.0.1:"+strconv.Itoa(port))
	}
	for _, c := range nodes {
		require.Eventually(t, func() bool {
			info := c.Do("CLUSTER", "INFO").Str
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_size:3")
		}, 2*time.Minute, 10*time.Millisecond, "the masters have met")
	}
	return addrs
}

// slotsOf returns the first and the last slot of a shard, as redis-cli --cluster create shares them out.
func slotsOf(i int) (from, to int) {
	at := [count + 1]int{0, 5461, 10923, 16384}
	return at[i], at[i+1] - 1
}

// side is a connection to each shard of a cluster.
type side struct {
	addrs []string
	conns []*testkit.Client
}

func connect(t *testing.T, addrs []string) *side {
	t.Helper()
	s := &side{addrs: addrs}
	for _, addr := range addrs {
		s.conns = append(s.conns, dial(t, addr))
	}
	return s
}

// named returns a reply with the number of a shard instead of its address. As MOVED names a node, it is the
// only reply that has one.
func (s *side) named(v resp.Value) resp.Value {
	for i, addr := range s.addrs {
		v.Str = strings.ReplaceAll(v.Str, addr, "shard "+strconv.Itoa(i))
	}
	for i := range v.Elems {
		v.Elems[i] = s.named(v.Elems[i])
	}
	return v
}

// attack makes commands.
type attack struct{ *rand.Rand }

func (a attack) of(words ...string) string { return words[a.IntN(len(words))] }

// tags decide the slots: each shard has several.
var tags = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}

// key returns a key of a kind. All keys of a tag share a slot; a few have no tag.
func (a attack) key(kind, tag string) string {
	if a.IntN(30) == 0 { // a value of another type
		kind = a.of("s", "l", "t", "z", "h", "x")
	}
	if a.IntN(12) == 0 {
		return kind + a.of("1", "2", "3", "{}", "{}x", "{x", "}y{", "{{a}}", "{a}{b}")
	}
	return kind + "{" + tag + "}" + a.of("", "1", "2")
}

// slip is a tag, and now and then another one.
func (a attack) slip(tag string) string {
	if a.IntN(8) == 0 {
		return a.of(tags...)
	}
	return tag
}

func (a attack) value() string { return a.of("1", "7", "-3", "x", "", "long long value", "0.5") }

// command returns the words of a command with keys of mostly one tag.
func (a attack) command() []string {
	tag := a.of(tags...)
	k := func(kind string) string { return a.key(kind, a.slip(tag)) }
	n := func(most int) string { return strconv.Itoa(a.IntN(most)) }
	switch a.IntN(44) {
	case 0:
		return []string{"SET", k("s"), a.value()}
	case 1:
		return []string{"GET", k("s")}
	case 2:
		return []string{"MSET", k("s"), a.value(), k("s"), a.value()}
	case 3:
		return []string{"MGET", k("s"), k("s"), k("s")}
	case 4:
		return []string{a.of("DEL", "UNLINK", "EXISTS", "TOUCH"), k("s"), k("l"), k("z")}
	case 5:
		return []string{"INCRBY", k("n"), n(9)}
	case 6:
		return []string{"APPEND", k("s"), a.value()}
	case 7:
		return []string{a.of("RPUSH", "LPUSH"), k("l"), a.value(), a.value()}
	case 8:
		return []string{"LRANGE", k("l"), "0", "-1"}
	case 9:
		return []string{"LMOVE", k("l"), k("l"), a.of("LEFT", "RIGHT"), a.of("LEFT", "RIGHT")}
	case 10:
		return []string{a.of("LPOP", "RPOP"), k("l"), n(3)}
	case 11:
		return []string{"LMPOP", "2", k("l"), k("l"), a.of("LEFT", "RIGHT")}
	case 12:
		return []string{"SADD", k("t"), n(9), n(9)}
	case 13:
		return []string{"SMEMBERS", k("t")}
	case 14:
		return []string{a.of("SUNION", "SINTER", "SDIFF"), k("t"), k("t")}
	case 15:
		return []string{a.of("SUNIONSTORE", "SINTERSTORE", "SDIFFSTORE"), k("t"), k("t"), k("t")}
	case 16:
		return []string{"SMOVE", k("t"), k("t"), n(9)}
	case 17:
		return []string{"ZADD", k("z"), n(9), "m" + n(5), n(9), "m" + n(5)}
	case 18:
		return []string{"ZRANGE", k("z"), "0", "-1", "WITHSCORES"}
	case 19:
		return []string{a.of("ZUNION", "ZINTER", "ZDIFF"), "2", k("z"), k("z")}
	case 20:
		return []string{a.of("ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE"), k("z"), "2", k("z"), k("z")}
	case 21:
		return []string{"HSET", k("h"), "f" + n(4), a.value()}
	case 22:
		return []string{"HGETALL", k("h")}
	case 23:
		return []string{"XADD", k("x"), n(99) + "-" + n(9), "f", a.value()}
	case 24:
		return []string{"XREAD", "STREAMS", k("x"), k("x"), "0", "0"}
	case 25:
		return []string{"RENAME", k("s"), k("s")}
	case 26:
		return []string{"COPY", k("s"), k("s"), "REPLACE"}
	case 27:
		return []string{"TYPE", k(a.of("s", "l", "h"))}
	case 28:
		return []string{"SORT", k("l"), "ALPHA", "STORE", k("l")}
	case 29:
		return []string{"BITOP", a.of("AND", "OR", "XOR"), k("s"), k("s"), k("s")}
	case 30:
		return []string{"PFADD", k("p"), n(99), n(99)}
	case 31:
		return []string{a.of("PFCOUNT", "PFMERGE"), k("p"), k("p")}
	case 32:
		return []string{"EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", "1", k("s"), a.value()}
	case 33:
		return []string{"EVAL", "return {redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])}", "2", k("s"), k("s")}
	case 34:
		return []string{"EVAL", "local r = {} for i = 1, 3 do r[i] = redis.pcall('GET', ARGV[i]) end return r", "0", k("s"), k("s"), k("s")}
	case 35:
		return []string{"EVAL", "#!lua\nreturn redis.pcall('GET', ARGV[1])", "1", k("s"), k("s")}
	case 36:
		return []string{a.of("SPUBLISH", "PUBLISH"), k("ch"), "m"}
	case 37:
		return []string{"CLUSTER", "KEYSLOT", k("s")}
	case 38:
		return []string{"CLUSTER", "COUNTKEYSINSLOT", n(16384)}
	case 39:
		return []string{a.of("MULTI", "EXEC", "DISCARD", "UNWATCH", "MULTI", "EXEC")}
	case 40:
		return []string{"WATCH", k("s"), k("n")}
	case 41:
		return []string{a.of("READONLY", "READWRITE", "ASKING")}
	case 42:
		return []string{"OBJECT", "ENCODING", k("s")}
	default:
		return []string{a.of("GETDEL", "STRLEN", "TTL", "GETRANGE", "NOSUCH"), k("s")}
	}
}

// Generated commands and pipelines are sent to all shards, and to the masters of a Redis Cluster. The replies
// are the same, and so are the data of each shard in the end. MOVED names the same slot and the same shard.
func TestBesideARedisCluster(t *testing.T) {
	seed := testkit.Seed(t)
	a := attack{rand.New(rand.NewPCG(seed, 0))}
	theirs := connect(t, redisCluster(t))
	ours := connect(t, shardsAt(t, testkit.StartLockserver(t, "", "--shards", strconv.Itoa(count), "--save", "").Address()))
	seen := map[string]int{}
	for step := range testkit.Steps(2_000, 100_000) {
		at := a.IntN(count)
		var batch [][]string
		for range 1 + a.IntN(12)*a.IntN(2) {
			batch = append(batch, a.command())
		}
		want, got := theirs.conns[at].Pipeline(batch), ours.conns[at].Pipeline(batch)
		for i, words := range batch {
			its, mine := theirs.named(want[i]), ours.named(got[i])
			if its.IsError() {
				seen[strings.Fields(its.Str)[0]]++
			}
			require.True(t, testkit.SameReply(words, its, mine), "seed %d, step %d at shard %d: %s\nRedis: %s\nhere:  %s", seed, step, at, testkit.Line(words), its, mine)
		}
	}
	for _, kind := range []string{"MOVED", "CROSSSLOT", "EXECABORT", "WRONGTYPE"} {
		require.Positive(t, seen[kind], "the attack has met %s: %v", kind, seen)
	}
	for i := range count {
		a, b := theirs.conns[i], ours.conns[i]
		a.Do("DISCARD")
		b.Do("DISCARD")
		require.Equal(t, a.Do("DBSIZE").String(), b.Do("DBSIZE").String())
		require.Equal(t, a.Do("DEBUG", "DIGEST").String(), b.Do("DEBUG", "DIGEST").String(), "shard %d", i)
		for n := range 200 {
			slot := strconv.Itoa(n * 81)
			require.Equal(t, a.Do("CLUSTER", "COUNTKEYSINSLOT", slot).String(), b.Do("CLUSTER", "COUNTKEYSINSLOT", slot).String())
		}
	}
}

// A client that publishes at any shard reaches the subscribers of all, as through the bus of a Redis Cluster.
// Sharded channels go by slot, and subscribing at another shard is refused in the same words.
func TestMessagesBesideARedisCluster(t *testing.T) {
	sides := []*side{connect(t, redisCluster(t)), connect(t, shardsAt(t, testkit.StartLockserver(t, "", "--shards", strconv.Itoa(count), "--save", "").Address()))}
	var heard [2][]string
	for n, s := range sides {
		say := func(v resp.Value) { heard[n] = append(heard[n], s.named(v).String()) }
		var listeners []*testkit.Client
		for _, addr := range s.addrs {
			l := testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
			l.Send("SUBSCRIBE", "news")
			say(l.Receive())
			l.Send("PSUBSCRIBE", "n*")
			say(l.Receive())
			listeners = append(listeners, l)
		}
		for _, tag := range tags {
			for at, c := range s.conns {
				// The reply counts the subscribers of the shard that is asked: both kinds of one connection.
				say(c.Do("PUBLISH", "news", fmt.Sprint(tag, at)))
				for _, l := range listeners {
					say(l.Receive())
					say(l.Receive())
				}
				say(c.Do("SPUBLISH", tag, "m"))
				l := dial(t, s.addrs[at])
				l.Send("SSUBSCRIBE", tag)
				say(l.Receive())
				l.Close()
			}
		}
	}
	require.Equal(t, heard[0], heard[1])
}

// Each node has a link to each other node, and one from it.
func TestLinksBesideARedisCluster(t *testing.T) {
	sides := []*side{connect(t, redisCluster(t)), connect(t, shardsAt(t, testkit.StartLockserver(t, "", "--shards", strconv.Itoa(count), "--save", "").Address()))}
	links := func(s *side, at int) (all []string) {
		for _, link := range s.conns[at].Do("CLUSTER", "LINKS").Elems {
			text := ""
			for i := 0; i < len(link.Elems); i += 2 {
				name, value := link.Elems[i].Str, link.Elems[i+1].String()
				switch name {
				case "create-time", "send-buffer-allocated", "send-buffer-used":
					value = fmt.Sprint(link.Elems[i+1].Int >= 0)
				case "node":
					for n, c := range s.conns {
						value = strings.ReplaceAll(value, c.Do("CLUSTER", "MYID").Str, "shard "+strconv.Itoa(n))
					}
				}
				text += name + "=" + value + " "
			}
			all = append(all, text)
		}
		slices.Sort(all)
		return all
	}
	for at := range count {
		require.Eventually(t, func() bool { return len(links(sides[0], at)) == 2*(count-1) }, 2*time.Minute, 10*time.Millisecond, "all nodes of Redis are linked")
		require.Equal(t, links(sides[0], at), links(sides[1], at), "shard %d", at)
	}
}
