//go:build oracle

package differential

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/decimal"
	"lockserver/internal/resp"
)

// formKeys lists the keys with encodings that are compared.
var formKeys = append(slices.Clone(allKeys), "l3", "p3")

// commandsAForm is how many units of the flag -commands a command counts after which encodings are compared.
const commandsAForm = 12

// TestGeneratedForms compares the encodings of values after each of many commands: the replies of OBJECT
// ENCODING and DEBUG OBJECT, and of XINFO STREAM for streams. Half of the sequences are those of
// TestGenerated. The others cross the sizes at which values change their encoding.
func TestGeneratedForms(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("seed %d", seed)
	conf := configOf("")
	conf.EnableDebugCommand, conf.RDBCompression = config.AccessYes, false // each server compresses differently
	p := startPairOf(t, conf, "--enable-debug-command", "yes", "--rdbcompression", "no")
	p.nothingIsSlow()
	names := map[string]bool{}
	for _, name := range p.redis.Do("COMMAND", "LIST").Elems {
		names[strings.ToLower(name.Str)] = true
	}
	g := newGenerator(func(name string) bool { return names[name] })
	g.payloads = payloads(p)
	failures := 0
	for i := 0; i*sequenceLength < *commandsFlag/commandsAForm && failures < mostFailures; i++ {
		if *sequenceFlag >= 0 {
			i = *sequenceFlag
		}
		g.pool = pool{rand: rand.New(rand.NewPCG(seed, uint64(i))), nextMS: 1000}
		s := &sequence{pair: p, version: 2, after: func(s step) string { return p.finalForm(s) }}
		if i%2 == 0 {
			s.steps = g.write(sequenceLength)
		} else {
			s.steps = g.writeForms(sequenceLength)
		}
		if f := s.play(s.steps); f != nil {
			failures++
			t.Errorf("%s\nto replay: -run TestGeneratedForms -seed %d -sequence %d", s.report(f), seed, i)
		}
		if *sequenceFlag >= 0 {
			break
		}
	}
}

// finalForm is differentForm after a step, for data that may have a key in its last millisecond. It removes
// values that each server encodes in its own way.
func (p *pair) finalForm(s step) (wrong string) {
	p.t.Helper()
	if wrong = p.differentForm(); wrong != "" && p.madeItsOwnWay(s) {
		for _, side := range p.sides() {
			side.watch.Do("DEL", s.args[1])
		}
	}
	for tries := 0; wrong != "" && tries < 200; tries++ {
		time.Sleep(2 * time.Millisecond)
		wrong = p.differentForm()
	}
	return wrong
}

// madeItsOwnWay reports whether a step may have made a value with another encoding than in Redis (D142). One
// case is the union, or the difference, of integers and texts, which depends on the random order in Redis'
// table. The other is a list from a payload with other nodes than the limits would give.
func (p *pair) madeItsOwnWay(s step) bool {
	p.t.Helper()
	switch s.name {
	case "sunionstore", "sdiffstore":
		return p.isMixed(s.args[1])
	case "restore", "restore-asking":
		return p.redis.watch.Do("TYPE", s.args[1]).Str == "list"
	}
	return false
}

// isMixed reports whether a set has integers and other members.
func (p *pair) isMixed(key string) bool {
	p.t.Helper()
	integers, others := 0, 0
	for _, member := range texts(p.redis.watch.Do("SMEMBERS", key)) {
		if _, isInt := decimal.ParseInt([]byte(member)); isInt {
			integers++
		} else {
			others++
		}
	}
	return integers > 0 && others > 0
}

// ofNoConcern matches the parts of DEBUG OBJECT's reply that may differ.
var ofNoConcern = regexp.MustCompile(`at:\S+ refcount:\d+ | lru:\d+ lru_seconds_idle:\d+`)

// inNewerForm matches the length of a value that DUMP writes in another version of its format (D45).
var inNewerForm = regexp.MustCompile(`serializedlength:\d+`)

// differentForm returns the value with different encodings on the servers, or "".
func (p *pair) differentForm() string {
	p.t.Helper()
	var ask [][]string
	for _, key := range formKeys {
		ask = append(ask, []string{"TYPE", key}, []string{"OBJECT", "ENCODING", key}, []string{"DEBUG", "OBJECT", key},
			[]string{"XINFO", "STREAM", key})
	}
	ours, redis := p.ours.watch.Pipeline(ask), p.redis.watch.Pipeline(ask)
	for i, key := range formKeys {
		a, b := formOf(ours[4*i:4*i+4]), formOf(redis[4*i:4*i+4])
		if a != b {
			return fmt.Sprintf("%q\n  lockserver %s\n  redis      %s", key, a, b)
		}
	}
	return ""
}

