package hostile

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/internal/testkit"
)

// scenario is what is done to one server.
type scenario struct {
	loops  int        // event loops; 0: a goroutine a connection
	config [][]string // directives with their values
	steps  []step
}

// step is something that one client does.
type step struct {
	client   int
	do       action
	commands [][]string // of a write, a cut, and what is sent as it is
}

// action is what a client does in a step. It connects when it has something to send and is not connected.
type action string

const (
	write  action = "write"   // sends the commands at once
	cut    action = "cut"     // sends them but for the last few bytes, and hangs up
	raw    action = "raw"     // sends the words as they are, which breaks the protocol
	hangup action = "hang up" // closes the connection
	reset  action = "reset"   // closes it so that the server is told with an RST
	half   action = "half"    // sends no more, and reads on
	deafen action = "deafen"  // stops reading
	rest   action = "rest"    // waits a little over a second, so that timeout strikes
)

const (
	clients = 8
	// mostPerWrite bounds a pipeline.
	mostPerWrite = 40
)

// newScenario makes one of about so many commands.
func newScenario(seed uint64, g *generator, size int) scenario {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	g.rand = r
	sc := scenario{loops: []int{0, 1, 1, 3}[r.IntN(4)], config: startConfig(g)}
	sc.steps = append(sc.steps, step{0, write, furniture(g)})
	n := 0
	add := func(s step) {
		sc.steps = append(sc.steps, s)
		n += len(s.commands)
	}
	for n < size {
		client := r.IntN(clients)
		switch p := r.IntN(1000); {
		case p < 900:
			add(step{client, write, g.pipeline()})
		case p < 920:
			add(step{client, cut, g.pipeline()})
		case p < 930:
			add(step{client, raw, [][]string{{g.pick("*1\r\n$-5\r\n", "*2\r\n$3\r\nGET\r\n:1\r\n", "\x01\x02\r\n", "GET \"a\r\n", "*99999999\r\n", "$5\r\n", "GET / HTTP/1.1\r\n\r\n", "*0\r\n\r\n")}}})
		case p < 955:
			add(step{client, hangup, nil})
		case p < 975:
			add(step{client, reset, nil})
		case p < 985:
			add(step{client, half, nil})
		case p < 999:
			add(step{client, deafen, nil})
		default:
			add(step{client, rest, nil})
		}
	}
	return sc
}

// startConfig draws what the server is started with.
func startConfig(g *generator) [][]string {
	config := [][]string{{"appendfsync", g.pick("always", "everysec", "no")}, {"notify-keyspace-events", g.pick("KEA", "KEA", "KEA", "", "KEAmn")}}
	option := func(percent int, name string, values ...string) {
		if g.chance(percent) {
			config = append(config, []string{name, g.pick(values...)})
		}
	}
	option(20, "timeout", "1")
	option(25, "maxmemory", "300kb", "500kb", "1mb")
	option(60, "maxmemory-policy", directives["maxmemory-policy"]...)
	option(30, "busy-reply-threshold", "1", "5")
	option(30, "slowlog-log-slower-than", "0", "100")
	option(20, "latency-tracking", "yes")
	option(20, "rdbcompression", "no")
	option(30, "hll-sparse-max-bytes", "0", "100", "16000")
	option(20, "auto-aof-rewrite-min-size", "1kb", "20kb")
	option(20, "lock-watchdog-timeout", "30", "100")
	if g.chance(30) {
		config = append(config, append([]string{"client-output-buffer-limit"}, strings.Fields(g.pick(outputLimits...))...))
	}
	return config
}

