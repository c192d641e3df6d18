//go:build oracle

package differential

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"lockserver/commands"
)

// pool generates arguments. There are few keys and members, so that commands use the same data, and every
// number that is an edge case.
type pool struct {
	rand *rand.Rand
	// nextMS makes the ids of stream entries rise; unique makes new values.
	nextMS, unique int64
}

// homes holds keys by the family of commands that usually uses them.
var homes = map[commands.Group][]string{
	commands.String: {"s1", "s2", "n1", "n2"},
	commands.Hash:   {"h1", "h2", "h3"},
	commands.Set:    {"t1", "t2", "t3", "t4"},
	commands.List:   {"l1", "l2", "l3"},
	commands.Stream: {"x1", "x2", "x3"},

	commands.SortedSet: {"z1", "z2", "z3"},
	commands.Bitmap:    {"b1", "b2", "s1"},

	commands.HyperLogLog: {"p1", "p2", "p3"},
	commands.Geo:         {"g1", "g2", "z1"},
}

var allKeys = []string{
	"s1", "s2", "n1", "n2", "h1", "h2", "h3", "t1", "t2", "t3", "t4", "x1", "x2", "x3", "l1", "l2", "z1", "z2", "z3", "b1", "b2", "p1", "p2", "g1", "g2", "k1", "k2", "gone", "",
	"k\x00\xff\r\n", "{a}b",
}

var edges = []string{
	"0", "1", "-1", "2", "-2", "3", "5", "10", "-10", "100", "127", "128", "255", "256", "-128", "-129", "32767",
	"32768", "65535", "65536", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
	"9007199254740993", "9223372036854775806", "9223372036854775807", "-9223372036854775807",
	"-9223372036854775808", "9223372036854775808", "-9223372036854775809", "18446744073709551615",
	"18446744073709551616", "99999999999999999999999999",
}

var noIntegers = []string{
	"", " ", "a", "+1", "01", "-0", "00", "1 ", " 1", "1.0", "1e3", "0x10", "nan", "inf", "--1", "-", "1\x00", "१",
}

var floats = []string{
	"0", "-0", "0.1", "1.5", "-1.5", "3.14159265358979323846", "1e3", "1E-5", "5e-324", "1.7976931348623157e308",
	"1e4932", "-1e308", "0x1p-3", "1e400", "inf", "-inf", "+Inf", "infinity", "nan", "-nan", "10.50", "200", ".5", "5.",
	"1e", "0.1e-10", "99999999999999999", "123456789.123456789", "1_000", "٣", "",
}

var patterns = []string{
	"*", "**", "", "?", "??", "h*", "*1", "[a-z]1", "[^h]*", "[z-a]*", "[", "[]", "[^]*", "\\*", "k?*", "\\", "*\x00*", "[\\-a]*",
	"no match", "S1", "m[0-9]", "f*",
}

func (p *pool) pick(list []string) string { return list[p.rand.IntN(len(list))] }

func (p *pool) chance(percent int) bool { return p.rand.IntN(100) < percent }

// key returns a key that its family usually uses, or any other.
func (p *pool) key(group commands.Group) string {
	if home := homes[group]; home != nil && p.chance(80) {
		return p.pick(home)
	}
	return p.pick(allKeys)
}

func (p *pool) integer() string {
	switch n := p.rand.IntN(100); {
	case n < 60:
		return strconv.Itoa(p.rand.IntN(41) - 20)
	case n < 90:
		return p.pick(edges)
	default:
		return p.pick(noIntegers)
	}
}

func (p *pool) double() string {
	if p.chance(70) {
		return p.pick(floats)
	}
	return p.integer()
}

// number returns a value for a field or key that is used as a counter.
func (p *pool) number() string {
	if p.chance(50) {
		return p.integer()
	}
	return p.double()
}

// bitType returns a type of BITFIELD, or an invalid one.
func (p *pool) bitType() string {
	if p.chance(10) {
		return p.pick([]string{"u64", "i65", "u0", "8", "x8", "", "U8", "i", "u8 "})
	}
	return p.pick([]string{"i", "u"}) + strconv.Itoa(1+p.rand.IntN(63))
}

// bitOffset returns the number of a bit, usually in the first few bytes, or of a field.
func (p *pool) bitOffset() string {
	switch n := p.rand.IntN(100); {
	case n < 70:
		return strconv.Itoa(p.rand.IntN(200))
	case n < 85:
		return "#" + strconv.Itoa(p.rand.IntN(20))
	default:
		return p.integer()
	}
}

func (p *pool) value() string {
	switch n := p.rand.IntN(100); {
	case n < 35:
		return p.number()
	case n < 50:
		return p.pick([]string{"", "a", "hello", "\x00\x01\xff", "a\r\nb", "with space", "é", "NULL"})
	case n < 60: // near the sizes at which a value changes its encoding
		return strings.Repeat("x", 43+p.rand.IntN(4))
	case n < 70:
		return strings.Repeat("y", 62+p.rand.IntN(5))
	case n < 73:
		return strings.Repeat("long ", p.rand.IntN(1000))
	default:
		p.unique++
		return "v" + strconv.FormatInt(p.unique, 10)
	}
}

