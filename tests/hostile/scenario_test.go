package hostile

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/resp"
	"lockserver/tests/grammar"
	"lockserver/tests/testkit"
)

// scenario is a sequence of steps on one server.
type scenario struct {
	loops  int        // number of event loops; 0 means a goroutine for each connection
	config [][]string // directives and their values
	steps  []step
}

// step is an action of a client.
type step struct {
	client   int
	do       action
	commands [][]string // for write and cut: the commands; for raw: the words
}

// action is the kind of a step. A client connects when it has data to send and is not connected.
type action string

const (
	write  action = "write"   // sends the commands at once
	cut    action = "cut"     // sends them without the last few bytes, and closes the connection
	raw    action = "raw"     // sends the words as they are, which breaks the protocol
	hangup action = "hang up" // closes the connection
	reset  action = "reset"   // closes the connection with an RST
	half   action = "half"    // closes the sending direction, and still reads
	deafen action = "deafen"  // stops reading
	rest   action = "rest"    // waits a little over a second, so that timeout has an effect
)

const clients = 8

// newScenario returns a random scenario of about size commands.
func newScenario(seed uint64, g *grammar.Generator, size int) scenario {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	g.Begin(r)
	sc := scenario{loops: []int{0, 1, 1, 3}[r.IntN(4)], config: startConfig(g)}
	sc.steps = append(sc.steps, step{0, write, grammar.Furniture()})
	n := 0
	add := func(s step) {
		for i := range s.commands {
			s.commands[i] = farRule(s.commands[i])
		}
		sc.steps = append(sc.steps, s)
		n += len(s.commands)
	}
	for n < size {
		client := r.IntN(clients)
		switch p := r.IntN(1000); {
		case p < 900:
			add(step{client, write, g.Pipeline()})
		case p < 920:
			add(step{client, cut, g.Pipeline()})
		case p < 930:
			add(step{client, raw, [][]string{{g.Pick("*1\r\n$-5\r\n", "*2\r\n$3\r\nGET\r\n:1\r\n", "\x01\x02\r\n", "GET \"a\r\n", "*99999999\r\n", "$5\r\n", "GET / HTTP/1.1\r\n\r\n", "*0\r\n\r\n")}}})
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

// farRule makes the first time of an entry that recurs be far away: in the year 2100. Otherwise it would
// change the data for ever, and the data must stand still to be compared. A DELAY.MOVE still makes it due
// once, and the next time is far again.
func farRule(words []string) []string {
	is := func(i int, name string) bool { return i >= 0 && i < len(words) && strings.EqualFold(words[i], name) }
	add := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, "DELAY.ADD") })
	rule := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, "EVERY") || strings.EqualFold(word, "CRON") })
	if add < 0 || rule < add+2 {
		return words
	}
	if from := rule - 2; is(from, "PX") || is(from, "AT") {
		words = slices.Delete(slices.Clone(words), from, rule)
		rule = from
	}
	return slices.Insert(slices.Clone(words), rule, "AT", "4102444800000")
}

// startConfig returns random directives for the start of the server.
func startConfig(g *grammar.Generator) [][]string {
	config := [][]string{{"appendfsync", g.Pick("always", "everysec", "no")}, {"notify-keyspace-events", g.Pick("KEA", "KEA", "KEA", "", "KEAmn")}}
	option := func(percent int, name string, values ...string) {
		if g.Chance(percent) {
			config = append(config, []string{name, g.Pick(values...)})
		}
	}
	option(20, "timeout", "1")
	option(25, "maxmemory", "300kb", "500kb", "1mb")
	option(60, "maxmemory-policy", grammar.Directives["maxmemory-policy"]...)
	option(30, "busy-reply-threshold", "1", "5")
	option(30, "slowlog-log-slower-than", "0", "100")
	option(20, "latency-tracking", "yes")
	option(20, "rdbcompression", "no")
	option(30, "hll-sparse-max-bytes", "0", "100", "16000")
	option(20, "auto-aof-rewrite-min-size", "1kb", "20kb")
	option(20, "lock-watchdog-timeout", "30", "100")
	if g.Chance(30) {
		config = append(config, append([]string{"client-output-buffer-limit"}, strings.Fields(g.Pick(grammar.OutputLimits...))...))
	}
	return config
}

// commandCount returns the number of commands in the scenario.
func (sc scenario) commandCount() int {
	n := 0
	for _, s := range sc.steps {
		n += len(s.commands)
	}
	return n
}

// script writes the scenario as text for parseScript.
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

// parseScript parses a text of script.
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
