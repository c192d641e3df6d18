//go:build oracle

package differential

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// scriptsPerRun returns the number of random scripts in a test.
func scriptsPerRun() int { return *commandsFlag / 33 }

// TestRandomScripts plays random small scripts on both servers. Most are valid. Sometimes a value has a wrong
// type, so that errors are compared, too.
func TestRandomScripts(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("seed %d", seed)
	p := startPair(t, "")
	failures, body := 0, ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last script:\n%s", body)
		}
	})
	for i := 0; i < scriptsPerRun() && failures < mostFailures; i++ {
		if *sequenceFlag >= 0 {
			i = *sequenceFlag
		}
		if i%100 == 0 || *sequenceFlag >= 0 {
			p.begin(2 + i/100%2)
		}
		g := &scriptWriter{rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		body = g.script()
		args := []string{"EVAL", body, "2", "k1", "k2", "7", "text"}
		ours, redis := p.do(args...)
		if !testkit.SameReply(args, unnamed(ours), unnamed(redis)) {
			failures++
			t.Errorf("seed %d, script %d:\n%s\n  %s\nto replay: -run TestRandomScripts -seed %d -sequence %d", seed, i, body, differ(ours, redis), seed, i)
		}
		if *sequenceFlag >= 0 {
			break
		}
		if i%100 == 99 {
			if diff := p.diff(); len(diff) > 0 {
				failures++
				t.Errorf("seed %d, after script %d the data differs: %v", seed, i, diff)
			}
		}
	}
}

// named matches how an error names the variable, which is not always the same name here (D65).
var named = regexp.MustCompile(`(local|upvalue|global|field|method|constant) '[^']*' \(a (\w+) value\)`)

// unnamed removes that from a reply.
func unnamed(v resp.Value) resp.Value {
	v.Str = named.ReplaceAllString(v.Str, "a $2 value")
	for i := range v.Elems {
		v.Elems[i] = unnamed(v.Elems[i])
	}
	return v
}

// kind is the type of an expression in a script.
type kind int

const (
	aNumber kind = iota
	aString
	aBool
	aTable
	kinds
)

// scriptWriter writes a script.
type scriptWriter struct {
	rand   *rand.Rand
	out    strings.Builder
	locals [kinds][]string
	names  int
	depth  int
}

func (g *scriptWriter) chance(percent int) bool { return g.rand.IntN(100) < percent }

func (g *scriptWriter) pick(list ...string) string { return list[g.rand.IntN(len(list))] }

func (g *scriptWriter) script() string {
	g.block(2 + g.rand.IntN(6))
	g.line("return " + g.result())
	return g.out.String()
}

func (g *scriptWriter) line(text string) {
	g.out.WriteString(strings.Repeat("  ", g.depth) + text + "\n")
}

// block writes statements. Their local variables are forgotten afterwards.
func (g *scriptWriter) block(n int) {
	if g.depth > 0 {
		saved := g.locals
		defer func() { g.locals = saved }()
	}
	for range n {
		g.statement()
	}
}

func (g *scriptWriter) nested(head, tail string) {
	g.line(head)
	g.depth++
	g.block(1 + g.rand.IntN(3))
	g.depth--
	g.line(tail)
}

func (g *scriptWriter) fresh() string {
	g.names++
	return fmt.Sprintf("v%d", g.names)
}

