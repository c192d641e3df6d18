//go:build oracle

package commands

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// classicSale is the usual script of applications on Redis: ARGV are voucher, user and order.
const classicSale = `
local stockKey = 'seckill:stock:' .. ARGV[1]
local orderKey = 'seckill:order:' .. ARGV[1]
if (tonumber(redis.call('get', stockKey)) <= 0) then
  return 1
end
if (redis.call('sismember', orderKey, ARGV[2]) == 1) then
  return 2
end
redis.call('incrby', stockKey, -1)
redis.call('sadd', orderKey, ARGV[2])
redis.call('xadd', 'stream.orders', '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id', ARGV[3])
return 0`

// saleWord is a name of a user or an order; now and then a strange one.
func saleWord(r *rand.Rand) string {
	if r.IntN(20) == 0 {
		return []string{" ", "a\x00b", "\r\n", strings.Repeat("x", 100), "\xff", "-1"}[r.IntN(6)]
	}
	return "u" + strconv.Itoa(r.IntN(30))
}

// saleStep is a command, and whether it is a sale, which Redis does by the script.
func saleStep(r *rand.Rand) (args []string, sale bool) {
	voucher := "v" + strconv.Itoa(r.IntN(3))
	stock, buyers := "seckill:stock:"+voucher, "seckill:order:"+voucher
	switch r.IntN(40) {
	case 0:
		return []string{"SET", stock, []string{"abc", "", "-3", "0", "x1"}[r.IntN(5)]}, false
	case 1, 2:
		return []string{"SET", stock, strconv.Itoa(r.IntN(30))}, false
	case 3:
		return []string{"DEL", stock}, false
	case 4:
		return []string{"DEL", buyers}, false
	case 5:
		return []string{"SADD", buyers, saleWord(r)}, false
	case 6:
		return []string{"SREM", buyers, saleWord(r)}, false
	case 7:
		return []string{"INCRBY", stock, strconv.Itoa(r.IntN(10) - 3)}, false
	case 8:
		return []string{"EXPIRE", []string{stock, buyers, "stream.orders"}[r.IntN(3)], "100000"}, false
	case 9:
		if r.IntN(3) == 0 {
			return []string{"LPUSH", []string{stock, buyers}[r.IntN(2)], "x"}, false
		}
		return []string{"DEL", "stream.orders"}, false
	}
	return []string{"SECKILL", voucher, saleWord(r), saleWord(r)}, true
}

// saleState is everything that a sale can have left, without times.
func saleState(do func(args ...string) resp.Value) string {
	var b strings.Builder
	for _, v := range []string{"v0", "v1", "v2"} {
		for _, key := range []string{"seckill:stock:" + v, "seckill:order:" + v} {
			b.WriteString(key + " " + do("TYPE", key).Str + " ")
			b.WriteString(do("OBJECT", "ENCODING", key).String() + " ")
			b.WriteString(strconv.FormatBool(do("TTL", key).Int > 0) + " ")
			b.WriteString(do("GET", key).String() + " " + do("LRANGE", key, "0", "-1").String() + " " + do("SORT", key, "ALPHA").String() + "\n")
		}
	}
	b.WriteString(do("TYPE", "stream.orders").Str + strconv.FormatBool(do("TTL", "stream.orders").Int > 0) + "\n")
	if orders := do("XRANGE", "stream.orders", "-", "+"); !orders.IsError() {
		for _, e := range orders.Elems {
			b.WriteString(e.Elems[1].String() + "\n")
		}
	}
	return b.String() + do("DBSIZE").String()
}

// On bare keys SECKILL leaves exactly what the script leaves on Redis, reply for reply. Where the script
// fails, so does SECKILL, in words of its own.
func TestBareSaleAgainstScript(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	redis := startOracle(t)
	f := newFixture(t, SaleRows, KeyspaceRows, StringRows, KeyRows, SetRows, ListRows, StreamRows, SortRows)
	sold := 0
	for step := range 20_000 {
		args, sale := saleStep(r)
		ours, theirs := f.do(args...), resp.Value{}
		if sale {
			theirs = redis.do(append([]string{"EVAL", classicSale, "0"}, args[1:]...)...)
			if theirs.Kind == resp.Integer && theirs.Int == 0 {
				sold++
			}
		} else {
			theirs = redis.do(args...)
		}
		if theirs.IsError() {
			require.True(t, ours.IsError(), "step %d: %q: %s, the script: %s", step, args, ours, theirs)
		} else {
			require.Equal(t, theirs.String(), ours.String(), "step %d: %q", step, args)
		}
		if step%200 == 0 {
			require.Equal(t, saleState(redis.do), saleState(f.do), "step %d", step)
		}
	}
	require.Equal(t, saleState(redis.do), saleState(f.do))
	require.Greater(t, sold, 500)
}

// D80: where the stream holds something else the script has already sold when it
// fails; SECKILL sells nothing.
func TestBareSaleIsAllOrNothing(t *testing.T) {
	redis := startOracle(t)
	f := newSaleFixture(t)
	for _, do := range []func(args ...string) resp.Value{redis.do, f.do} {
		do("SET", "seckill:stock:v", "5")
		do("SET", "stream.orders", "x")
	}
	require.True(t, redis.do("EVAL", classicSale, "0", "v", "u", "o").IsError())
	require.Equal(t, `"4"`, redis.do("GET", "seckill:stock:v").String())
	f.want("-"+string(ErrWrongType), "SECKILL", "v", "u", "o")
	f.want(`"5"`, "GET", "seckill:stock:v")
	// A stock that Lua takes for a number and INCRBY does not: the script refuses some with a
	// reply and some with an error.
	for _, stock := range []string{"0.5", " 0", "007", "1e2", "99999999999999999999"} {
		redis.do("SET", "seckill:stock:v", stock)
		f.do("SET", "seckill:stock:v", stock)
		theirs := redis.do("EVAL", classicSale, "0", "v", "w", "o")
		require.True(t, theirs.IsError() || theirs.Int == 1, "%s: %s", stock, theirs)
		f.want("-"+string(ErrStock), "SECKILL", "v", "w", "o")
	}
}
