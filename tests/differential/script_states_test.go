//go:build oracle

package differential

import (
	"crypto/sha1"
	"encoding/hex"
	"math/rand/v2"
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

// TestRandomScriptStates plays scripts and functions with various flags in their first lines, while memory is
// free and while it is full, alone and in transactions. It compares the replies, and the counters of errors
// by command.
func TestRandomScriptStates(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("seed %d", seed)
	p := startPair(t, "")
	p.begin(2)
	failures, last := 0, uint64(0)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last one, %d:\n%v", last, (&stateWriter{rand: rand.New(rand.NewPCG(seed, last))}).steps())
		}
	})
	for i := 0; i < scriptsPerRun() && failures < mostFailures; i++ {
		if *sequenceFlag >= 0 {
			i = *sequenceFlag
		}
		last = uint64(i)
		g := &stateWriter{rand: rand.New(rand.NewPCG(seed, last))}
		if steps, wrong := p.playState(g); wrong != "" {
			failures++
			t.Errorf("%s\n  %s\nto replay: -run TestRandomScriptStates -seed %d -sequence %d", strings.Join(steps, "\n"), wrong, seed, i)
		}
		if *sequenceFlag >= 0 {
			break
		}
	}
}

// playState plays the commands of g on new data, and returns the difference.
func (p *pair) playState(g *stateWriter) (played []string, wrong string) {
	p.t.Helper()
	steps := g.steps()
	for _, s := range p.sides() {
		for _, words := range [][]string{{"CONFIG", "SET", "maxmemory", "0"}, {"FLUSHALL"}, {"SCRIPT", "FLUSH"},
			{"SET", "k0", "stays"}, {"SET", "k1", "1"}, {"RPUSH", "k2", "a"}, {"CONFIG", "RESETSTAT"}} {
			require.NotEqual(p.t, resp.Error, s.Do(words...).Kind, words)
		}
	}
	for _, args := range steps {
		played = append(played, strings.Join(args, " "))
		ours, redis := p.do(args...)
		if !testkit.SameReply(args, unnamed(ours), unnamed(redis)) {
			return played, differ(ours, redis)
		}
	}
	for _, section := range []string{"errorstats", "commandstats"} {
		ours, redis := countsOf(p.ours.Client, section), countsOf(p.redis.Client, section)
		if !slices.Equal(ours, redis) {
			return played, strings.Join(ours, "\n  ") + "\nand Redis\n  " + strings.Join(redis, "\n  ")
		}
	}
	return played, ""
}

// times matches times in INFO.
var times = regexp.MustCompile(`,usec[a-z_]*=[0-9.]*`)

// countsOf returns the lines of a section of INFO without times, and without the commands of this test
// itself.
func countsOf(c *testkit.Client, section string) []string {
	lines := strings.Fields(times.ReplaceAllString(c.Do("INFO", section).Str, ""))
	lines = slices.DeleteFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "cmdstat_info:") || strings.HasPrefix(l, "cmdstat_config|")
	})
	slices.Sort(lines)
	return lines
}

// stateWriter generates commands about scripts.
type stateWriter struct{ rand *rand.Rand }

func (g *stateWriter) pick(list ...string) string { return list[g.rand.IntN(len(list))] }

