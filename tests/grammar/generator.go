package grammar

import (
	"slices"
	"strconv"
	"strings"

	"lockserver/commands"
	"lockserver/server"
)

// Generator generates commands from the rows of the command table.
type Generator struct {
	words
	rows    []*commands.Row
	at      []int // for each row, the sum of the weights up to it
	byGroup map[commands.Group][]*commands.Row
	special map[string]func(g *Generator) []string
	nested  int // depth of commands within commands
}

// weights holds the weights of rows that would otherwise come too often: they delete everything, or take
// long. Other commands have 20, subcommands 5.
var weights = map[string]int{
	"flushall": 1, "flushdb": 1, "swapdb": 3, "save": 1, "bgsave": 1, "bgrewriteaof": 1, "memory|purge": 1, "memory|doctor": 1, "pfselftest": 1,
	"quit": 3, "reset": 4, "monitor": 2, "client|reply": 2, "client|kill": 4, "client|no-evict": 1, "script|flush": 1, "function|flush": 1, "command": 1,
	"command|docs": 1, "info": 2, "lolwut": 1, "debug": 4, "client|pause": 2, "config|set": 10, "discard": 6, "select": 6, "keys": 5,
	"lock": 60, "mlock": 40, "unlock": 40, "eval": 40, "fcall": 20, "multi": 10, "exec": 20, "seckill": 40, "seckill.create": 30,
}

// New returns a generator for all rows. Begin must be called before its first use.
func New() *Generator {
	g := &Generator{special: specials(), byGroup: map[commands.Group][]*commands.Row{}}
	sum := 0
	add := func(r *commands.Row, weight int) {
		if excluded[r.FullName()] != "" {
			return
		}
		if own, ok := weights[r.FullName()]; ok {
			weight = own
		}
		sum += weight
		g.rows, g.at = append(g.rows, r), append(g.at, sum)
		if homes[r.Group] != nil || r.Group == commands.Generic || r.Group == commands.Sale || r.Group == commands.Transactions || r.Group == commands.PubSub {
			g.byGroup[r.Group] = append(g.byGroup[r.Group], r)
		}
	}
	for _, r := range server.Table().Rows() {
		add(r, 20)
		for _, sub := range r.Subcommands() {
			add(sub, 5)
		}
	}
	return g
}

func (g *Generator) row() *commands.Row {
	n := g.rand.IntN(g.at[len(g.at)-1])
	i, _ := slices.BinarySearch(g.at, n+1)
	return g.rows[i]
}

// Command returns a call of a row.
func (g *Generator) Command(row *commands.Row) []string {
	name := strings.Split(row.FullName(), "|")
	for i := range name {
		name[i] = g.anyCase(name[i])
	}
	var args []string
	switch make := g.special[row.FullName()]; {
	case make != nil:
		return append(name, make(g)...) // such calls have their own mistakes
	case g.Chance(4):
		for range g.rand.IntN(6) {
			args = append(args, g.odd())
		}
	default:
		args = g.sequence(nil, row, row.Args)
		for g.Chance(14) {
			args = g.mutate(row, args)
		}
	}
	return append(name, bounded(row, args)...)
}

// any returns a call of any row.
func (g *Generator) any() []string { return g.Command(g.row()) }

// inner returns a command for use within another.
func (g *Generator) inner() []string {
	g.nested++
	defer func() { g.nested-- }()
	if g.nested > 3 {
		return []string{"GET", g.Key(commands.String)}
	}
	return g.any()
}