func (g *scriptWriter) statement() {
	choice := g.rand.IntN(100)
	if g.depth > 2 && choice >= 55 {
		choice = g.rand.IntN(55)
	}
	switch {
	case choice < 30:
		k := kind(g.rand.IntN(int(kinds)))
		name := g.fresh()
		g.line("local " + name + " = " + g.expr(k, 3))
		g.locals[k] = append(g.locals[k], name)
	case choice < 38:
		k := kind(g.rand.IntN(int(kinds)))
		if name := g.local(k); name != "" {
			g.line(name + " = " + g.expr(k, 2))
		}
	case choice < 45:
		if t := g.local(aTable); t != "" {
			g.line(g.pick(t+"[#"+t+" + 1] = ", t+".f = ", t+"[2] = ") + g.expr(kind(g.rand.IntN(int(aTable))), 2)) // not a table: it might contain itself
		}
	case choice < 55:
		g.line(g.pick("redis.call", "redis.pcall") + g.command())
	case choice < 62:
		name := g.fresh()
		g.line("local " + name + " = redis.pcall" + g.command())
		g.line("if type(" + name + ") ~= 'number' then " + name + " = 3 end")
		g.locals[aNumber] = append(g.locals[aNumber], name)
	case choice < 72:
		g.nested("if "+g.expr(aBool, 2)+" then", "end")
	case choice < 80:
		name := g.fresh()
		g.line("for " + name + " = " + g.pick("1", "'2'", "3", "0.5") + ", " + g.pick("3", "'4'", "0", "5") + g.pick("", ", 2", ", -1", ", 1") + " do")
		g.locals[aNumber] = append(g.locals[aNumber], name)
		g.depth++
		g.block(1 + g.rand.IntN(2))
		g.depth--
		g.locals[aNumber] = g.locals[aNumber][:len(g.locals[aNumber])-1]
		g.line("end")
	case choice < 86:
		name, arg := g.fresh(), g.fresh()
		g.line("local function " + name + "(" + arg + ")")
		saved := g.locals
		g.locals[aNumber] = append([]string{arg}, g.locals[aNumber]...)
		g.depth++
		g.block(g.rand.IntN(2))
		g.line("return " + g.expr(aNumber, 2))
		g.depth--
		g.locals = saved
		g.line("end")
		result := g.fresh()
		g.line("local " + result + " = " + name + "(" + g.expr(aNumber, 2) + ")")
		g.locals[aNumber] = append(g.locals[aNumber], result)
	case choice < 93:
		name := g.fresh()
		g.nested("local "+name+" = select('#', pcall(function()", "end))")
		g.locals[aNumber] = append(g.locals[aNumber], name)
	default:
		t := g.local(aTable)
		if t == "" {
			t = "{" + g.any(1) + ", " + g.any(1) + "}"
		}
		g.nested("for i, v in ipairs({unpack("+t+")}) do", "end") // of a copy, because otherwise the loop might never end
	}
}

// local returns a variable of a kind, or "".
func (g *scriptWriter) local(k kind) string {
	if len(g.locals[k]) == 0 {
		return ""
	}
	return g.pick(g.locals[k]...)
}

func (g *scriptWriter) any(depth int) string { return g.expr(kind(g.rand.IntN(int(kinds))), depth) }

// expr returns an expression of a kind, sometimes one of another kind.
func (g *scriptWriter) expr(k kind, depth int) string {
	if g.chance(2) {
		return g.pick("nil", "'x'", "true", "12", "ARGV[1]", "ARGV[9]") // no table: its address could show up
	}
	if name := g.local(k); name != "" && g.chance(35) {
		return name
	}
	sub := func(k kind) string { return g.expr(k, depth-1) }
	if depth <= 0 {
		return g.leaf(k)
	}
	switch k {
	case aNumber:
		return g.pick(g.leaf(k), "("+sub(k)+" + "+sub(k)+")", "("+sub(k)+" - "+sub(k)+")", "("+sub(k)+" * "+sub(k)+" + 0)", "("+sub(k)+" / 4 + 0)", "("+sub(k)+" % 7 + 0)", "(1 - "+sub(k)+")", // never -0: D65
			"(2 ^ math.floor("+sub(k)+" % 9))",
			"#"+sub(aString), "math.floor("+sub(k)+")", "math.max("+sub(k)+", "+sub(k)+")", "(tonumber("+sub(aString)+") or 5)", "#"+sub(aTable), "select('#', "+sub(aString)+", "+sub(k)+")", "("+sub(aString)+"):len()", "(("+sub(aString)+"):find('e') or 0)", "bit.band("+sub(k)+", 255)", "(("+sub(aString)+"):byte() or 1)")
	case aString:
		return g.pick(g.leaf(k), "("+sub(k)+" .. "+sub(k)+")", "("+sub(aNumber)+" .. "+sub(k)+")", "tostring("+sub(aNumber)+")", "tostring("+sub(aBool)+")", "("+sub(k)+"):upper()", "("+sub(k)+"):sub(2, -2)", "("+sub(k)+"):rep(2)", "("+sub(k)+"):reverse()",
			"(("+sub(k)+"):gsub('%a', '<%0>'))", "(("+sub(k)+"):match('%w+') or 'none')", "("+"'%s|%5.1f'):format("+sub(k)+", "+sub(aNumber)+")", "('%g'):format("+sub(aNumber)+")", "type("+g.any(depth-1)+")", "table.concat({"+sub(aNumber)+", "+sub(k)+"}, ',')", "cjson.encode({"+sub(aNumber)+", "+sub(k)+"})",
			"redis.sha1hex("+sub(k)+")", "tostring(cjson.decode('[1,\"a\"]')[2])", "struct.pack('>I2', "+sub(aNumber)+" % 100)", "cmsgpack.pack("+sub(aNumber)+")")
	case aBool:
		return g.pick(g.leaf(k), sub(aNumber)+" < "+sub(aNumber), sub(aString)+" <= "+sub(aString), sub(aNumber)+" == "+g.any(depth-1), "not "+sub(k), "("+sub(k)+" and "+sub(k)+")", "("+sub(k)+" or "+sub(k)+")", g.any(depth-1)+" ~= nil")
	}
	return g.pick(g.leaf(k), "{"+g.any(depth-1)+", "+g.any(depth-1)+"}", "{"+g.any(depth-1)+", {"+g.any(depth-1)+"}}", "{unpack("+sub(aTable)+")}", "{f = "+g.any(depth-1)+", "+sub(aNumber)+"}", "(cjson.decode(cjson.encode({"+sub(aNumber)+"})))", "{cmsgpack.unpack(cmsgpack.pack("+sub(aNumber)+", "+sub(aString)+"))}")
}

