package commands

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

type callGenerator struct{ *rand.Rand }

func (g callGenerator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g callGenerator) key() string { return g.pick("a", "a", "a", "b", "b", "c", "h") }

func (g callGenerator) value() string {
	return g.pick("", "x", "abc", "1", "10", "-5", "3.5", " 1", "9223372036854775807", "-9223372036854775808",
		"a\r\nb\x00")
}

func (g callGenerator) number() string {
	return g.pick("0", "1", "-1", "5", "-5", "100", "9223372036854775807", "-9223372036854775808", "x", "1.5", "")
}

// timeMS returns a deadline that is long past or far away, so that the speed of the test does not matter.
func (g callGenerator) timeMS() string {
	return g.pick("1", "-1", "0", "4102444800000", "4102444800001", "4102444900000", "9223372036854775807", "x")
}

// options appends some words of an option list, in any order.
func (g callGenerator) options(call []string, words ...string) []string {
	for range g.IntN(4) {
		w := g.pick(words...)
		call = append(call, w)
		if (w == "PXAT" || w == "EXAT") && g.IntN(8) > 0 {
			call = append(call, g.timeMS())
		}
		if w == "DB" && g.IntN(8) > 0 {
			call = append(call, g.pick("0", "1", "16", "-1", "x"))
		}
	}
	return call
}

func (g callGenerator) call() []string {
	key := g.key()
	switch g.IntN(24) {
	case 0, 1, 2:
		return g.options([]string{"SET", key, g.value()}, "NX", "XX", "GET", "KEEPTTL", "PXAT", "EXAT", "FOO")
	case 3:
		return g.options([]string{"GETEX", key}, "PERSIST", "PXAT", "EXAT", "FOO")
	case 4:
		return []string{g.pick("GET", "STRLEN", "GETDEL", "INCR", "DECR"), key}
	case 5:
		return []string{g.pick("INCRBY", "DECRBY"), key, g.number()}
	case 6:
		return []string{"INCRBYFLOAT", key, g.pick("1", "-0.5", "1e3", "x", "inf", "0.1")}
	case 7:
		return []string{g.pick("APPEND", "GETSET", "SETNX"), key, g.value()}
	case 8:
		return []string{"SETRANGE", key, g.pick("0", "1", "5", "12", "-1", "x", "536870912"), g.value()}
	case 9:
		return []string{g.pick("GETRANGE", "SUBSTR"), key, g.number(), g.number()}
	case 10:
		return []string{g.pick("MSET", "MSETNX"), key, g.value(), g.key(), g.value()}
	case 11:
		return []string{"MGET", key, g.key(), "none"}
	case 12:
		return []string{g.pick("DEL", "UNLINK", "EXISTS", "TOUCH"), key, g.key()}
	case 13, 14:
		return g.options([]string{"PEXPIREAT", key, g.timeMS()}, "NX", "XX", "GT", "LT", "FOO")
	case 15:
		return []string{g.pick("PERSIST", "TYPE", "PEXPIRETIME", "EXPIRETIME"), key}
	case 16:
		return []string{g.pick("RENAME", "RENAMENX"), key, g.key()}
	case 17, 18:
		return g.options([]string{"COPY", key, g.key()}, "REPLACE", "DB", "FOO")
	case 19:
		return []string{"MOVE", key, g.pick("0", "1", "1", "1", "16", "x")}
	case 20:
		return []string{"SWAPDB", g.pick("0", "1", "x"), g.pick("0", "1", "2", "99")}
	case 21:
		return g.options([]string{"LCS", key, g.key()}, "LEN", "IDX", "WITHMATCHLEN", "FOO")
	case 22:
		return []string{"EXISTS", "a", "b", "c", "h"}
	default:
		if g.IntN(10) == 0 {
			return []string{g.pick("FLUSHDB", "FLUSHALL"), g.pick("ASYNC", "SYNC", "FOO")}
		}
		return []string{"HSET", "h", "f", "v"}
	}
}

// TestRandomEffectsReplay: after random commands, and with keys that expire meanwhile, the effects give the
// same data in an empty store.
func TestRandomEffectsReplay(t *testing.T) {
	seed := testkit.Seed(t)
	g := callGenerator{rand.New(rand.NewPCG(seed, 0))}
	f, copied := newFixture(t, StringRows, KeyRows, KeyspaceRows), newFixture(t, StringRows, KeyRows, KeyspaceRows)
	copied.store.SetFrozenTime(true)
	for range 5000 {
		switch g.IntN(10) {
		case 0:
			f.do("PEXPIRE", g.key(), g.pick("1", "2", "5"))
		case 1:
			f.advance(int64(g.IntN(3)))
		case 2: // overdue keys stay until they are looked up
			f.nowMS += int64(g.IntN(3))
			f.store.SetNow(f.nowMS * 1000)
		default:
			f.do(g.call()...)
		}
		for _, e := range f.store.TakeEffects() {
			copied.client(1).db = copied.store.DB(e.DB)
			v := copied.client(1).run(e.Args)
			require.False(t, v.IsError(), "%q: %s", e.Args, v)
		}
	}
	f.advance(0)
	for _, e := range f.store.TakeEffects() {
		copied.client(1).db = copied.store.DB(e.DB)
		copied.client(1).run(e.Args)
	}
	for id := range f.store.Len() {
		f.client(1).db, copied.client(1).db = f.store.DB(id), copied.store.DB(id)
		require.Equal(t, f.do("DBSIZE"), copied.do("DBSIZE"), "database %d", id)
		for _, key := range []string{"a", "b", "c", "h"} {
			for _, ask := range []string{"TYPE", "GET", "PEXPIRETIME"} {
				require.Equal(t, f.do(ask, key).String(), copied.do(ask, key).String(), "%s %s in %d", ask, key, id)
			}
		}
	}
}
