//go:build oracle

package differential

import (
	"slices"
	"strconv"
	"strings"

	"lockserver/commands"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// generator generates commands from the rows of the command table.
type generator struct {
	pool
	rows []*commands.Row
	// at holds, for each row, the sum of the weights up to it.
	at []int
	// payloads holds arguments for RESTORE.
	payloads []string
}

// excluded holds commands that are not generated, with the reason. Cases written by hand play those that can
// be played.
var excluded = map[string]string{
	"command":         "describes the table: compared with Redis in the commands package",
	"command|docs":    "summaries are our own",
	"command|info":    "as command",
	"command|list":    "there are fewer commands",
	"command|count":   "there are fewer commands",
	"time":            "tells the time",
	"info":            "tells each server's own figures",
	"lastsave":        "tells the time",
	"hello":           "tells the client's number: see conversation_test.go",
	"client|id":       "as hello",
	"client|info":     "as hello",
	"client|list":     "as hello",
	"client|kill":     "as hello",
	"client|unblock":  "as hello",
	"client|reply":    "there would be no replies to compare: see conversation_test.go",
	"client|tracking": "its messages would stand between the replies: see conversation_test.go",
	"multi":           "whole transactions are generated: see generator.transaction",
	"exec":            "as multi",
	"discard":         "as multi",
	"quit":            "closes the connection",
	"subscribe":       "answers once a channel, and changes what the connection may do: see conversation_test.go",
	"unsubscribe":     "as subscribe",
	"psubscribe":      "as subscribe",
	"punsubscribe":    "as subscribe",
	"ssubscribe":      "as subscribe",
	"sunsubscribe":    "as subscribe",
	"monitor":         "shows what others do: see monitor_test.go",
	"slowlog|get":     "each server's own times: see monitor_test.go",
	"slowlog|len":     "as slowlog|get",
	"latency|latest":  "as slowlog|get",
	"latency|doctor":  "a text of our own",

	"latency|histogram": "each server's own times",
	"reset":             "goes back to version 2: see conversation_test.go",
	"config|get":        "there are fewer directives, some with other defaults",
	"config|set":        "may set anything",
	"config|rewrite":    "writes files",
	"save":              "writes files",
	"bgsave":            "writes files",
	"bgrewriteaof":      "writes files",
	"shutdown":          "ends the server",
	"debug":             "helps testing, each server's own way",
	"client|pause":      "makes everything wait: see conversation_test.go",
	"client|unpause":    "as client|pause",
	"memory|usage":      "each server's own figures",
	"memory|stats":      "as memory|usage",
	"memory|doctor":     "as memory|usage",

	"memory|malloc-stats": "as memory|usage",
	"replicaof":           "Redis would become a replica",
	"slaveof":             "as replicaof",
	"failover":            "as replicaof: see tests/replication",
	"psync":               "makes the connection a replica's: see tests/replication",
	"sync":                "as psync",
	"replconf":            "answers nothing to ACK",
	"migrate":             "waits for servers that are not there: see migrate_test.go",
	"lolwut":              "draws something of our own",
	"acl|cat":             "there are fewer commands, and others",
	"acl|genpass":         "each time another",
	"acl|setuser":         "users are generated in acl_fuzz_test.go",
	"acl|deluser":         "as acl|setuser",
	"acl|dryrun":          "as acl|setuser",
	"acl|log":             "as acl|setuser",
	"memory|purge":        "takes long",
	"pfselftest":          "takes Redis long",
	"eval":                "scripts are generated in script_fuzz_test.go",
	"eval_ro":             "as eval",
	"script|debug":        "would make every script of the connection fork",
}

// weights holds the weights of rows that would otherwise come too often or too rarely; others have 20.
var weights = map[string]int{
	"auth": 2, "client|setname": 3, "client|getname": 3, "client|no-evict": 1, "config|resetstat": 1, "flushall": 1, "flushdb": 2, "swapdb": 4, "dbsize": 5, "wait": 1, "waitaof": 1, "randomkey": 5, "select": 6, "echo": 3, "ping": 3, "client": 1, "config": 1, "object": 1, "xinfo": 1,
	"set": 40, "xadd": 80, "sadd": 40, "hset": 40, "zadd": 60, "rpush": 60, "lpush": 60, "linsert": 40, "copy": 30, "command|getkeys": 6, "command|getkeysandflags": 6,
}

// newGenerator generates the commands that are in the command table and in Redis; known reports whether Redis
// has a command.
func newGenerator(known func(fullName string) bool) *generator {
	g := &generator{}
	sum := 0
	add := func(r *commands.Row) {
		if excluded[r.FullName()] != "" || r.Name == "help" || !known(r.FullName()) {
			return // the texts of HELP differ
		}
		w := weights[r.FullName()]
		if w == 0 {
			w = 20
		}
		sum += w
		g.rows, g.at = append(g.rows, r), append(g.at, sum)
	}
	for _, r := range server.Table().Rows() {
		add(r)
		for _, sub := range r.Subcommands() {
			add(sub)
		}
	}
	return g
}

// next returns a random command and its row.
func (g *generator) next() (*commands.Row, []string) {
	n := g.rand.IntN(g.at[len(g.at)-1])
	i, _ := slices.BinarySearch(g.at, n+1)
	return g.rows[i], g.of(g.rows[i])
}

// of returns a command of a row.
func (g *generator) of(row *commands.Row) []string {
	name := strings.Split(row.FullName(), "|")
	for i := range name {
		name[i] = g.anyCase(name[i])
	}
	args := g.call(row)
	if g.chance(12) {
		args = g.mutate(row, args)
	}
	return append(name, harmless(row, args)...)
}

// call returns the arguments of a call.
func (g *generator) call(row *commands.Row) []string {
	if strings.HasPrefix(row.FullName(), "command|getkeys") {
		_, args := g.next()
		return args
	}
	return g.sequence(nil, row, row.Args)
}

// sequence appends consecutive arguments. Consecutive options come in any order.
func (g *generator) sequence(dst []string, row *commands.Row, args []commands.Arg) []string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i].Name == "numkeys" && i+1 < len(args) && args[i+1].Kind == commands.KindKey:
			dst = g.counted(dst, row, &args[i+1])
			i++
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
				if g.uses(&args[i]) {
					options = append(options, g.argument(nil, row, &args[i]))
				}
			}
			i--
			if g.chance(50) {
				g.rand.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
			}
			dst = append(dst, slices.Concat(options...)...)
		default:
			dst = g.argument(dst, row, &args[i])
		}
	}
	return dst
}