// formOf returns the encoding of a value as text: the replies to TYPE, OBJECT ENCODING, DEBUG OBJECT and
// XINFO STREAM.
func formOf(replies []resp.Value) string {
	kind, encoding, insides := replies[0].Str, replies[1].String(), ofNoConcern.ReplaceAllString(replies[2].Str, "")
	if kind == "stream" || kind == "set" || strings.Contains(encoding, "listpackex") || kind == "hash" {
		insides = inNewerForm.ReplaceAllString(insides, "")
	}
	if kind == "stream" {
		insides += replies[3].String()
	}
	return kind + " " + encoding + " " + insides
}

// writeForms returns steps that make values grow and shrink around the sizes at which they change their
// encoding.
func (g *generator) writeForms(length int) []step {
	steps := g.configure()
	for range length {
		args := g.changeForm()
		steps = append(steps, step{name: strings.ToLower(args[0]), args: args})
	}
	return steps
}

// aboutSize returns a text with a length near those at which an encoding ends.
func (g *generator) aboutSize() string {
	size := []int{0, 1, 2, 3, 43, 44, 45, 62, 63, 64, 65, 66}[g.rand.IntN(12)]
	if g.chance(2) {
		size = 2020 + g.rand.IntN(40) // four times as long is 8 KiB
	}
	if g.chance(1) {
		size = 8100 + g.rand.IntN(150)
	}
	return strings.Repeat("x", size)
}

// manyWords appends n words, each after the words in before.
func (g *generator) manyWords(args []string, before ...string) []string {
	n := []int{1, 1, 1, 2, 3, 5, 6, 60, 127, 128, 129, 250, 511, 512, 513}[g.rand.IntN(15)]
	from := g.rand.IntN(600)
	form := g.pick([]string{"%d", "%d", "m%d", "%d0000000000"})
	for i := range n {
		args = append(append(args, before...), fmt.Sprintf(form, from+i))
	}
	return args
}

func (g *generator) changeForm() []string {
	number := func(n int) string { return strconv.Itoa(g.rand.IntN(n)) }
	form := []func() []string{g.stringForm, g.hashForm, g.listForm, g.setForm, g.zsetForm, g.streamForm}
	if g.chance(6) {
		from := g.pick(allKeys[:22])
		return [][]string{{"COPY", from, g.pick([]string{from[:1] + "1", from[:1] + "2"}), "REPLACE"}, {"DEL", from},
			{"RENAME", from, from[:1] + "1"}, {"PEXPIRE", from, "100000" + number(9)}, {"PERSIST", from}}[g.rand.IntN(5)]
	}
	return form[g.rand.IntN(len(form))]()
}

func (g *generator) stringForm() []string {
	key := g.pick(homes[commands.String])
	return [][]string{{"SET", key, g.aboutSize()}, {"SET", key, g.integer()}, {"APPEND", key, g.aboutSize()},
		{"SETRANGE", key, strconv.Itoa(g.rand.IntN(50)), g.aboutSize()}, {"INCRBY", key, g.integer()}, {"INCRBYFLOAT", key, "0.5"},
		{"GETSET", key, g.number()}, {"SETBIT", key, strconv.Itoa(g.rand.IntN(400)), "1"}, {"GETEX", key, "PERSIST"},
		{"BITOP", "NOT", key, g.pick(homes[commands.String])}, {"MSET", key, g.integer(), "n1", g.aboutSize()}, {"DECR", key},
		{"GETDEL", key}, {"SET", key, g.integer(), "KEEPTTL"}, {"LCS", key, g.pick(homes[commands.String])}, {"PFADD", "p1", g.aboutSize()}}[g.rand.IntN(16)]
}

func (g *generator) hashForm() []string {
	key, field := g.pick(homes[commands.Hash]), "m"+strconv.Itoa(g.rand.IntN(9))
	return [][]string{{"HSET", key, field, g.aboutSize()}, {"HSET", key, g.aboutSize(), "v"}, g.manyWords([]string{"HSET", key}, field)[:4],
		g.pairs([]string{"HSET", key}), g.pairs([]string{"HMSET", key}), g.manyWords([]string{"HDEL", key}), {"HSETNX", key, field, g.aboutSize()},
		{"HINCRBY", key, field, "1"}, {"HINCRBYFLOAT", key, field, "1.5"}, {"HPEXPIRE", key, "1000000", "FIELDS", "1", field},
		{"HPERSIST", key, "FIELDS", "1", field}, {"HDEL", key, field}}[g.rand.IntN(12)]
}