// flags returns flags for a first line.
func (g *stateWriter) flags() []string {
	var list []string
	for range g.rand.IntN(3) {
		list = append(list, g.pick("no-writes", "no-writes", "allow-oom", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"))
	}
	return list
}

// body returns a script of some calls and an end.
func (g *stateWriter) body() string {
	var b strings.Builder
	for range g.rand.IntN(4) {
		b.WriteString(g.pick("local e = redis.pcall"+g.call(), "pcall(redis.call, 'nosuch')", "redis.call"+g.call(), "redis.setresp("+g.pick("2", "3", "4")+")",
			"redis.pcall('del', 'big')", "redis.pcall('setrange', 'big', 1000000, 'x')") + "\n")
	}
	b.WriteString(g.pick("return redis.call"+g.call(), "return redis.pcall"+g.call(), "return {redis.pcall"+g.call()+", redis.pcall"+g.call()+"}",
		"return "+g.pick("1", "e", "{e, e}", "{err = 'A b'}", "{err = 'AB'}", "{{err = 'A b'}, {err = 'C d'}, 3}", "{map = {a = {err = 'A b'}}}",
			"redis.error_reply('My text')", "redis.error_reply('mine')", "{pcall(redis.call, 'set', 'k1', 'x')}"),
		// Never a table without a text: D70.
		"error("+g.pick("'x'", "{err = 'A b'}", "{err = 'A b', ignore_error_stats_update = true}", "redis.pcall('nosuch')",
			"type(e) == 'table' and e.err and e or 'x'", "5", "'x', 0")+")",
		"local t = redis.pcall"+g.call()+" if type(t) ~= 'table' then return t end local r = {} for k, v in pairs(t) do r[#r+1] = k .. '=' .. tostring(v) end table.sort(r) return r"))
	return b.String()
}

// call returns the arguments of a call.
func (g *stateWriter) call() string {
	return "(" + g.pick("'get', 'k1'", "'get', 'k2'", "'set', 'k1', 'x'", "'set', 'k1'", "'incr', 'k1'", "'incr', 'k2'", "'del', 'k3'", "'lpop', 'none'", "'llen', 'k1'",
		"'publish', 'c', 'm'", "'pfcount', 'k1'", "'ping'", "'nosuch'", "'subscribe', 'c'", "'config', 'nosuch'", "'object', 'freq'", "{}", "",
		"'blpop', 'none', '0'", "'xread', 'block', '0', 'streams', 'none', '$'", "'wait', '1', '0'", "'eval', 'return 1', '0'", "'append', 'k1', 'y'",
		"'expire', 'k1', '100'", "'setrange', 'big', 1000000, 'x'", "'echo', 'x'", "'brpoplpush', 'none', 'k2', '0'", "'multi'") + ")"
}

// steps returns commands that set the state, and scripts in it.
func (g *stateWriter) steps() [][]string {
	var list [][]string
	library := "#!lua name=lib\n"
	for i := range 3 {
		library += "redis.register_function{function_name = 'f" + strconv.Itoa(i) + "', flags = {'" + strings.Join(append(g.flags(), "allow-stale"), "', '") +
			"'}, callback = function() " + g.body() + " end}\n"
	}
	list = append(list, []string{"FUNCTION", "LOAD", "REPLACE", library})
	if g.rand.IntN(2) == 0 { // full on both servers, however they count memory
		list = append(list, []string{"CONFIG", "SET", "maxmemory", "1"})
	}
	multi := false
	for range 2 + g.rand.IntN(5) {
		switch {
		case g.rand.IntN(6) > 0:
		case multi:
			list, multi = append(list, []string{"EXEC"}), false
		default:
			list, multi = append(list, []string{"MULTI"}), true
		}
		list = append(list, g.step()...)
	}
	if multi {
		list = append(list, []string{"EXEC"})
	}
	return list
}

// step returns a call of a script or a function, or a change of the state.
func (g *stateWriter) step() [][]string {
	readOnly := g.pick("", "", "_RO")
	body := g.body()
	if g.rand.IntN(3) > 0 {
		line := "#!lua"
		if flags := g.flags(); len(flags) > 0 {
			line += " flags=" + strings.Join(flags, ",")
		}
		body = line + "\n" + body
	}
	switch g.rand.IntN(8) {
	case 0, 1, 2:
		return [][]string{{"EVAL" + readOnly, body, g.pick("0", "0", "0", "0", "1", "x", "-1")}}
	case 3, 4:
		return [][]string{{"FCALL" + readOnly, g.pick("f0", "f1", "f2", "f3"), g.pick("0", "0", "0", "2", "x")}}
	case 5, 6:
		sum := sha1.Sum([]byte(body))
		return [][]string{{"SCRIPT", "LOAD", body}, {"EVALSHA" + readOnly, hex.EncodeToString(sum[:]), "0"}}
	}
	return [][]string{{g.pick("SETRANGE", "SETRANGE", "DEL"), "big", "1000000", "x"}}
}
