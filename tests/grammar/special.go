package grammar

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockserver/commands"
	"lockserver/internal/decimal"
)

// excluded holds the commands that are not played, with the reason.
var excluded = map[string]string{
	"shutdown": "ends the server: that is what it is for",
	"psync":    "what follows on the connection are no replies: see tests/replication",
	"sync":     "as psync",
}

// specials returns functions for rows that need more than their grammar, or that need words after which the
// server still answers: a pause of a year counts as a hang.
func specials() map[string]func(g *Generator) []string {
	return map[string]func(g *Generator) []string{
		"client|pause": func(g *Generator) []string { // short enough for a scenario to wait
			return g.pickLine("5 ALL", "20 WRITE", "30", "0", "-1", "x", "10 NEITHER", "")
		},
		"debug": func(g *Generator) []string { // the server hangs during a sleep
			return g.pickLine("SLEEP 0.002", "SLEEP 0", "SLEEP x", "SLEEP -1", "SET-ACTIVE-EXPIRE 0", "SET-ACTIVE-EXPIRE 1", "JMAP", "")
		},
		"replconf": func(g *Generator) []string { // ACK has no reply
			return g.pickLine("LISTENING-PORT 1", "capa eof CAPA psync2", "ip-address x", "rdb-only 2", "x y", "capa", "")
		},
		"replicaof": (*Generator).noMaster, "slaveof": (*Generator).noMaster, // a replica would refuse the commands that follow
		"config|set": (*Generator).configSet,
		"eval":       func(g *Generator) []string { return g.withKeys(g.script()) },
		"eval_ro":    func(g *Generator) []string { return g.withKeys(g.script()) },
		"evalsha":    func(g *Generator) []string { return g.withKeys(g.Pick(shas...)) },
		"evalsha_ro": func(g *Generator) []string { return g.withKeys(g.Pick(shas...)) },
		"fcall":      func(g *Generator) []string { return g.withKeys(g.Pick(texts["function"]...)) },
		"fcall_ro":   func(g *Generator) []string { return g.withKeys(g.Pick(texts["function"]...)) },
		"guard": func(g *Generator) []string {
			return append([]string{g.Key(commands.Lock), g.Pick("0", "1", g.integer())}, g.inner()...)
		},
		"migrate":                 (*Generator).migrate,
		"command|getkeys":         func(g *Generator) []string { return g.inner() },
		"command|getkeysandflags": func(g *Generator) []string { return g.inner() },
		"client|reply":            func(g *Generator) []string { return g.pickLine("SKIP", "SKIP", "SKIP", "OFF", "ON", "x") },
	}
}

// migrate returns calls with ports on which no server listens: a server that does not answer would look like
// a hang.
func (g *Generator) migrate() []string {
	call := []string{"127.0.0.1", g.Pick("1", "1", "x"), g.Pick(g.Key(commands.String), g.Key(commands.Lock), "", "gone"),
		g.Pick("0", "0", "3", g.integer()), g.Pick("1", "20", "x")}
	call = append(call, g.pickLine("", "COPY", "COPY REPLACE", "AUTH p", "AUTH2 u p", "AUTH", "x")...)
	if g.Chance(30) {
		call = append(call, "KEYS", g.Key(commands.Hash), g.Key(commands.List))
	}
	return call
}

func (g *Generator) pickLine(lines ...string) []string { return strings.Fields(g.Pick(lines...)) }

