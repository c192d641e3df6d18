package grammar

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"lockserver/commands"
)

// words generates arguments: few keys and members, so that commands use the same data, and every number that
// is an edge case.
type words struct {
	rand *rand.Rand
	// focus is a key that most of a pipeline's commands use, or empty.
	focus    string
	payloads []string // for RESTORE and similar commands
}

// Begin sets the source of random numbers.
func (w *words) Begin(chance *rand.Rand) { w.rand = chance }

// SetPayloads sets the payloads for RESTORE, BF.LOADCHUNK and FUNCTION RESTORE: see Payloads.
func (w *words) SetPayloads(all []string) { w.payloads = all }

// Chance returns true with a probability in percent.
func (w *words) Chance(percent int) bool { return w.rand.IntN(100) < percent }

// Pick returns a random word.
func (w *words) Pick(of ...string) string { return of[w.rand.IntN(len(of))] }

// homes holds the keys that usually have the type of a family of commands.
var homes = map[commands.Group][]string{
	commands.String: {"s1", "s2", "n1"}, commands.Bitmap: {"s1", "bits"}, commands.List: {"l1", "l2", "lbig"}, commands.Set: {"t1", "t2", "tbig"},
	commands.Hash: {"h1", "h2", "hbig", "hdue"}, commands.SortedSet: {"z1", "z2", "zbig"}, commands.Stream: {"x1", "x2"}, commands.Geo: {"g1", "g2"},
	commands.HyperLogLog: {"p1", "p2"}, commands.Bloom: {"f1", "f2"}, commands.Lock: {"k1", "k2", "k3", "k4"},
	commands.Limit: {"s1", "r1", "r2"}, commands.Delay: {"x1", "x2"},
}

// anywhere holds keys of every type, and some that do not exist.
var anywhere = []string{"s1", "n1", "bits", "l1", "lbig", "t1", "tbig", "h1", "hbig", "hdue", "z1", "zbig", "x1", "g1", "p1", "f1", "k1", "k2",
	"due", "new", "new2", "", "\x00\xff", "{a}1", "seckill:stock:v1", "redisson_lock_token:{k1}", "redisson__lock__channel:{k1}", long}

// long is a name that is longer than most buffers.
var long = strings.Repeat("long", 8000)

// Key returns a key for a command of a family.
func (w *words) Key(group commands.Group) string {
	own := homes[group]
	switch n := w.rand.IntN(100); {
	case n < 70 && w.focus != "":
		return w.focus
	case n < 85 && own != nil:
		return w.Pick(own...)
	case n < 98:
		return w.Pick(anywhere[:len(anywhere)-1]...)
	}
	return w.Pick(anywhere...)
}

// edges holds numbers at limits.
var edges = []string{"0", "1", "-1", "2", "3", "-2", "10", "-100", "100", "1000", "65535", "65536", "2147483647", "2147483648", "-2147483648", "-2147483649",
	"4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"18446744073709551615", "99999999999999999999999", "00", "01", "-0", "+1", " 1", "1 ", "0x10", "1e3", "", "x", "9007199254740993"}

func (w *words) integer() string {
	if w.Chance(65) {
		return strconv.Itoa(w.rand.IntN(8))
	}
	return w.Pick(edges...)
}

func (w *words) double() string {
	switch n := w.rand.IntN(100); {
	case n < 50:
		return strconv.FormatFloat(float64(w.rand.IntN(4000)-2000)/16, 'f', -1, 64)
	case n < 80:
		return w.Pick("inf", "-inf", "+inf", "nan", "-0", "1e308", "-1e308", "1e309", "4.9e-324", "1e400", "0x1p3", "(1", "(-inf", "+", "-", "[a", "(b", "180", "85.06")
	}
	return w.integer()
}

// briefly returns a time to live or to wait in milliseconds, usually one that ends within the scenario.
func (w *words) briefly() string {
	if w.Chance(80) {
		return w.Pick("1", "2", "5", "20", "50", "200", "1000", "60000", "0")
	}
	return w.integer()
}

// seconds returns such a time in seconds, with a fraction.
func (w *words) seconds() string {
	if w.Chance(85) {
		return w.Pick("0.001", "0.01", "0.02", "0.05", "0.2", "0", "1")
	}
	return w.double()
}

func (w *words) moment(perSecond int64) string {
	if w.Chance(25) {
		return w.integer()
	}
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC).Unix()
	return strconv.FormatInt((now+int64(w.rand.IntN(200_000_000)-50_000_000))*perSecond, 10)
}

func (w *words) member() string {
	if w.Chance(90) {
		return w.Pick("a", "b", "c", "d", "1", "2", "3", "Palermo", "Catania")
	}
	return w.value()
}

func (w *words) value() string {
	switch n := w.rand.IntN(100); {
	case n < 50:
		return w.Pick("a", "b", "v", "1", "-5", "3.5", "", "a b", "*", "$")
	case n < 70:
		return w.integer()
	case n < 90:
		return strings.Repeat(w.Pick("x", "\x00", "\xff", "\r\n"), 1+w.rand.IntN(300))
	case n < 97:
		return strings.Repeat("y", w.rand.IntN(5000))
	case n < 99:
		return strings.Repeat("z", 30_000)
	}
	return strings.Repeat("w", 200_000)
}

// odd returns a word that fits nowhere in particular.
func (w *words) odd() string {
	switch w.rand.IntN(6) {
	case 0:
		return w.Pick(edges...)
	case 1:
		return w.double()
	case 2:
		return w.value()
	case 3:
		return w.Pick(anywhere...)
	case 4:
		return w.Pick("NX", "XX", "GET", "LIMIT", "COUNT", "WITHSCORES", "BY", "STORE", "FIELDS", "MATCH", "TYPE", "BLOCK", "STREAMS", "WEIGHTS", "AGGREGATE",
			"KEEPTTL", "PX", "EX", "WAIT", "TOKEN", "HELP", "*", ">", "$", "(", "[", "-", "+", "#", "->")
	}
	return w.Pick("eval", "get", "sadd", "subscribe", "multi", "exec", "\x00", "é", "\xff\xfe")
}

// anyCase writes a command or an option in upper or lower case, as clients do.
func (w *words) anyCase(word string) string {
	if w.Chance(20) {
		return strings.ToLower(word)
	}
	return strings.ToUpper(word)
}
