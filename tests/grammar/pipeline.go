package grammar

import (
	"slices"
	"strconv"
	"strings"

	"lockserver/commands"
	"lockserver/internal/resp"
)

// MostPerPipeline is the largest number of commands in a pipeline.
const MostPerPipeline = 40

// Furniture returns commands that create a key of each kind.
func Furniture() [][]string {
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

// Pipeline returns the commands of one write.
func (g *Generator) Pipeline() [][]string {
	n := 1 + g.rand.IntN(12)
	if g.Chance(15) {
		n = 1 + g.rand.IntN(MostPerPipeline)
	}
	g.focus = ""
	next := g.any
	switch p := g.rand.IntN(100); {
	case p < 30: // of one family and on one key: the server's look-ahead groups such commands
		groups := make([]commands.Group, 0, len(g.byGroup))
		for group := range g.byGroup {
			groups = append(groups, group)
		}
		slices.Sort(groups)
		group := groups[g.rand.IntN(len(groups))]
		g.focus = g.Key(group)
		next = func() []string {
			rows := g.byGroup[group]
			return g.Command(rows[g.rand.IntN(len(rows))])
		}
	case p < 45: // one command many times, and other commands on its key
		row := g.row()
		g.focus = g.Key(row.Group)
		next = func() []string {
			if g.Chance(70) {
				return g.Command(row)
			}
			return g.any()
		}
	}
	var all [][]string
	for range n {
		all = append(all, next())
	}
	if g.Chance(8) {
		all = append([][]string{{"MULTI"}}, append(all, []string{g.Pick("EXEC", "EXEC", "EXEC", "DISCARD")})...)
		if g.Chance(30) {
			all = append([][]string{{"WATCH", g.Key(commands.Generic)}}, all...)
		}
	}
	g.focus = ""
	return all
}

// Payloads asks a server that has the Furniture for the argument of SetPayloads: payloads of each kind of
// value.
func Payloads(do func(args ...string) resp.Value) (all []string) {
	for _, key := range do("KEYS", "*").Elems {
		if key.Str == "lbig" || key.Str == "tbig" || key.Str == "hbig" || key.Str == "zbig" {
			continue // too large for payloads that are used often
		}
		if v := do("DUMP", key.Str); v.Kind == resp.Bulk {
			all = append(all, v.Str)
		}
	}
	return append(all, do("FUNCTION", "DUMP").Str, do("BF.SCANDUMP", "f1", "1").Elems[1].Str)
}