// Directives holds the directives for CONFIG SET, and their values. Directives that lock the test out
// (requirepass, maxclients), move the files (dir, dbfilename) or end the log (appendonly) are tested
// elsewhere. hll-sparse-max-bytes changes the form of a HyperLogLog, which GET shows, and rdbcompression
// changes the output of DUMP. They must be the same after the restart, so they are only set at the start.
var Directives = map[string][]string{
	"notify-keyspace-events": {"KEA", "KEA", "KEAmn", "Kx", "E$", "", "q"}, "timeout": {"0", "1", "100", "-1"},
	"maxmemory": {"0", "1", "100kb", "400kb", "2mb"}, "maxmemory-policy": {"noeviction", "allkeys-lru", "allkeys-lfu", "volatile-ttl", "allkeys-random", "volatile-lru"},
	"maxmemory-samples": {"1", "5"}, "busy-reply-threshold": {"0", "1", "5", "5000"}, "tracking-table-max-keys": {"0", "1", "3", "1000000"},
	"slowlog-log-slower-than": {"-1", "0", "1", "10000"}, "slowlog-max-len": {"0", "1", "128"}, "latency-monitor-threshold": {"0", "1"},
	"latency-tracking": {"yes", "no"}, "hash-max-listpack-entries": {"512", "2", "0"}, "hash-max-listpack-value": {"64", "1"},
	"zset-max-listpack-entries": {"128", "2", "0"}, "zset-max-listpack-value": {"64", "1"}, "set-max-intset-entries": {"512", "2", "0"},
	"set-max-listpack-entries": {"128", "2", "0"}, "list-max-listpack-size": {"-2", "1", "2", "-1"}, "list-compress-depth": {"0", "1"},
	"stream-node-max-entries": {"100", "1", "3"}, "stream-node-max-bytes": {"4096", "1", "0"},
	"lock-watchdog-timeout": {"30000", "3", "50"}, "lock-max-waiters": {"0", "1", "3"}, "lock-max-waits-per-client": {"100000", "0", "2"},
	"lock-history-bytes": {"4mb", "0", "64kb"}, "lock-class": {"", "a k* ; b ?1 ?2", "a"}, "appendfsync": {"always", "everysec", "no"}, "aof-use-rdb-preamble": {"yes", "no"},
	"auto-aof-rewrite-percentage": {"100", "1", "0"}, "auto-aof-rewrite-min-size": {"64mb", "1kb"}, "lfu-decay-time": {"0", "1"}, "hz": {"1", "500"},
	"io-coalesce-usec": {"0", "200", "1000"}, "tcp-keepalive": {"0", "300"}, "proto-max-bulk-len": {"1mb"}, "client-query-buffer-limit": {"1gb", "1mb"},
	"save": {"", "1 1"},
}

// OutputLimits holds the values for client-output-buffer-limit.
var OutputLimits = []string{"pubsub 20000 0 0", "pubsub 0 10000 1", "normal 300000 0 0", "normal 0 100000 1", "normal 0 0 0 pubsub 0 0 0"}

func (g *Generator) configSet() []string {
	names := make([]string, 0, len(Directives))
	for name := range Directives {
		names = append(names, name)
	}
	slices.Sort(names)
	var args []string
	for range 1 + g.rand.IntN(2) {
		name := g.Pick(names...)
		args = append(args, name, g.Pick(Directives[name]...))
	}
	if g.Chance(15) {
		args = []string{"client-output-buffer-limit", g.Pick(OutputLimits...)}
	}
	if g.Chance(10) {
		args = append(args, g.odd())
	}
	return args
}

// withKeys returns the arguments of a script.
func (g *Generator) withKeys(body string) []string {
	n := g.rand.IntN(3)
	args := []string{body, strconv.Itoa(n)}
	if g.Chance(5) {
		args[1] = g.integer()
	}
	for range n {
		args = append(args, g.Key(commands.Generic))
	}
	for range g.rand.IntN(3) {
		args = append(args, g.member())
	}
	return args
}