// furniture is a key of each kind.
func furniture(g *generator) [][]string {
	big := func(name, key string, pairs bool) []string {
		c := []string{name, key}
		for i := range 700 {
			if pairs {
				c = append(c, strconv.Itoa(i))
			}
			c = append(c, "e"+strconv.Itoa(i))
		}
		return c
	}
	lines := `SET s1 value|SET s2 12|SET n1 5|SETBIT bits 1000 1|RPUSH l1 a b c 1 2|RPUSH l2 3 1 2|SADD t1 a b c|SADD t2 1 2 3|HSET h1 a 1 b 2 c x|
HSET h2 a 1|HSET hdue a 1 b 2 c 3|HPEXPIRE hdue 60000 FIELDS 1 a|ZADD z1 1 a 2 b 3 c|ZADD z2 inf a -inf b|XADD x1 1-1 a 1|XADD x1 2-1 b 2|XGROUP CREATE x1 g1 0|
XREADGROUP GROUP g1 c1 COUNT 1 STREAMS x1 >|XADD x2 * a 1|GEOADD g1 13.361389 38.115556 Palermo 15.087269 37.502669 Catania|GEOADD g2 1 1 a|PFADD p1 a b c|PFADD p2 c d|
BF.ADD f1 a|BF.RESERVE f2 0.01 100|LOCK k1 o1 PX 60000|LOCK k2 o2|SET due x PX 60000|SECKILL.CREATE v1 STOCK 100 LIMIT 3|SECKILL.CREATE v2 STOCK 10 HOLD 60000`
	var all [][]string
	for _, line := range strings.Split(strings.ReplaceAll(lines, "\n", ""), "|") {
		all = append(all, strings.Fields(line))
	}
	all = append(all, big("RPUSH", "lbig", false), big("SADD", "tbig", false), big("HSET", "hbig", true), big("ZADD", "zbig", true))
	for _, body := range libraries[:2] {
		all = append(all, []string{"FUNCTION", "LOAD", body})
	}
	return all
}

// pipeline draws the commands of one write.
func (g *generator) pipeline() [][]string {
	n := 1 + g.rand.IntN(12)
	if g.chance(15) {
		n = 1 + g.rand.IntN(mostPerWrite)
	}
	g.focus = ""
	next := g.any
	switch p := g.rand.IntN(100); {
	case p < 30: // of one family, on one key: what looks ahead groups those
		groups := make([]commands.Group, 0, len(g.byGroup))
		for group := range g.byGroup {
			groups = append(groups, group)
		}
		slices.Sort(groups)
		group := groups[g.rand.IntN(len(groups))]
		g.focus = g.key(group)
		next = func() []string {
			rows := g.byGroup[group]
			return g.command(rows[g.rand.IntN(len(rows))])
		}
	case p < 45: // one command many times, and others on its key
		row := g.row()
		g.focus = g.key(row.Group)
		next = func() []string {
			if g.chance(70) {
				return g.command(row)
			}
			return g.any()
		}
	}
	var all [][]string
	for range n {
		all = append(all, next())
	}
	if g.chance(8) {
		all = append([][]string{{"MULTI"}}, append(all, []string{g.pick("EXEC", "EXEC", "EXEC", "DISCARD")})...)
		if g.chance(30) {
			all = append([][]string{{"WATCH", g.key(commands.Generic)}}, all...)
		}
	}
	g.focus = ""
	return all
}

// commandCount is how many commands the scenario sends.
func (sc scenario) commandCount() int {
	n := 0
	for _, s := range sc.steps {
		n += len(s.commands)
	}
	return n
}

// script writes the scenario so that parseScript reads it.
func (sc scenario) script() string {
	var b strings.Builder
	fmt.Fprintf(&b, "loops %d\n", sc.loops)
	for _, c := range sc.config {
		fmt.Fprintf(&b, "config %s\n", testkit.Line(c))
	}
	for _, s := range sc.steps {
		fmt.Fprintf(&b, "client %d %s\n", s.client, s.do)
		for _, c := range s.commands {
			fmt.Fprintf(&b, "  %s\n", testkit.Line(c))
		}
	}
	return b.String()
}

// parseScript reads what script has written.
func parseScript(text string) (sc scenario, err error) {
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		line := lines.Text()
		words, ok := resp.SplitWords(nil, []byte(line))
		if !ok {
			return sc, fmt.Errorf("unbalanced quotes: %s", line)
		}
		var args []string
		for _, w := range words {
			args = append(args, string(w))
		}
		switch {
		case len(args) == 0 || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			if len(sc.steps) == 0 {
				return sc, fmt.Errorf("a command of no client: %s", line)
			}
			last := &sc.steps[len(sc.steps)-1]
			last.commands = append(last.commands, args)
		case args[0] == "loops" && len(args) == 2:
			sc.loops, err = strconv.Atoi(args[1])
		case args[0] == "config" && len(args) > 2:
			sc.config = append(sc.config, args[1:])
		case args[0] == "client" && len(args) > 2:
			var n int
			n, err = strconv.Atoi(args[1])
			sc.steps = append(sc.steps, step{n, action(strings.Join(args[2:], " ")), nil})
		default:
			err = fmt.Errorf("what is %q?", line)
		}
		if err != nil {
			return sc, err
		}
	}
	return sc, lines.Err()
}
