package commands

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A user that asks faster than the rate gets 6, and nothing else changes. Each answer of 0, 1 or 2 counts; a
// retry and an answer of 6 do not.
func TestSaleWithRate(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.CREATE v STOCK 9 LIMIT 2 RATE 2 1000 BURST 2", `+OK`},
		[2]string{"SECKILL v ann o1", `0`},
		[2]string{"SECKILL v ann o1", `0`}, // a retry
		[2]string{"SECKILL v ann o2", `0`},
		[2]string{"SECKILL v ann o3", `6`},
		[2]string{"SECKILL v ben o4", `0`}, // another user has a limiter of its own
		[2]string{"499 SECKILL v ann o3", `6`},
		[2]string{"1 SECKILL v ann o3", `2`},
		[2]string{"SECKILL v ann o3", `6`},
		[2]string{"SECKILL v ann o1", `0`},
		[2]string{"HGETALL seckill:rates:v", `["ben" "1700000000500000000" "ann" "1700000001500000000"]`},
		[2]string{"SECKILL.INFO v", `["state" "open" "stock" 6 "total" 9 "sold" 3 "held" 0 "confirmed" 0 "buyers" 2 "start" 0 "end" 0 "limit" 2 "hold" 0 ` +
			`"rate" 2 "rate-period" 1000 "burst" 2 "rate-all" 0 "stream" "stream.orders" "stream-length" 3 "groups" []]`},
	)
	f.effects()
	f.advance(1000)
	require.Equal(t, []string{"0 HDEL seckill:rates:v ben"}, f.effects())
	f.advance(1) // the limiter is full: no trace is left
	require.Equal(t, []string{"0 DEL seckill:rates:v"}, f.effects())
	require.Equal(t, "0", f.do("SECKILL", "v", "eve", "o5").String())
	require.Equal(t, []string{"0 HSET seckill:rates:v eve 1700000002001000000", "0 HPEXPIREAT seckill:rates:v 1700000002001 FIELDS 1 eve"}, f.effects()[5:])
	require.Equal(t, "0", f.do("SECKILL", "v", "eve", "o6").String())
	f.effects()
	require.Equal(t, "6", f.do("SECKILL", "v", "eve", "o7").String())
	require.Empty(t, f.effects())
}

func TestSaleWithOneRateForAll(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.CREATE v STOCK 9 RATE-ALL RATE 10 1000", `+OK`},
		[2]string{"SECKILL v ann o1", `0`},
		[2]string{"SECKILL v ben o2", `6`},
		[2]string{"100 SECKILL v ben o2", `0`},
		[2]string{"HKEYS seckill:rates:v", `["*"]`},
		[2]string{"SECKILL.CREATE v STOCK 1 REPLACE", `+OK`}, // and the rate is gone
		[2]string{"EXISTS seckill:rates:v", `0`},
		[2]string{"HEXISTS seckill:sale:v rate", `0`},
		[2]string{"SECKILL v ann o1", `0`},
		[2]string{"SECKILL v ben o2", `1`},
	)
}

// A rate that is raised while the sale runs holds at once for users that have used theirs up.
func TestSaleRateIsRaised(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.CREATE v STOCK 9 LIMIT 9 RATE 1 86400000", `+OK`},
		[2]string{"SECKILL v ann o1", `0`},
		[2]string{"SECKILL v ann o2", `6`},
		[2]string{"HSET seckill:sale:v period 1000", `0`},
		[2]string{"SECKILL v ann o2", `6`},
		[2]string{"HGETALL seckill:rates:v", `["ann" "1700000001000000000"]`},
		[2]string{"999 SECKILL v ann o2", `6`},
		[2]string{"1 SECKILL v ann o2", `0`},
	)
}

// An order that is refused for another reason does not count for the rate: the sale is not open, or sold
// out.
func TestSaleCountsOnlyWhatIsForSale(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.CREATE v STOCK 1 START 1700000000100 END 1700000000200 RATE 1 1000", `+OK`},
		[2]string{"SECKILL v ann o1", `3`},
		[2]string{"EXISTS seckill:rates:v", `0`},
		[2]string{"100 SECKILL v ann o1 QTY 2", `-ERR seckill QTY is above the limit of 1 per user`},
		[2]string{"SECKILL v ann o1", `0`},
		[2]string{"SECKILL v ann o2", `1`},
		[2]string{"SECKILL v ben o3", `1`},
		[2]string{"HKEYS seckill:rates:v", `["ann"]`},
		[2]string{"SECKILL.RESTOCK v 1", `1`},
		[2]string{"SECKILL v ann o2", `6`},
		[2]string{"100 SECKILL v ann o2", `4`},
	)
}

func TestSaleRefusesBadRates(t *testing.T) {
	f := newSaleFixture(t)
	for words, reply := range map[string]Error{
		"RATE 0 1": ErrSaleRate, "RATE 1 0": ErrSaleRate, "RATE 1": ErrSyntax, "RATE x 1": ErrSaleRate, "RATE 1 -1": ErrSaleRate,
		"BURST 1": ErrSyntax, "RATE-ALL": ErrSyntax, "RATE 1 1 BURST 0": ErrSaleBurst, "RATE 1 1 BURST x": ErrSaleBurst, "RATE 1 1 RATE 1 1": ErrSyntax,
		"RATE 1 9223372036854775807": ErrLimitLong, "RATE 1 1000 BURST 9223372036854775807": ErrLimitLong,
	} {
		call := append([]string{"SECKILL.CREATE", "v", "STOCK", "1"}, strings.Fields(words)...)
		require.Equal(t, "-"+string(reply), f.do(call...).String(), words)
		require.Empty(t, f.effects(), words)
	}
	f.play(
		[2]string{"SECKILL.CREATE v STOCK 5 RATE 1 1000", `+OK`},
		[2]string{"HSET seckill:rates:v ann x", `1`},
		[2]string{"SECKILL v ann o1", `-` + string(ErrLimitState)},
		[2]string{"DEL seckill:rates:v", `1`},
		[2]string{"SET seckill:rates:v x", `+OK`},
		[2]string{"SECKILL v ann o1", `-` + string(ErrWrongType)},
		[2]string{"DEL seckill:rates:v", `1`},
		[2]string{"SET stream.orders x", `+OK`}, // an order that cannot be sold is not counted
		[2]string{"SECKILL v ann o1", `-` + string(ErrWrongType)},
		[2]string{"EXISTS seckill:rates:v", `0`},
		[2]string{"HSET seckill:sale:v period 9223372036854775807", `0`},
		[2]string{"DEL stream.orders", `1`},
		[2]string{"SECKILL v ann o1", `-ERR seckill sale has an invalid field 'rate'`},
		[2]string{"HSET seckill:sale:v period 1 rate-all x", `1`},
		[2]string{"SECKILL v ann o1", `-ERR seckill sale has an invalid field 'rate-all'`},
	)
}