// scripts holds bodies that come more than once, so that EVALSHA finds some.
var scripts = []string{
	"return redis.call('GET', KEYS[1])",
	"return {KEYS, ARGV, 1.5, false, {ok='x'}, {err='y'}, {double=3.5}, {map={a=1}}}",
	"redis.setresp(3) return redis.call('HGETALL', 'h1')",
	"for i = 1, 300000 do local x = i * i end return redis.call('INCR', 'n1')", // counts as busy if the threshold is low
	"for i = 1, 200 do redis.call('RPUSH', 'l1', i) end return redis.call('LRANGE', 'l1', 0, -1)",
	"return redis.pcall('LOCK', 'k1', 'o1', 'PX', '50')",
	"local t = {} for i = 1, 1000 do t[i] = string.rep('x', 100) end return t",
	"return redis.call(unpack(ARGV))",
	"return cmsgpack.unpack(ARGV[1])", "return cjson.encode(cjson.decode(ARGV[1]))", "return struct.unpack('>I8', ARGV[1])",
	"error({err='My Error'})", "error()", "return redis.error_reply('x')", "local function f() return f() + 1 end return f()", "return string.rep(ARGV[1], 2^31)",
	"redis.call('SET', 's1', ARGV[1]) error('half')", "return tostring({}):find('x') or redis.sha1hex('')", "#!lua flags=no-writes\nreturn redis.call('SET', 's1', 1)",
	"return redis.call('EVAL', 'return 1', 0)", "return redis.call('SUBSCRIBE', 'c1')", "return redis.call()", "return redis.call(1, {})", "x = 1",
}

var shas = func() []string {
	var all []string
	for _, body := range scripts {
		sum := sha1.Sum([]byte(body))
		all = append(all, hex.EncodeToString(sum[:]))
	}
	return append(all, strings.Repeat("0", 40), "x")
}()

// libraries holds texts for FUNCTION LOAD.
var libraries = []string{
	"#!lua name=lib1\nredis.register_function('fn1', function(keys, args) return redis.call('INCR', 'n1') end)",
	"#!lua name=lib2\nredis.register_function{function_name='fn2', callback=function(keys, args) return redis.call('GET', keys[1]) end, flags={'no-writes'}}",
	"#!lua name=lib1\nredis.register_function('fn3', function(keys, args) for i = 1, 300000 do local x = i end return keys end)",
	"#!lua name=lib3\nerror('x')", "#!lua name=lib4\n", "#!lua\n", "#!lua name=lib1\nwhile", "",
}

// script returns a body: one of scripts, or random calls.
func (g *Generator) script() string {
	if g.Chance(40) {
		return g.Pick(scripts...)
	}
	var b strings.Builder
	for range 1 + g.rand.IntN(4) {
		call := g.Pick("redis.call", "redis.pcall", "redis.pcall")
		fmt.Fprintf(&b, "local r = %s(", call)
		for i, word := range g.inner() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(g.luaWord(word))
		}
		b.WriteString(") ")
	}
	if g.Chance(10) {
		b.WriteString(g.Pick("error(r)", "return {r, r}", "redis.log(redis.LOG_WARNING, 'x')", "redis.breakpoint()", "redis.replicate_commands()", "end"))
	} else {
		b.WriteString("return r")
	}
	return b.String()
}

// luaWord returns a word as a Lua expression, sometimes one that reads an argument of the script.
func (g *Generator) luaWord(word string) string {
	switch {
	case g.Chance(5):
		return g.Pick("KEYS[1]", "ARGV[1]", "ARGV[2]", "nil", "1/0", "{}", "1.5")
	case len(word) > 1000:
		return fmt.Sprintf("string.rep('x', %d)", len(word))
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(word) {
		fmt.Fprintf(&b, `\%03d`, word[i])
	}
	b.WriteByte('"')
	return b.String()
}

// mostDrawn is the largest number of elements in a draw with repetition. The server must send that number of
// elements, so a number at a limit would keep any server busy for ever, and Redis as well.
const mostDrawn = 1000

// bounded changes the arguments of calls that would by design take for ever.
func bounded(row *commands.Row, args []string) []string {
	switch row.Name {
	case "srandmember", "hrandfield", "zrandmember":
		for i, arg := range args {
			if n, ok := decimal.ParseInt([]byte(arg)); ok && n < -mostDrawn {
				args[i] = strconv.Itoa(-mostDrawn)
			}
		}
	}
	return args
}

// noMaster returns words of REPLICAOF after which the server is still a master.
func (g *Generator) noMaster() []string {
	return g.pickLine("NO ONE", "no one x", "127.0.0.1 x", "localhost -1", "")
}
