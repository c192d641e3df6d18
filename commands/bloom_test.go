package commands

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func bloomFixture(t *testing.T) *fixture { return newFixture(t, BloomRows, KeyRows, StringRows) }

// TestBloomReplies: replies and texts are those of the documentation and the sources of RedisBloom, except
// for D61. Redis 7.4 does not have these commands.
func TestBloomReplies(t *testing.T) {
	f := bloomFixture(t)
	f.do("SET", "text", "x")
	for _, c := range []struct{ call, reply string }{
		{"BF.EXISTS f a", "0"},
		{"BF.MEXISTS f a b", "[0 0]"},
		{"BF.CARD f", "0"},
		{"BF.INFO f", "-ERR not found"},
		{"BF.SCANDUMP f 0", "-ERR not found"},
		{"BF.INSERT f NOCREATE ITEMS a", "-ERR not found"},
		{"BF.LOADCHUNK f 2 x", "-ERR not found"},
		{"BF.ADD f a", "1"},
		{"BF.ADD f a", "0"},
		{"BF.MADD f a b c b", "[0 1 1 0]"},
		{"BF.EXISTS f a", "1"},
		{"BF.MEXISTS f a x c", "[1 0 1]"},
		{"BF.CARD f", "3"},
		{"TYPE f", "+MBbloom--"},
		{"OBJECT ENCODING f", `"raw"`},
		{"BF.INFO f", "[+Capacity 100 +Size 240 +Number of filters 1 +Number of items inserted 3 +Expansion rate 2]"},
		{"BF.INFO f capacity", "[100]"},
		{"BF.INFO f SIZE", "[240]"},
		{"BF.INFO f FILTERS", "[1]"},
		{"BF.INFO f ITEMS", "[3]"},
		{"BF.INFO f EXPANSION", "[2]"},
		{"BF.INFO f x", "-Invalid information value"},
		{"BF.INFO f ITEMS ITEMS", "-ERR wrong number of arguments for 'bf.info' command"},
		{"BF.RESERVE f 0.1 10", "-ERR item exists"},
		{"GET f", "-" + string(ErrWrongType)},

		{"BF.RESERVE r 0.01 2 NONSCALING", "+OK"},
		{"BF.MADD r a b c d", "[1 1 -ERR non scaling filter is full]"},
		{"BF.ADD r c", "-ERR non scaling filter is full"},
		{"BF.INSERT r ITEMS a c b", "[0 -ERR non scaling filter is full]"},
		{"BF.INFO r EXPANSION", "[$nil]"},
		{"BF.RESERVE none 0.01 2 EXPANSION 0", "+OK"},
		{"BF.INFO none EXPANSION", "[$nil]"},
		{"BF.RESERVE grows 0.01 2 expansion 3", "+OK"},
		{"BF.MADD grows a b c", "[1 1 1]"},
		{"BF.INFO grows CAPACITY", "[8]"},
		{"BF.INSERT made CAPACITY 7 ERROR 0.5 EXPANSION 4 ITEMS a b", "[1 1]"},
		{"BF.INFO made CAPACITY", "[7]"},
		{"BF.INSERT once NONSCALING CAPACITY 1 ITEMS a", "[1]"},
		{"BF.INFO once EXPANSION", "[$nil]"},

		{"BF.RESERVE e x 2", "-ERR bad error rate"},
		{"BF.RESERVE e 1 2", "-ERR (0 < error rate range < 1) "},
		{"BF.RESERVE e 0 2", "-ERR (0 < error rate range < 1) "},
		{"BF.RESERVE e 0.1 x", "-ERR bad capacity"},
		{"BF.RESERVE e 0.1 0", "-ERR (capacity should be larger than 0)"},
		{"BF.RESERVE e 0.1 9 EXPANSION", "-ERR no expansion"},
		{"BF.RESERVE e 0.1 9 EXPANSION x", "-ERR bad expansion"},
		{"BF.RESERVE e 0.1 9 EXPANSION -1", "-ERR bad expansion"},
		{"BF.RESERVE e 0.1 9 EXPANSION 2 NONSCALING", "-Nonscaling filters cannot expand"},
		{"BF.RESERVE e 0.1 9 EXPANSION 2 NONSCALING x", "-ERR wrong number of arguments for 'bf.reserve' command"},
		{"BF.RESERVE e 0.1 9 x", "-ERR syntax error"},
		{"BF.RESERVE e 0.1 9223372036854775807", "-ERR could not create filter"},
		{"BF.INSERT e CAPACITY x ITEMS a", "-Bad capacity"},
		{"BF.INSERT e ERROR x ITEMS a", "-Bad error rate"},
		{"BF.INSERT e EXPANSION x ITEMS a", "-Bad expansion"},
		{"BF.INSERT e WHAT ITEMS a", "-Unknown argument received"},
		{"BF.INSERT e CAPACITY 0 ITEMS a", "-Bad argument received"},
		{"BF.INSERT e ERROR 1 ITEMS a", "-Bad argument received"},
		{"BF.INSERT e CAPACITY 5 ITEMS", "-ERR wrong number of arguments for 'bf.insert' command"},
		{"BF.INSERT e NOCREATE CAPACITY", "-ERR wrong number of arguments for 'bf.insert' command"},
		{"EXISTS e", "0"},

		{"BF.ADD text a", "-" + string(ErrWrongType)},
		{"BF.RESERVE text 0.1 9", "-" + string(ErrWrongType)},
		{"BF.CARD text", "-" + string(ErrWrongType)},
		{"BF.INFO text", "-" + string(ErrWrongType)},
		{"BF.LOADCHUNK text 1 x", "-" + string(ErrWrongType)},
		{"BF.EXISTS text a", "0"},
		{"BF.SCANDUMP f x", "-Second argument must be numeric"},
		{"BF.SCANDUMP f 145", `[0 ""]`},
		{"BF.LOADCHUNK f x y", "-ERR Second argument must be numeric"},
		{"BF.LOADCHUNK new 1 x", "-ERR received bad data"},
		{"BF.LOADCHUNK f 1 xx", "-ERR received bad data"},
		{"BF.LOADCHUNK f 999 x", "-ERR invalid offset - no link found"},
		{"BF.LOADCHUNK f 148 abcde", "-ERR invalid chunk - Too big for current filter"},
	} {
		require.Equal(t, c.reply, f.do(strings.Fields(c.call)...).String(), c.call)
	}
}