// sequence appends consecutive arguments. Consecutive options come in any order.
func (g *Generator) sequence(dst []string, row *commands.Row, args []commands.Arg) []string {
	for i := 0; i < len(args); i++ {
		switch {
		case (args[i].Name == "numkeys" || args[i].Name == "numfields" || args[i].Name == "numids") && i+1 < len(args):
			n := 1 + g.rand.IntN(4)
			said := strconv.Itoa(n)
			if g.Chance(8) {
				said = g.integer()
			}
			dst = append(dst, said)
			i++
			for range n {
				dst = g.once(dst, row, &args[i])
			}
		case (row.Name == "xread" || row.Name == "xreadgroup") && args[i].Kind == commands.KindKey:
			n := 1 + g.rand.IntN(3)
			for _, a := range args[i : i+2] { // the same number of ids as of keys
				for range n {
					dst = g.once(dst, row, &a)
				}
			}
			i++
		case args[i].Optional:
			var options [][]string
			for ; i < len(args) && args[i].Optional; i++ {
				if g.Chance(40) {
					options = append(options, g.argument(nil, row, &args[i]))
				}
			}
			i--
			if g.Chance(50) {
				g.rand.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
			}
			dst = append(dst, slices.Concat(options...)...)
		default:
			dst = g.argument(dst, row, &args[i])
		}
	}
	return dst
}

// argument appends an argument with its token, and its repetitions.
func (g *Generator) argument(dst []string, row *commands.Row, a *commands.Arg) []string {
	times := 1
	if a.Multiple {
		switch n := g.rand.IntN(100); {
		case n < 60:
		case n < 98:
			times = 2 + g.rand.IntN(3)
		default:
			times = 30 + g.rand.IntN(200)
		}
	}
	for i := range times {
		if a.Token != "" && a.Kind != commands.KindPureToken && (i == 0 || a.MultipleToken) {
			dst = append(dst, g.anyCase(a.Token))
		}
		dst = g.once(dst, row, a)
	}
	return dst
}

// once appends one occurrence of an argument without its token.
func (g *Generator) once(dst []string, row *commands.Row, a *commands.Arg) []string {
	switch a.Kind {
	case commands.KindPureToken:
		return append(dst, g.anyCase(a.Token))
	case commands.KindOneOf:
		return g.argument(dst, row, &a.Args[g.rand.IntN(len(a.Args))])
	case commands.KindBlock:
		return g.sequence(dst, row, a.Args)
	case commands.KindKey:
		return append(dst, g.Key(row.Group))
	case commands.KindInteger:
		return append(dst, g.number(a))
	case commands.KindDouble:
		if a.Name == "timeout" {
			return append(dst, g.seconds())
		}
		return append(dst, g.double())
	case commands.KindPattern:
		return append(dst, g.Pick("*", "k?", "[a-z]*", "__key*", "__keyevent@0__:*", "#", "h*->a", "*->*", "nosort", "[", "\\", "", g.odd()))
	case commands.KindUnixTime:
		if strings.Contains(a.Name, "milliseconds") {
			return append(dst, g.moment(1000))
		}
		return append(dst, g.moment(1))
	}
	return append(dst, g.text(row, a))
}

func (g *Generator) number(a *commands.Arg) string {
	switch a.Name {
	case "milliseconds", "timeout", "ttl", "min-idle-time", "ms":
		return g.briefly()
	case "seconds":
		return g.Pick("1", "1", "2", "100", g.integer())
	case "client-id":
		return strconv.Itoa(1 + g.rand.IntN(40))
	case "pieces", "limit":
		return g.Pick("1", "2", "3", "10", "0", g.integer())
	case "capacity":
		return g.Pick("10", "100", "1000", "0", "-1", "x")
	case "db", "index", "destination-db", "index1", "index2":
		return g.Pick("0", "0", "1", "2", g.integer())
	case "protover":
		return g.Pick("2", "3", "3", g.integer())
	case "cursor":
		return g.Pick("0", "0", g.integer())
	case "longitude", "latitude":
		return g.double()
	}
	return g.integer()
}