// uses decides whether to use an option. Options that are newer than the oracle are not used.
func (g *generator) uses(a *commands.Arg) bool { return g.chance(35) && !isNewer(a.Since) }

// counted appends a number of keys and usually that number of keys.
func (g *generator) counted(dst []string, row *commands.Row, keys *commands.Arg) []string {
	n := 1 + g.rand.IntN(3)
	said := strconv.Itoa(n)
	if g.chance(10) {
		said = g.integer()
	}
	dst = append(dst, said)
	for range n {
		dst = g.once(dst, row, keys)
	}
	return dst
}

// argument appends an argument with its token, and its repetitions.
func (g *generator) argument(dst []string, row *commands.Row, a *commands.Arg) []string {
	times := 1
	if a.Multiple {
		switch n := g.rand.IntN(100); {
		case n < 50:
		case n < 97:
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
func (g *generator) once(dst []string, row *commands.Row, a *commands.Arg) []string {
	switch a.Kind {
	case commands.KindPureToken:
		return append(dst, g.anyCase(a.Token))
	case commands.KindOneOf:
		for {
			alternative := &a.Args[g.rand.IntN(len(a.Args))]
			if !isNewer(alternative.Since) {
				return g.argument(dst, row, alternative)
			}
		}
	case commands.KindBlock:
		return g.sequence(dst, row, a.Args)
	case commands.KindKey:
		if isSort(row) && a.Token == "" && g.chance(80) {
			return append(dst, g.pick([]string{"l1", "l2", "l3", "t1", "t2"}))
		}
		return append(dst, g.key(row.Group))
	case commands.KindInteger:
		return append(dst, g.integerFor(row, a))
	case commands.KindDouble:
		if a.Name == "min" || a.Name == "max" {
			return append(dst, g.scoreBound())
		}
		if row.Group == commands.Geo {
			return append(dst, g.degreesOrSize(a.Name))
		}
		return append(dst, g.double())
	case commands.KindPattern:
		if isSort(row) && g.chance(90) {
			return append(dst, g.pick([]string{"#", "s*", "n*", "h*->m1", "*1->m2", "nosort", "*", "h*->", "*->*"}))
		}
		return append(dst, g.pick(patterns))
	case commands.KindUnixTime:
		return append(dst, g.moment(perSecond(a)))
	default:
		return append(dst, g.text(row, a))
	}
}

// perSecond returns the number of an argument's units in a second.
func perSecond(a *commands.Arg) int64 {
	if strings.Contains(a.Name, "milliseconds") {
		return 1000
	}
	return 1
}

func (g *generator) integerFor(row *commands.Row, a *commands.Arg) string {
	switch {
	case (row.Name == "restore" || row.Name == "restore-asking") && a.Name == "seconds": // D5: it would show that the write was refused
		return g.pick([]string{"0", "0", "-1", "1.5", "x"})
	case strings.Contains(a.Name, "seconds"):
		return g.timeToLive(perSecond(a))
	case a.Name == "min-idle-time":
		return g.pick([]string{"0", "10000000"})
	case a.Name == "ttl":
		return g.pick([]string{"0", "0", g.timeToLive(1000), g.moment(1000)})
	case a.Name == "frequency":
		return g.pick([]string{"0", "255", "256", g.integer()})
	case row.Name == "xclaim" && a.Name == "ms": // long enough that an idle entry stays idle
		return g.pick([]string{"0", "100000000", "-1", "x"})
	case row.Name == "xautoclaim" && a.Name == "count": // Redis allocates memory for this count in advance
		return g.pick([]string{"0", "1", "2", "100", "-1", "1.0", "9223372036854775807"})
	case row.Group == commands.Bitmap && a.Name == "offset":
		return g.bitOffset()
	case row.Group == commands.Bitmap && (a.Name == "bit" || row.Name == "setbit") && g.chance(85):
		return strconv.Itoa(g.rand.IntN(2))
	case a.Name == "cursor":
		if g.chance(85) {
			return "0"
		}
	case row.Group == commands.Server || a.Name == "db" || a.Name == "index" || a.Name == "destination-db":
		if g.chance(85) {
			return strconv.Itoa(g.rand.IntN(3))
		}
	}
	return g.integer()
}

// text returns a string that fits the name of the argument.
func (g *generator) text(row *commands.Row, a *commands.Arg) string {
	switch {
	case row.Group == commands.Stream && row.Name == "xadd" && a.Name == "id":
		return g.entryID()
	case row.Group == commands.Stream && a.Name == "threshold":
		if g.chance(50) {
			return g.streamID()
		}
		return strconv.Itoa(g.rand.IntN(12))
	case strings.HasPrefix(a.Name, "group"):
		return g.pick([]string{"g1", "g1", "g1", "g2", "g3", ""})
	case strings.HasPrefix(a.Name, "consumer"):
		return g.pick([]string{"c1", "c2", "c3", ""})
	case a.Name == "min-idle-time":
		return g.pick([]string{"0", "0", "0", "0", "-5", "10000000", "x"})
	case a.Name == "serialized-value":
		return g.payload()
	case row.Name == "xreadgroup" && g.chance(60):
		return ">"
	case row.Name == "create" && row.Group == commands.Stream && g.chance(60):
		return "0"
	case row.Group == commands.Stream && a.Name != "field" && a.Name != "value":
		return g.streamID()
	case a.Name == "field" || a.Name == "member" || row.Group == commands.List && g.chance(80):
		return g.member()
	case row.Group == commands.Bitmap && a.Name == "encoding":
		return g.bitType()
	case row.Name == "pfdebug" && a.Name == "subcommand":
		return g.pick([]string{"ENCODING", "decode", "GETREG", "todense", "x"})
	case row.Group == commands.HyperLogLog && a.Name == "element":
		return g.member()
	case a.Name == "operation":
		return g.pick([]string{"AND", "or", "XOR", "NOT", "xOr", "NAND", ""})
	case row.Group == commands.SortedSet && (a.Name == "start" || a.Name == "stop"):
		return g.pick([]string{g.integer(), g.scoreBound(), g.lexBound()})
	case row.Group == commands.SortedSet && (a.Name == "min" || a.Name == "max"):
		return g.pick([]string{g.lexBound(), g.lexBound(), g.scoreBound()})
	case a.Name == "type":
		return g.pick([]string{"string", "hash", "set", "stream", "list", "zset", "STRING", "nothing", ""})
	case row.Group == commands.Hash && g.chance(40):
		return g.number()
	}
	return g.value()
}

// payload returns one of Redis' payloads, sometimes damaged.
func (g *generator) payload() string {
	p := []byte(g.pick(g.payloads))
	if g.chance(10) {
		p[g.rand.IntN(len(p))] ^= 1 << g.rand.IntN(8)
	}
	return string(p)
}

// mutate makes a mistake, as clients do.
func (g *generator) mutate(row *commands.Row, args []string) []string {
	args = slices.Clone(args)
	at := g.rand.IntN(len(args) + 1)
	word := g.garbage()
	if known := row.Words(); len(known) > 0 && g.chance(50) {
		if word = g.pick(known); isNewerWord(row.Args, word) {
			word = "COUNT"
		}
	}
	if at == len(args) {
		return append(args, word)
	}
	switch g.rand.IntN(5) {
	case 0:
		return slices.Delete(args, at, at+1)
	case 1:
		return slices.Insert(args, at, word)
	case 2:
		args[at] = word
	case 3:
		args = slices.Insert(args, at, args[at])
	default:
		other := g.rand.IntN(len(args))
		args[at], args[other] = args[other], args[at]
	}
	return args
}

func (g *generator) anyCase(word string) string {
	switch n := g.rand.IntN(10); {
	case n < 5:
		return strings.ToUpper(word)
	case n < 8:
		return strings.ToLower(word)
	}
	b := []byte(strings.ToLower(word))
	for i := range b {
		if 'a' <= b[i] && b[i] <= 'z' && g.chance(50) {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// isNewer reports whether a version of Redis is later than that of the oracle, 7.4.
func isNewer(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	return a > 7 || a == 7 && b > 4
}

// isNewerWord reports whether only an argument that is newer than the oracle begins with the word.
func isNewerWord(args []commands.Arg, word string) bool {
	for i := range args {
		a := &args[i]
		if isNewer(a.Since) && hasWord(a, word) || isNewerWord(a.Args, word) {
			return true
		}
	}
	return false
}

// hasWord reports whether the argument, or one within it, has the word as its token.
func hasWord(a *commands.Arg, word string) bool {
	return a.Token == word || slices.ContainsFunc(a.Args, func(in commands.Arg) bool { return hasWord(&in, word) })
}

// line is a command as redis-cli takes it.
func line(args []string) string { return testkit.Line(args) }