// member returns a member of a set or a field of a hash.
func (p *pool) member() string {
	switch n := p.rand.IntN(100); {
	case n < 50:
		return "m" + strconv.Itoa(p.rand.IntN(12))
	case n < 80:
		return strconv.Itoa(p.rand.IntN(20) - 5)
	case n < 95:
		return p.number()
	default:
		return p.value()
	}
}

// degreesOrSize returns a longitude, a latitude, or the size of an area.
func (p *pool) degreesOrSize(name string) string {
	most := map[string]float64{"longitude": 180, "latitude": 85.05112878}[name]
	switch n := p.rand.IntN(100); {
	case n < 8:
		return p.double()
	case most == 0:
		return p.pick([]string{"0", "1", "20", "300.5", "4000", "50000", "1e6", "2e7", "-1"})
	case n < 15:
		return fmt.Sprint(p.pick([]string{"", "-"}), most)
	case n < 60: // many are near each other, and some at the same place
		return strconv.Itoa(p.rand.IntN(7) - 3)
	default:
		return fmt.Sprint((p.rand.Float64()*2 - 1) * most)
	}
}

// scoreBound returns an end of an interval of scores.
func (p *pool) scoreBound() string {
	switch n := p.rand.IntN(100); {
	case n < 30:
		return p.number()
	case n < 50:
		return "(" + p.number()
	case n < 70:
		return strconv.Itoa(p.rand.IntN(41) - 20)
	case n < 95:
		return p.pick([]string{"-inf", "+inf", "inf", "(-inf", "(inf"})
	default:
		return p.pick([]string{"", "(", "((1", " 1", "( 1", "1 ", "[1", "0x", "1e400", "1e-400", "nan", "1\x00x", "-"})
	}
}

// lexBound returns an end of an interval of members.
func (p *pool) lexBound() string {
	switch n := p.rand.IntN(100); {
	case n < 35:
		return "[" + p.member()
	case n < 60:
		return "(" + p.member()
	case n < 95:
		return p.pick([]string{"-", "+"})
	default:
		return p.pick([]string{"", "a", "++", "-x", "[", "(", "+\x00x", "{a"})
	}
}

// timeToLive returns a time to live that does not end during the test, an edge case, or an invalid word.
func (p *pool) timeToLive(perSecond int64) string {
	if p.chance(60) {
		return strconv.FormatInt((1000+p.rand.Int64N(100_000))*perSecond, 10)
	}
	return p.integer()
}

// moment returns a time since 1970, in the given unit.
func (p *pool) moment(perSecond int64) string {
	switch n := p.rand.IntN(100); {
	case n < 60:
		return strconv.FormatInt((time.Now().Unix()+1000+p.rand.Int64N(100_000))*perSecond, 10)
	case n < 75:
		return strconv.FormatInt((time.Now().Unix()-1000)*perSecond, 10)
	default:
		return p.integer()
	}
}

// entryID returns the id of a new entry of a stream; most of them rise.
func (p *pool) entryID() string {
	switch n := p.rand.IntN(100); {
	case n < 60:
		p.nextMS += p.rand.Int64N(3)
		return fmt.Sprintf("%d-%d", p.nextMS, p.rand.IntN(3))
	case n < 75:
		p.nextMS++
		return strconv.FormatInt(p.nextMS, 10)
	case n < 85:
		return fmt.Sprintf("%d-*", p.nextMS+p.rand.Int64N(2))
	default:
		return p.streamID()
	}
}

// streamID returns an id that may be in a stream, an end of an interval, or an invalid word.
func (p *pool) streamID() string {
	switch n := p.rand.IntN(100); {
	case n < 55:
		return fmt.Sprintf("%d-%d", max(0, p.nextMS-p.rand.Int64N(30)), p.rand.IntN(3))
	case n < 65:
		return strconv.FormatInt(max(0, p.nextMS-p.rand.Int64N(30)), 10)
	case n < 75:
		return p.pick([]string{"-", "+", "$", "0", "0-0", "0-1"})
	case n < 82:
		return "(" + fmt.Sprintf("%d-%d", max(0, p.nextMS-p.rand.Int64N(30)), p.rand.IntN(3))
	default:
		return p.pick([]string{
			"", "abc", "1-", "-1", "1-1-1", "1--1", "(", "(-", "(+", "0-18446744073709551615", "(18446744073709551615-18446744073709551615",
			"18446744073709551615", "1-18446744073709551616", "18446744073709551616-1", "(0-0", ">", " 1-1", "1-1 ", "01-01",
		})
	}
}

// garbage returns unexpected words.
func (p *pool) garbage() string {
	switch p.rand.IntN(6) {
	case 0:
		return p.pick(noIntegers)
	case 1:
		return p.integer()
	case 2:
		return p.value()
	case 3:
		return p.streamID()
	case 4:
		return p.pick(allKeys)
	default:
		return p.pick([]string{"NX", "XX", "GT", "COUNT", "MATCH", "EX", "LIMIT", "REPLACE", "DB", "GET", "KEEPTTL", "=", "~", "MAXLEN", "WITHVALUES", "WITHSCORES", "BYLEX", "INCR", "LEFT", "RANK"})
	}
}