// TestBloomRESP3: in RESP3 replies have booleans and maps.
func TestBloomRESP3(t *testing.T) {
	f := bloomFixture(t)
	f.client(1).proto = 3
	for _, c := range []struct{ call, reply string }{
		{"BF.ADD f a", "#t"},
		{"BF.MADD f a b", "[#f #t]"},
		{"BF.EXISTS f a", "#t"},
		{"BF.MEXISTS f a x", "[#t #f]"},
		{"BF.INSERT f ITEMS a c", "[#f #t]"},
		{"BF.CARD f", "3"},
		{"BF.INFO f ITEMS", "[3]"},
		{"BF.INFO f", "{+Capacity:100 +Size:240 +Number of filters:1 +Number of items inserted:3 +Expansion rate:2}"},
	} {
		require.Equal(t, c.reply, f.do(strings.Fields(c.call)...).String(), c.call)
	}
}

// dumpOf returns all data of a filter.
func dumpOf(f *fixture, key string) string {
	var b strings.Builder
	for next := "0"; ; {
		v := f.do("BF.SCANDUMP", key, next)
		if v.IsError() {
			return v.String()
		}
		b.WriteString(v.Elems[1].Str)
		if next = strconv.FormatInt(v.Elems[0].Int, 10); next == "0" {
			return b.String()
		}
	}
}

// TestBloomReplay: the effects of random calls give exactly the same filters.
func TestBloomReplay(t *testing.T) {
	seed := testkit.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	f, g := bloomFixture(t), bloomFixture(t)
	keys := []string{"a", "b", "c"}
	grown := false
	for range testkit.Steps(400, 3000) {
		key, other := keys[rnd.IntN(3)], keys[rnd.IntN(3)]
		item := func() string { return strconv.Itoa(rnd.IntN(1000)) }
		var call []string
		switch rnd.IntN(16) {
		case 0:
			call = []string{"BF.RESERVE", key, "0.0" + strconv.Itoa(1+rnd.IntN(9)), strconv.Itoa(1 + rnd.IntN(50)), "EXPANSION", strconv.Itoa(rnd.IntN(4))}
		case 1:
			call = []string{"BF.INSERT", key, "CAPACITY", "20", "NONSCALING", "ITEMS", item(), item()}
		case 2:
			if rnd.IntN(8) == 0 {
				call = []string{"DEL", key}
				break
			}
			call = []string{"COPY", key, other}
		case 3:
			call = []string{"RENAME", key, other}
		case 4:
			chunk := f.do("BF.SCANDUMP", other, strconv.Itoa(rnd.IntN(2)))
			if chunk.IsError() {
				continue
			}
			call = []string{"BF.LOADCHUNK", key, strconv.FormatInt(chunk.Elems[0].Int, 10), chunk.Elems[1].Str}
		case 5, 6, 7:
			call = []string{"BF.ADD", key, item()}
		default:
			call = []string{"BF.MADD", key, item(), item(), item(), item()}
		}
		f.do(call...)
		f.replayInto(g)
		for _, key := range keys {
			require.Equal(t, dumpOf(f, key), dumpOf(g, key), "%q", call)
		}
		grown = grown || f.do("BF.INFO", key, "FILTERS").String() > "[1]"
	}
	require.True(t, grown)
}