// pairs appends many fields with their values.
func (g *generator) pairs(args []string) []string {
	words := g.manyWords(nil)
	for i, w := range words {
		args = append(args, w, strconv.Itoa(i))
	}
	return args
}

func (g *generator) listForm() []string {
	key, other := g.pick(homes[commands.List]), g.pick(homes[commands.List])
	at := strconv.Itoa(g.rand.IntN(20) - 10)
	return [][]string{{"RPUSH", key, g.aboutSize()}, {"LPUSH", key, g.aboutSize()}, g.manyWords([]string{"RPUSH", key}),
		g.manyWords([]string{"LPUSH", key}), {"LSET", key, at, g.aboutSize()}, {"LINSERT", key, "BEFORE", "m" + at, g.aboutSize()},
		{"LTRIM", key, "0", strconv.Itoa(g.rand.IntN(600))}, {"LTRIM", key, at, "-1"}, {"LREM", key, "0", g.aboutSize()},
		{"LPOP", key, strconv.Itoa(g.rand.IntN(300))}, {"RPOP", key, strconv.Itoa(g.rand.IntN(300))}, {"LMOVE", key, other, "LEFT", "RIGHT"},
		{"RPOPLPUSH", key, other}, {"LMPOP", "2", key, other, "LEFT", "COUNT", "50"}, {"SORT", key, "ALPHA", "STORE", other}}[g.rand.IntN(15)]
}

func (g *generator) setForm() []string {
	key, other := g.pick(homes[commands.Set]), g.pick(homes[commands.Set])
	return [][]string{{"SADD", key, g.aboutSize()}, {"SADD", key, g.integer()}, g.manyWords([]string{"SADD", key}), g.manyWords([]string{"SADD", key}),
		g.manyWords([]string{"SREM", key}), g.manyWords([]string{"SREM", key}), {"SREM", key, g.aboutSize()}, {"SMOVE", key, other, g.aboutSize()},
		{"SUNIONSTORE", key, key, other}, {"SINTERSTORE", key, key, other}, {"SDIFFSTORE", key, key, other},
		{"SORT", key, "ALPHA", "STORE", other + "l"}}[g.rand.IntN(12)]
}

func (g *generator) zsetForm() []string {
	key, other := g.pick(homes[commands.SortedSet]), g.pick(homes[commands.SortedSet])
	return [][]string{{"ZADD", key, "1", g.aboutSize()}, {"ZADD", key, g.number(), "m1"}, g.manyWords([]string{"ZADD", key}, "1"),
		g.manyWords([]string{"ZADD", key}, "2.5"), g.manyWords([]string{"ZREM", key}), g.manyWords([]string{"ZREM", key}), {"ZINCRBY", key, "1", g.aboutSize()},
		{"ZUNIONSTORE", key, "2", key, other}, {"ZINTERSTORE", key, "2", key, other}, {"ZDIFFSTORE", key, "2", key, other},
		{"ZRANGESTORE", key, other, "0", strconv.Itoa(g.rand.IntN(200))}, {"ZPOPMIN", key, strconv.Itoa(g.rand.IntN(200))},
		{"ZREMRANGEBYRANK", key, "0", strconv.Itoa(g.rand.IntN(100))}, {"GEOADD", key, "13.361389", "38.115556", g.aboutSize()},
		{"GEOSEARCHSTORE", key, other, "FROMLONLAT", "13", "38", "BYRADIUS", "9999", "km"}}[g.rand.IntN(15)]
}

func (g *generator) streamForm() []string {
	key := g.pick(homes[commands.Stream])
	g.nextMS++
	id := strconv.FormatInt(g.nextMS, 10)
	back := strconv.FormatInt(g.nextMS-int64(g.rand.IntN(30)), 10)
	return [][]string{{"XADD", key, id, "f", g.aboutSize()}, {"XADD", key, id, "f", g.aboutSize()}, {"XADD", key, id, "f", "v", "g", "v"},
		{"XADD", key, "MAXLEN", "~", "20", id, "f", g.aboutSize()}, {"XADD", key, "MAXLEN", "20", id, "f", "v"}, {"XADD", key, id, "f", "v"},
		{"XDEL", key, back}, {"XTRIM", key, "MINID", back}, {"XTRIM", key, "MAXLEN", "~", strconv.Itoa(g.rand.IntN(40))},
		{"XADD", key, id, "f", "v"}}[g.rand.IntN(10)]
}