func (g *scriptWriter) leaf(k kind) string {
	switch k {
	case aNumber:
		return g.pick("0", "1", "2", "10", "-3", "0.5", "1e3", "100000", "#KEYS", "tonumber(ARGV[1])", "1234567890123", "0x10")
	case aString:
		return g.pick("''", "'a'", "'hello'", "'12'", "'1e2'", "'x\\0y'", "\"q'\"", "KEYS[1]", "KEYS[2]", "ARGV[1]", "ARGV[2]", "[[long]]")
	case aBool:
		return g.pick("true", "false")
	}
	return g.pick("{}", "{1, 2, 3}", "{'a', 'b'}", "KEYS", "{false, 1}") // no holes: D65
}

// command returns the arguments of a call, with the parentheses.
func (g *scriptWriter) command() string {
	key := g.pick("KEYS[1]", "KEYS[2]", "'k3'")
	s, n := g.expr(aString, 1), g.expr(aNumber, 1)
	return "(" + g.pick("'set', "+key+", "+s, "'set', "+key+", "+n, "'get', "+key, "'incr', "+key, "'incrby', "+key+", "+n, "'append', "+key+", "+s, "'del', "+key, "'exists', "+key, "'strlen', "+key,
		"'rpush', "+key+", "+s+", "+n, "'lpop', "+key, "'lrange', "+key+", 0, -1", "'llen', "+key, "'hset', "+key+", "+s+", "+n, "'hget', "+key+", "+s, "'hincrby', "+key+", 'n', "+n, "'hlen', "+key,
		"'zadd', "+key+", "+n+", "+s, "'zscore', "+key+", "+s, "'zrange', "+key+", 0, -1, 'withscores'", "'sadd', "+key+", 'm'", "'smembers', "+key, "'type', "+key, "'pexpire', "+key+", 100000", "'echo', "+s, "'nosuch', "+s, "'get'", "'mget', "+key+", 'none'", "'getset', "+key+", "+s) + ")"
}

// result returns the expression that a script returns.
func (g *scriptWriter) result() string {
	switch g.rand.IntN(8) {
	case 0:
		return "redis.call" + g.command()
	case 1:
		return "{redis.pcall" + g.command() + ", " + g.any(2) + "}"
	case 2:
		return "redis.status_reply(" + g.expr(aString, 2) + ")"
	case 3:
		return "redis.error_reply(" + g.expr(aString, 2) + ")"
	}
	return "{" + g.any(2) + ", " + g.any(2) + ", " + g.any(1) + "}"
}