// texts holds the words for strings by the names of their arguments.
var texts = map[string][]string{
	"traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-x"},
	"owner":       {"o1", "o2", "o3", ""}, "group": {"g1", "g1", "g2", ""}, "groupname": {"g1", "g2"}, "consumer": {"c1", "c2", ""}, "consumername": {"c1", "c2"},
	"voucher": {"v1", "v1", "v2", "v3", ""}, "user": {"u1", "u2", "u3", ""}, "order": {"1", "2", "3", ""}, "name": {"id1", ""},
	"channel": {"c1", "c2", "__keyevent@0__:set", "__keyspace@0__:k1", "__keyevent@0__:lock", "__redis__:invalidate"}, "shardchannel": {"c1", "c2"},
	"function": {"fn1", "fn2", "fn3", "none"}, "function-code": libraries, "library-name": {"lib1", "lib2", "none"}, "script": scripts, "sha1": shas,
	"id":        {"*", "0", "$", ">", "+", "-", "1-1", "1-*", "0-0", "18446744073709551615-18446744073709551615", "5-", "-5", "99999999999999999999-1"},
	"operation": {"AND", "OR", "XOR", "NOT", "x"}, "encoding": {"u8", "i5", "u63", "i64", "u64", "i65", "u0", "x"}, "type": {"string", "hash", "stream", "x"},
	"section": {"all", "everything", "server", "memory", "commandstats", "locks", "x"}, "event": {"command", "fast-command", "expire-cycle", "all"},
	"parameter": {"*", "max*", "save", "x"}, "subcommand": {"ENCODING", "GETREG", "DECODE", "TODENSE", "x"}, "prefix": {"", "k", "s1"},
	"yes/no": {"yes", "no", "x"}, "username": {"ann", "bob", "eve"}, "password": {"", "pass"},
	"rule": {"on", "off", "nopass", "resetpass", ">pass", "+@all", "-@all", "+@lock", "-get", "+select|0", "~*", "~k?", "%R~s*", "resetkeys", "&*", "&c?",
		"resetchannels", "(+get ~s1)", "(+@all", "clearselectors", "reset"},
}

// text returns a string that fits the name of the argument.
func (g *Generator) text(row *commands.Row, a *commands.Arg) string {
	switch {
	case g.Chance(6):
		return g.odd()
	case a.Name == "serialized-value" || a.Name == "data":
		return g.payload()
	case a.Name == "channel" && row.Name == "publish" && g.Chance(50):
		return g.Pick("c1", "c2")
	case texts[a.Name] != nil:
		return g.Pick(texts[a.Name]...)
	case row.Group == commands.Stream && a.Name != "field" && a.Name != "value":
		return g.Pick(texts["id"]...)
	case strings.HasPrefix(a.Name, "member") || a.Name == "field" || a.Name == "element" || a.Name == "item":
		return g.member()
	case row.Group == commands.SortedSet:
		return g.Pick(g.double(), "[a", "(b", "-", "+", "[", g.member())
	}
	return g.value()
}

// payload returns a payload of DUMP, sometimes damaged.
func (g *Generator) payload() string {
	p := []byte(g.Pick(g.payloads...))
	if g.Chance(15) {
		p[g.rand.IntN(len(p))] ^= 1 << g.rand.IntN(8)
	}
	return string(p)
}

// mutate makes a mistake in a call.
func (g *Generator) mutate(row *commands.Row, args []string) []string {
	args = slices.Clone(args)
	at := g.rand.IntN(len(args) + 1)
	word := g.odd()
	if known := row.Words(); len(known) > 0 && g.Chance(50) {
		word = g.Pick(known...)
	}
	if at == len(args) {
		return append(args, word)
	}
	switch g.rand.IntN(6) {
	case 0:
		return slices.Delete(args, at, at+1)
	case 1:
		return slices.Insert(args, at, word)
	case 2:
		args[at] = word
	case 3:
		args = slices.Insert(args, at, args[at])
	case 4:
		return args[:at]
	default:
		other := g.rand.IntN(len(args))
		args[at], args[other] = args[other], args[at]
	}
	return args
}
