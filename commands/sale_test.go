package commands

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyevent"
	"lockserver/internal/resp"
	"lockserver/store"
)

func newSaleFixture(t testing.TB) *fixture {
	return newFixture(t, SaleRows, KeyspaceRows, StringRows, KeyRows, HashRows, SetRows, ZSetRows, StreamRows, ListRows)
}

// pass moves the clock and ends the holds that end meanwhile, each at its time.
func (f *fixture) pass(ms int64) {
	f.t.Helper()
	c := &Ctx{Table: f.table, DB: f.store.DB(0), Rand: f.rand, Host: f, Settings: &f.settings}
	for end := f.nowMS + ms; ; {
		next := end
		if at, ok := f.store.NextAlarmMS(store.HoldAlarm); ok {
			next = min(next, max(at, f.nowMS))
		}
		f.nowMS = next
		f.store.SetNow(next * 1000)
		for EndHolds(c, f.store, 3) {
		}
		if at, ok := f.store.NextAlarmMS(store.HoldAlarm); f.nowMS == end && (!ok || at > end) {
			break
		}
	}
	f.serveWaiters()
}

// play runs lines of "command -> reply". A number before the command is a pause in milliseconds.
func (f *fixture) play(lines ...[2]string) {
	f.t.Helper()
	for _, line := range lines {
		args := splitWords(f.t, line[0])
		if ms, err := strconv.ParseInt(args[0], 10, 64); err == nil {
			f.pass(ms)
			args = args[1:]
		}
		require.Equal(f.t, line[1], f.do(args...).String(), line[0])
	}
}

// splitWords cuts a line as redis-cli does.
func splitWords(t testing.TB, line string) (list []string) {
	t.Helper()
	split, ok := resp.SplitWords(nil, []byte(line))
	require.True(t, ok, line)
	for _, w := range split {
		list = append(list, string(w))
	}
	return list
}

// each runs commands that are separated by semicolons, and none may fail.
func (f *fixture) each(lines string) {
	f.t.Helper()
	for line := range strings.SplitSeq(lines, ";") {
		require.False(f.t, f.do(splitWords(f.t, line)...).IsError(), line)
	}
}

func TestSaleOnBareKeys(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL 10 ann o1", `-ERR no such seckill '10'`},
		[2]string{"SET seckill:stock:10 2", `+OK`},
		[2]string{"SECKILL 10 ann o1", `0`},
		[2]string{"SECKILL 10 ann o1", `2`}, // bare keys know no orders
		[2]string{"SECKILL 10 ben o2 QTY 1", `0`},
		[2]string{"SECKILL 10 eve o3", `1`},
		[2]string{"SECKILL 10 ann o4", `1`}, // the stock is looked at first
		[2]string{"SECKILL.CONFIRM 10 ann o1", `-ERR seckill '10' keeps no orders, it was not made with SECKILL.CREATE`},
		[2]string{"SECKILL.CANCEL 10 ann o1", `-ERR seckill '10' keeps no orders, it was not made with SECKILL.CREATE`},
		[2]string{"SECKILL.INFO 10", `["state" "soldout" "stock" 0 "total" 2 "sold" 2 "held" 0 "confirmed" 0 "buyers" 2 "start" 0 "end" 0 "limit" 1 "hold" 0 "stream" "stream.orders" "stream-length" 2 "groups" []]`},
		[2]string{"SECKILL.RESTOCK 10 1", `1`},
		[2]string{"SECKILL 10 eve o3 QTY 2", `-ERR seckill QTY is above the limit of 1 per user`},
		[2]string{"SECKILL 10 eve o3", `0`},
		[2]string{"EXISTS seckill:order:10 seckill:stock:10 stream.orders", `3`},
		[2]string{"DBSIZE", `3`},
	)
}

// All that a native command does is journaled as plain commands, in one unit.
func TestEffectsOfSales(t *testing.T) {
	f := newSaleFixture(t)
	do := func(line string, effects ...string) {
		t.Helper()
		f.do(splitWords(t, line)...)
		require.Equal(t, effects, f.effects(), line)
	}
	do("SET seckill:stock:1 2", "0 SET seckill:stock:1 2")
	do("SECKILL 1 ann o1", "0 SET seckill:stock:1 1 KEEPTTL", "0 SADD seckill:order:1 ann",
		"0 XADD stream.orders 1700000000000-0 userId ann voucherId 1 id o1")
	do("SECKILL 1 ann o1")
	do("SECKILL.CREATE 2 STOCK 9 LIMIT 3 HOLD 100 STREAM s", "0 SET seckill:stock:2 9 KEEPTTL",
		"0 HSET seckill:sale:2 stream s limit 3 hold 100 total 9 sold 0 held 0 confirmed 0")
	do("SECKILL 2 ann o1 QTY 2", "0 SET seckill:stock:2 7 KEEPTTL", "0 HSET seckill:pieces:2 ann 2", "0 SADD seckill:order:2 ann",
		"0 ZADD seckill:holds:2 1700000000100 o1", "0 HSET seckill:orders:2 o1 held 2 ann", "0 HSET seckill:sale:2 sold 2 held 2",
		"0 XADD s 1700000000000-0 userId ann voucherId 2 id o1 qty 2")
	do("SECKILL 2 ann o2", "0 SET seckill:stock:2 6 KEEPTTL", "0 HSET seckill:pieces:2 ann 3",
		"0 ZADD seckill:holds:2 1700000000100 o2", "0 HSET seckill:orders:2 o2 held 1 ann", "0 HSET seckill:sale:2 sold 3 held 3",
		"0 XADD s 1700000000000-1 userId ann voucherId 2 id o2 qty 1")
	do("SECKILL.CONFIRM 2 ann o2", "0 ZREM seckill:holds:2 o2", "0 HSET seckill:orders:2 o2 paid 1 ann",
		"0 HSET seckill:sale:2 held 2 confirmed 1")
	f.pass(99)
	require.Empty(t, f.effects())
	f.pass(1)
	require.Equal(t, []string{"0 SET seckill:stock:2 8 KEEPTTL", "0 DEL seckill:pieces:2", "0 DEL seckill:holds:2"}, f.effects()[:3])
	do("SECKILL.RESTOCK 2 -100", "0 SET seckill:stock:2 0 KEEPTTL", "0 HSET seckill:sale:2 total 1")
	do("SECKILL.RESTOCK 2 -100")
}

func TestCreatedSale(t *testing.T) {
	f := newSaleFixture(t)
	now := int64(startMS)
	f.play(
		[2]string{fmt.Sprintf("SECKILL.CREATE v STOCK 5 START %d END %d LIMIT 3", now+10, now+100), `+OK`},
		[2]string{"SECKILL v ann o1", `3`},
		[2]string{"9 SECKILL v ann o1", `3`},
		[2]string{"1 SECKILL v ann o1", `0`},
		[2]string{"SECKILL v ann o1", `0`}, // a retry
		[2]string{"SECKILL v ann o1 QTY 3", `0`},
		[2]string{"SECKILL v ann o1 QTY 4", `0`}, // the server knows the order, so QTY is not compared
		[2]string{"SECKILL v ben o1", `-ERR seckill order 'o1' belongs to another user`},
		[2]string{"SECKILL.CONFIRM v ben o1", `-ERR seckill order 'o1' belongs to another user`},
		[2]string{"SECKILL.CANCEL v ben o1", `-ERR seckill order 'o1' belongs to another user`},
		[2]string{"SECKILL v ann o2 QTY 3", `2`}, // four together
		[2]string{"SECKILL v ann o2 QTY 4", `-ERR seckill QTY is above the limit of 3 per user`},
		[2]string{"SECKILL v ann o2 QTY 2", `0`},
		[2]string{"SECKILL v ann o3", `2`},
		[2]string{"SECKILL v ann o3 QTY 3", `1`}, // 2 applies, too, but there are fewer pieces
		[2]string{"SECKILL v ben o4 QTY 3", `1`},
		[2]string{"SECKILL v ben o4 QTY 2", `0`},
		[2]string{"SECKILL v ben o5", `1`},
		[2]string{"SECKILL v ann o5", `1`}, // 2 applies, too, but nothing is left
		[2]string{"SECKILL v ben o4", `0`},
		[2]string{"SECKILL v ben o4 QTY 1", `0`},
		[2]string{"SECKILL.INFO v", fmt.Sprintf(`["state" "soldout" "stock" 0 "total" 5 "sold" 5 "held" 0 "confirmed" 0 "buyers" 2 "start" %d "end" %d "limit" 3 "hold" 0 "stream" "stream.orders" "stream-length" 3 "groups" []]`, now+10, now+100)},
		[2]string{"SECKILL.CONFIRM v ann o1", `1`},
		[2]string{"SECKILL.CONFIRM v ann o1", `0`},
		[2]string{"SECKILL.CANCEL v ann o1", `0`}, // what is paid stays sold
		[2]string{"SECKILL.CANCEL v ann o2", `1`},
		[2]string{"SECKILL.CANCEL v ann o2", `0`},
		[2]string{"SECKILL.CONFIRM v ann o2", `0`},
		[2]string{"SECKILL.CANCEL v ann nosuch", `0`},
		[2]string{"SECKILL v ann o2 QTY 2", `5`}, // a late retry sells nothing, and gets that answer
		[2]string{"SECKILL v ann o2", `5`},
		[2]string{"SECKILL v ben o2", `-ERR seckill order 'o2' belongs to another user`},
		[2]string{"SECKILL.CONFIRM v ann o2", `0`},
		[2]string{"SECKILL.CANCEL v ann o2", `0`},
		[2]string{"GET seckill:stock:v", `"2"`},
		[2]string{"SMEMBERS seckill:order:v", `["ann" "ben"]`},
		[2]string{"HGETALL seckill:pieces:v", `["ben" "2"]`},
		[2]string{"HGETALL seckill:orders:v", `["o1" "paid 1 ann" "o2" "gone 2 ann" "o4" "sold 2 ben"]`},
		[2]string{"SECKILL v ann o6 QTY 2", `0`},
		[2]string{"XRANGE stream.orders:cancelled - +", `[["1700000000010-0" ["userId" "ann" "voucherId" "v" "id" "o2" "qty" "2" "reason" "cancelled"]]]`},
		[2]string{"90 SECKILL v eve o7", `1`}, // it is over, too, but it is the stock that is looked at first
		[2]string{"SECKILL v eve o7 QTY 2", `1`},
		[2]string{"SECKILL v eve o7 QTY 4", `1`}, // more than a user may have, but nothing is left
		[2]string{"SECKILL v ann o1", `0`},       // over or not
		[2]string{"SECKILL.CANCEL v ben o4", `1`},
		[2]string{"SISMEMBER seckill:order:v ben", `0`},
		[2]string{"SECKILL v eve o7", `4`},
		[2]string{"XLEN stream.orders", `4`},
	)
}

func TestHold(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.CREATE v STOCK 2 HOLD 50 STREAM s", `+OK`},
		[2]string{"SECKILL v ann o1", `0`},
		[2]string{"10 SECKILL v ben o2", `0`},
		[2]string{"SECKILL v eve o3", `1`},
		[2]string{"39 SECKILL v eve o3", `1`},
		[2]string{"1 SECKILL.CONFIRM v ann o1", `0`}, // to the millisecond
		[2]string{"SECKILL v ann o1", `5`},
		[2]string{"SECKILL.CANCEL v ann o1", `0`},
		[2]string{"9 SECKILL.CONFIRM v ben o2", `1`},
		[2]string{"SECKILL v ben o2", `0`},
		[2]string{"SECKILL v ann o4", `0`},
		[2]string{"SECKILL v eve o5", `1`},
		[2]string{"49 SECKILL.CANCEL v ann o4", `1`},
		[2]string{"1000 XRANGE s:cancelled - +", `[["1700000000050-0" ["userId" "ann" "voucherId" "v" "id" "o1" "qty" "1" "reason" "expired"]] ` +
			`["1700000000108-0" ["userId" "ann" "voucherId" "v" "id" "o4" "qty" "1" "reason" "cancelled"]]]`},
		[2]string{"HGETALL seckill:sale:v", `["stream" "s" "limit" "1" "hold" "50" "total" "2" "sold" "1" "held" "0" "confirmed" "1" "returned" "2"]`},
		[2]string{"SMEMBERS seckill:order:v", `["ben"]`},
		[2]string{"EXISTS seckill:holds:v", `0`},
	)
	_, any := f.store.NextAlarmMS(store.HoldAlarm)
	require.False(t, any)
}

// A hold that the server has not come round to is over all the same.
func TestHoldThatIsOverdue(t *testing.T) {
	f := newSaleFixture(t)
	f.want(`+OK`, "SECKILL.CREATE", "v", "STOCK", "2", "HOLD", "50")
	f.want(`0`, "SECKILL", "v", "ann", "o1")
	f.nowMS += 50
	f.store.SetNow(f.nowMS * 1000)
	f.want(`0`, "SECKILL.CONFIRM", "v", "ann", "o1")
	f.want(`0`, "SECKILL.CANCEL", "v", "ann", "o1")
	f.want(`5`, "SECKILL", "v", "ann", "o1")
	f.want(`"1"`, "GET", "seckill:stock:v")
	f.pass(0)
	f.want(`5`, "SECKILL", "v", "ann", "o1")
	f.want(`"2"`, "GET", "seckill:stock:v")
}

// A sale with damaged keys returns nothing, and continues when they are restored.
func TestHoldOfDamagedSale(t *testing.T) {
	for name, damage := range map[string][2]string{
		"no stock":              {"RENAME seckill:stock:v x", "RENAME x seckill:stock:v"},
		"a list for a stock":    {"RENAME seckill:stock:v x; RPUSH seckill:stock:v a", "RENAME x seckill:stock:v"},
		"a word for a stock":    {"SET seckill:stock:v abc", "SET seckill:stock:v 1"},
		"a stock without end":   {"SET seckill:stock:v 9223372036854775807", "SET seckill:stock:v 1"},
		"no sale":               {"RENAME seckill:sale:v x", "RENAME x seckill:sale:v"},
		"a list for a sale":     {"RENAME seckill:sale:v x; RPUSH seckill:sale:v a", "RENAME x seckill:sale:v"},
		"a word for a sum":      {"HSET seckill:sale:v sold many", "HSET seckill:sale:v sold 1"},
		"a list for the buyers": {"RENAME seckill:order:v x; RPUSH seckill:order:v a", "RENAME x seckill:order:v"},
		"a list for the pieces": {"RPUSH seckill:pieces:v a", "DEL seckill:pieces:v"},
		"a list for the orders": {"RENAME seckill:orders:v x; RPUSH seckill:orders:v a", "RENAME x seckill:orders:v"},
		"a word for the order":  {"HSET seckill:orders:v o1 what", "HSET seckill:orders:v o1 'held 1 ann'"},
		"a list for the stream": {"RPUSH stream.orders:cancelled a", "DEL stream.orders:cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newSaleFixture(t)
			f.want(`+OK`, "SECKILL.CREATE", "v", "STOCK", "2", "HOLD", "50")
			f.want(`0`, "SECKILL", "v", "ann", "o1")
			f.each(damage[0])
			f.effects()
			f.pass(500)
			require.Empty(t, f.effects())
			f.each(damage[1])
			f.pass(2 * retryHoldMS)
			f.want(`"2"`, "GET", "seckill:stock:v")
			f.want(`["o1" "gone 1 ann"]`, "HGETALL", "seckill:orders:v")
			f.want(`1`, "XLEN", "stream.orders:cancelled")
		})
	}
}

// A refused call changes nothing.
func TestBadSales(t *testing.T) {
	max := strconv.Itoa(math.MaxInt64)
	for _, tt := range []struct{ setup, call, reply string }{
		{"", "SECKILL v u o", "ERR no such seckill 'v'"},
		{"", "SECKILL.INFO v", "ERR no such seckill 'v'"},
		{"", "SECKILL.CONFIRM v u o", "ERR no such seckill 'v'"},
		{"", "SECKILL.CANCEL v u o", "ERR no such seckill 'v'"},
		{"", "SECKILL.RESTOCK v 1", "ERR no such seckill 'v'"},
		{"SET seckill:stock:v x", "SECKILL v u o", string(ErrStock)},
		{"SET seckill:stock:v 1.5", "SECKILL v u o", string(ErrStock)},
		{"SET seckill:stock:v x", "SECKILL.INFO v", string(ErrStock)},
		{"SET seckill:stock:v x", "SECKILL.RESTOCK v 1", string(ErrStock)},
		{"RPUSH seckill:stock:v 1", "SECKILL v u o", string(ErrWrongType)},
		{"SET seckill:stock:v 1; SET seckill:order:v x", "SECKILL v u o", string(ErrWrongType)},
		{"SET seckill:stock:v 1; SET seckill:order:v x", "SECKILL.INFO v", string(ErrWrongType)},
		{"SET seckill:stock:v 1; SET stream.orders x", "SECKILL v u o", string(ErrWrongType)},
		{"SET seckill:stock:v 1; SET stream.orders x", "SECKILL.INFO v", string(ErrWrongType)},
		{"SET seckill:stock:v 1; XADD stream.orders 18446744073709551615-18446744073709551615 a b", "SECKILL v u o", string(ErrStreamExhausted)},
		{"SET seckill:stock:v 1; SET seckill:sale:v x", "SECKILL v u o", string(ErrWrongType)},
		{"SET seckill:stock:v 1; SET seckill:sale:v x", "SECKILL.INFO v", string(ErrWrongType)},
		{"SET seckill:stock:v 1; SET seckill:sale:v x", "SECKILL.RESTOCK v 1", string(ErrWrongType)},
		{"SET seckill:stock:v 1; HSET seckill:sale:v limit 0", "SECKILL v u o", "ERR seckill sale has an invalid field 'limit'"},
		{"SET seckill:stock:v 1; HSET seckill:sale:v end soon", "SECKILL v u o", "ERR seckill sale has an invalid field 'end'"},
		{"SECKILL.CREATE v STOCK 9", `SECKILL "" u o`, "ERR seckill voucher must not be empty"},
		{"SECKILL.CREATE v STOCK 9", `SECKILL v "" o`, "ERR seckill user must not be empty"},
		{"SECKILL.CREATE v STOCK 9", `SECKILL v u ""`, "ERR seckill order must not be empty"},
		{"SECKILL.CREATE v STOCK 9", `SECKILL v u "" QTY 2`, "ERR seckill order must not be empty"},
		{"SET seckill:stock:v 0", `SECKILL v u ""`, "ERR seckill order must not be empty"},
		{"SECKILL.CREATE v STOCK 9", `SECKILL.CONFIRM "" u o`, "ERR seckill voucher must not be empty"},
		{"SECKILL.CREATE v STOCK 9", `SECKILL.CONFIRM v "" o`, "ERR seckill user must not be empty"},
		{"SECKILL.CREATE v STOCK 9", `SECKILL.CANCEL v u ""`, "ERR seckill order must not be empty"},
		{"SET seckill:stock: 5", `SECKILL.RESTOCK "" 1`, "ERR seckill voucher must not be empty"},
		{"SET seckill:stock: 5", `SECKILL.INFO ""`, "ERR seckill voucher must not be empty"},
		{"", `SECKILL.CREATE "" STOCK 9`, "ERR seckill voucher must not be empty"},
		{"SET seckill:stock:v 1", "SECKILL v u o QTY 0", string(ErrSaleQuantity)},
		{"SET seckill:stock:v 1", "SECKILL v u o QTY -1", string(ErrSaleQuantity)},
		{"SET seckill:stock:v 1", "SECKILL v u o QTY x", string(ErrSaleQuantity)},
		{"SET seckill:stock:v 1", "SECKILL v u o QTY 99999999999999999999", string(ErrSaleQuantity)},
		{"SET seckill:stock:v 9", "SECKILL v u o QTY 2", "ERR seckill QTY is above the limit of 1 per user"},
		{"SET seckill:stock:v 1", "SECKILL v u o QTY", string(ErrSyntax)},
		{"SET seckill:stock:v 1", "SECKILL v u o COUNT 1", string(ErrSyntax)},
		{"SET seckill:stock:v 1", "SECKILL v u o QTY 1 QTY 1", string(ErrSyntax)},
		{"SET seckill:stock:v 1", "SECKILL.RESTOCK v x", string(ErrNotInteger)},
		{"SET seckill:stock:v 1", "SECKILL.RESTOCK v " + max, string(ErrOverflow)},

		{"", "SECKILL.CREATE v", "ERR wrong number of arguments for 'seckill.create' command"},
		{"", "SECKILL.CREATE v LIMIT 1", string(ErrSyntax)},
		{"", "SECKILL.CREATE v STOCK x", string(ErrStock)},
		{"", "SECKILL.CREATE v STOCK 1.5", string(ErrStock)},
		{"", "SECKILL.CREATE v STOCK -1", string(ErrStock)},
		{"", "SECKILL.CREATE v STOCK 1 STOCK 1", string(ErrSyntax)},
		{"", "SECKILL.CREATE v STOCK 1 REPLACE REPLACE", string(ErrSyntax)},
		{"", "SECKILL.CREATE v STOCK 1 START x", string(ErrSaleTime)},
		{"", "SECKILL.CREATE v STOCK 1 START -1", string(ErrSaleTime)},
		{"", "SECKILL.CREATE v STOCK 1 END 0", string(ErrSaleTime)},
		{"", "SECKILL.CREATE v STOCK 1 START 5 END 4", string(ErrSaleWindow)},
		{"", "SECKILL.CREATE v STOCK 1 END 5 START 5", string(ErrSaleWindow)},
		{"", "SECKILL.CREATE v STOCK 1 LIMIT 0", string(ErrSaleLimitValue)},
		{"", "SECKILL.CREATE v STOCK 1 LIMIT x", string(ErrSaleLimitValue)},
		{"", "SECKILL.CREATE v STOCK 1 HOLD 0", string(ErrSaleHold)},
		{"", "SECKILL.CREATE v STOCK 1 HOLD " + max, string(ErrSaleHold)},
		{"", "SECKILL.CREATE v STOCK 1 STREAM", string(ErrSyntax)},
		{"", "SECKILL.CREATE v STOCK 1 FOO", string(ErrSyntax)},
		{"SET s x", "SECKILL.CREATE v STOCK 1 STREAM s", string(ErrWrongType)},
		{"", "SECKILL.CREATE v STOCK 1 STREAM seckill:holds:v", string(ErrWrongType)},
		{"", "SECKILL.CREATE v:cancelled STOCK 1 STREAM seckill:holds:v", string(ErrWrongType)},
		{"", "SECKILL.CREATE v STOCK 1 STREAM seckill:stock:v REPLACE", string(ErrWrongType)},
		{"SECKILL.CREATE v STOCK 1 HOLD 50; HSET seckill:sale:v stream seckill:holds:v", "SECKILL v u o", string(ErrWrongType)},
		{"SECKILL.CREATE v STOCK 1; HSET seckill:sale:v stream seckill:order:v", "SECKILL v u o", string(ErrWrongType)},
		{"SET s:cancelled x", "SECKILL.CREATE v STOCK 1 STREAM s", string(ErrWrongType)},
		{"SET seckill:stock:v 1", "SECKILL.CREATE v STOCK 1", "ERR seckill 'v' exists already, REPLACE begins it anew"},
		{"SADD seckill:order:v a", "SECKILL.CREATE v STOCK 1", "ERR seckill 'v' exists already, REPLACE begins it anew"},
		{"SECKILL.CREATE v STOCK 1 END 1", "SECKILL.CREATE v STOCK 1", "ERR seckill 'v' exists already, REPLACE begins it anew"},

		{"SECKILL.CREATE v STOCK 9 LIMIT 9", "SECKILL v u o QTY 10", "ERR seckill QTY is above the limit of 9 per user"},
		{"SECKILL.CREATE v STOCK 9; SET seckill:orders:v x", "SECKILL v u o", string(ErrWrongType)},
		{"SECKILL.CREATE v STOCK 9; HSET seckill:orders:v o x", "SECKILL v u o", "ERR seckill order 'o' has an invalid record"},
		{"SECKILL.CREATE v STOCK 9 HOLD 1; SET seckill:holds:v x", "SECKILL v u o", string(ErrWrongType)},
		{"SECKILL.CREATE v STOCK 9 LIMIT 2; SET seckill:pieces:v x", "SECKILL v u o QTY 2", string(ErrWrongType)},
		{"SECKILL.CREATE v STOCK 9; SECKILL v u o; SET stream.orders:cancelled x", "SECKILL.CANCEL v u o", string(ErrWrongType)},
		{"SECKILL.CREATE v STOCK 9; SECKILL v u o; SET seckill:order:v x", "SECKILL.CANCEL v u o", string(ErrWrongType)},
		{"SECKILL.CREATE v STOCK 9; SECKILL v u o; DEL seckill:stock:v", "SECKILL.CANCEL v u o", "ERR no such seckill 'v'"},
		{"SECKILL.CREATE v STOCK 9; SECKILL v u o; SET seckill:stock:v " + max, "SECKILL.CANCEL v u o", string(ErrOverflow)},
		{"SECKILL.CREATE v STOCK 9; SECKILL v u o", "SECKILL.RESTOCK v " + strconv.Itoa(math.MaxInt64-8), string(ErrOverflow)},

		{"", "NEXTID n COUNT 0", "ERR value is out of range, value must between 1 and 100000"},
		{"", "NEXTID n COUNT 100001", "ERR value is out of range, value must between 1 and 100000"},
		{"", "NEXTID n COUNT x", string(ErrNotInteger)},
		{"", "NEXTID n COUNT", string(ErrSyntax)},
		{"", "NEXTID n 5", string(ErrSyntax)},
		{"SADD icr:n:2023:11:14 a", "NEXTID n", string(ErrWrongType)},
		{"SET icr:n:2023:11:14 a", "NEXTID n", string(ErrIDCounter)},
		{"SET icr:n:2023:11:14 -1", "NEXTID n", string(ErrIDCounter)},
		{"SET icr:n:2023:11:14 4294967295", "NEXTID n", string(ErrIDsGone)},
		{"SET icr:n:2023:11:14 4294967290", "NEXTID n COUNT 6", string(ErrIDsGone)},
	} {
		t.Run(tt.setup+"; "+tt.call, func(t *testing.T) {
			f := newSaleFixture(t)
			if tt.setup != "" {
				f.each(tt.setup)
			}
			f.effects()
			f.want("-"+tt.reply, splitWords(t, tt.call)...)
			require.Empty(t, f.effects())
			require.True(t, strings.HasPrefix(tt.reply, "ERR ") || tt.reply == string(ErrWrongType))
		})
	}
}

func TestReplacedSale(t *testing.T) {
	f := newSaleFixture(t)
	f.each("SECKILL.CREATE v STOCK 9 LIMIT 2 HOLD 100; SECKILL v u o QTY 2; SECKILL.CREATE v STOCK 3 STREAM s REPLACE")
	f.want(`3`, "EXISTS", "seckill:sale:v", "seckill:stock:v", "stream.orders")
	f.want(`3`, "DBSIZE")
	f.pass(1000)
	f.want(`0`, "SECKILL", "v", "u", "o")
	f.want(`"2"`, "GET", "seckill:stock:v")
	f.want(`0`, "EXISTS", "stream.orders:cancelled")
}

// A limit that changes while the sale runs also counts for earlier buyers.
func TestChangedSettings(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.CREATE v STOCK 9", `+OK`},
		[2]string{"SECKILL v u o1", `0`},
		[2]string{"SECKILL v u o2", `2`},
		[2]string{"HSET seckill:sale:v limit 3", `0`},
		[2]string{"SECKILL v u o2 QTY 3", `2`},
		[2]string{"SECKILL v u o2 QTY 2", `0`},
		[2]string{"HSET seckill:sale:v limit 2 end 1", `1`},
		[2]string{"SECKILL v u o3", `4`},
		[2]string{"HDEL seckill:sale:v end", `1`},
		[2]string{"SECKILL v u o3", `2`},
		[2]string{"SECKILL.CANCEL v u o1", `1`},
		[2]string{"SECKILL v u o3", `2`},
		[2]string{"SECKILL.CANCEL v u o2", `1`},
		[2]string{"SECKILL v u o3 QTY 2", `0`},
		[2]string{"HSET seckill:sale:v stream " + strings.Repeat("s", 70), `0`}, // the hash is compact no longer
		[2]string{"OBJECT ENCODING seckill:sale:v", `"hashtable"`},
		[2]string{"SECKILL v w o4", `0`},
		[2]string{"XLEN " + strings.Repeat("s", 70), `1`},
	)
}

func TestEventsOfSales(t *testing.T) {
	f := newSaleFixture(t)
	f.settings.Events = keyevent.All
	do := func(line string, events ...string) {
		t.Helper()
		f.events = nil
		f.do(splitWords(t, line)...)
		require.Equal(t, events, f.events, line)
	}
	do("SECKILL.CREATE v STOCK 3 HOLD 10 LIMIT 2", "seckill.create seckill:stock:v", "set seckill:stock:v", "hset seckill:sale:v")
	do("SECKILL v u o1 QTY 2", "seckill seckill:stock:v", "incrby seckill:stock:v", "hset seckill:pieces:v", "sadd seckill:order:v",
		"zadd seckill:holds:v", "hset seckill:orders:v", "hset seckill:sale:v", "xadd stream.orders")
	do("SECKILL v w o2", "seckill seckill:stock:v", "incrby seckill:stock:v", "sadd seckill:order:v", "zadd seckill:holds:v",
		"hset seckill:orders:v", "hset seckill:sale:v", "xadd stream.orders")
	do("SECKILL v x o3")
	do("SECKILL.CONFIRM v w o2", "zrem seckill:holds:v", "hset seckill:orders:v", "hset seckill:sale:v", "seckill.confirm seckill:stock:v")
	f.events = nil
	f.pass(10)
	require.Equal(t, []string{"seckill.expire seckill:stock:v", "incrby seckill:stock:v", "hdel seckill:pieces:v", "del seckill:pieces:v",
		"srem seckill:order:v", "zrem seckill:holds:v", "del seckill:holds:v", "hset seckill:orders:v", "hset seckill:sale:v",
		"xadd stream.orders:cancelled"}, f.events)
	do("SECKILL.RESTOCK v -1", "seckill.restock seckill:stock:v", "incrby seckill:stock:v", "hset seckill:sale:v")
	do("SECKILL.CANCEL v w o2")
	do("NEXTID n", "incrby icr:n:2023:11:14")
}

// These are the recipes of docs/SECKILL.md for operators.
func TestRecipesOfSales(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.CREATE one STOCK 9", `+OK`},
		[2]string{"SADD seckill:order:one mallory", `1`},
		[2]string{"SECKILL one mallory o1", `2`},
		[2]string{"SECKILL.CREATE many STOCK 9 LIMIT 3 HOLD 50", `+OK`},
		[2]string{"SADD seckill:order:many mallory", `1`},
		[2]string{"HSET seckill:pieces:many mallory 1000", `1`},
		[2]string{"SECKILL many mallory o1", `2`},
		// Money back for what was confirmed.
		[2]string{"SECKILL many ann o2 QTY 3", `0`},
		[2]string{"SECKILL.CONFIRM many ann o2", `1`},
		[2]string{"SECKILL.RESTOCK many 3", `9`},
		[2]string{"SREM seckill:order:many ann", `1`},
		[2]string{"HDEL seckill:pieces:many ann", `1`},
		[2]string{"SECKILL many ann o3 QTY 3", `0`},
		// Renamed, with its holds.
		[2]string{"RENAME seckill:stock:many seckill:stock:new", `+OK`},
		[2]string{"RENAME seckill:order:many seckill:order:new", `+OK`},
		[2]string{"RENAME seckill:sale:many seckill:sale:new", `+OK`},
		[2]string{"RENAME seckill:orders:many seckill:orders:new", `+OK`},
		[2]string{"RENAME seckill:pieces:many seckill:pieces:new", `+OK`},
		[2]string{"RENAME seckill:holds:many seckill:holds:new", `+OK`},
		[2]string{"SECKILL.INFO many", `-ERR no such seckill 'many'`},
		[2]string{"49 GET seckill:stock:new", `"6"`},
		[2]string{"1 GET seckill:stock:new", `"9"`},
		[2]string{"DEL seckill:stock:new seckill:order:new seckill:sale:new seckill:orders:new seckill:pieces:new seckill:holds:new", `5`},
		[2]string{"SECKILL.CREATE new STOCK 1", `+OK`},
	)
}

// FuzzOrder: any record of an order is either refused or survives a round trip.
func FuzzOrder(f *testing.F) {
	for _, text := range []string{"held 1 ann", "sold 12 ", "paid 1 a b", "gone 9223372036854775807 x", "", "held", "held 0 x", "lost 1 x", "held -1 x"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, ok := parseOrder(text)
		if !ok {
			return
		}
		require.Positive(t, o.qty)
		again, ok := parseOrder(o.appendTo(nil))
		require.True(t, ok)
		require.Equal(t, o, again)
	})
}

// Names and ids are binary-safe, and what looks like a number is still a name.
func TestNamesInSales(t *testing.T) {
	f := newSaleFixture(t)
	for _, name := range []string{"0", " ", "1", "held 1 x", "a b", "\r\n\x00\xff", strings.Repeat("x", 100), "-9223372036854775808"} {
		v := "v" + name
		f.want(`+OK`, "SECKILL.CREATE", v, "STOCK", "5", "HOLD", "10", "LIMIT", "2")
		f.want(`0`, "SECKILL", v, name, name)
		f.want(`0`, "SECKILL", v, name, name)
		f.want(`0`, "SECKILL", v, name, name+"2")
		f.want(`2`, "SECKILL", v, name, name+"3")
		f.want(`1`, "SECKILL.CONFIRM", v, name, name)
		f.pass(10)
		f.want(`"4"`, "GET", "seckill:stock:"+v)
		f.want(`1`, "SISMEMBER", "seckill:order:"+v, name)
	}
}

func TestNextID(t *testing.T) {
	f := newSaleFixture(t)
	const second = startMS/1000 - idEpochS
	id := func(second, counter int64) string { return strconv.FormatInt(second<<32|counter, 10) }
	f.play(
		[2]string{"NEXTID order", id(second, 1)},
		[2]string{"NEXTID order", id(second, 2)},
		[2]string{"NEXTID other", id(second, 1)},
		[2]string{"NEXTID order COUNT 3", fmt.Sprintf("[%s %s %s]", id(second, 3), id(second, 4), id(second, 5))},
		[2]string{"NEXTID order COUNT 1", fmt.Sprintf("[%s]", id(second, 6))},
		[2]string{"GET icr:order:2023:11:14", `"6"`},
		[2]string{"1000 NEXTID order", id(second+1, 7)},
		[2]string{"-5000 NEXTID order", id(second+1, 8)}, // the clock is set back: the second is not
		[2]string{"86400000 NEXTID order", id(second+86400-4, 1)},
		[2]string{"-86400000 NEXTID order", id(second+86400-4, 2)},
		[2]string{"GET icr:order:2023:11:15", `"2"`},
		[2]string{"SET icr:order:2023:11:15 4294967294", `+OK`},
		[2]string{"NEXTID order", id(second+86400-4, 4294967295)},
		[2]string{"NEXTID order", "-" + string(ErrIDsGone)},
	)
	for _, ms := range []int64{0, idEpochS*1000 - 1, (idEpochS + 1<<31) * 1000} {
		f.store.SetNow(ms * 1000)
		f.want("-"+string(ErrIDClock), "NEXTID", "order")
	}
	f.store.SetNow((idEpochS+1<<31)*1_000_000 - 1)
	require.Positive(t, f.do("NEXTID", "order").Int)
}

// Most calls of a sale are refused, so a refusal must not allocate.
func TestSalesDoNotAllocate(t *testing.T) {
	f := newSaleFixture(t)
	f.each("SET seckill:stock:bare 1; SECKILL bare u o; SECKILL.CREATE v STOCK 1; SECKILL v u o")
	require.Zero(t, f.allocsOf("SECKILL", "bare", "user", "order"))
	require.Zero(t, f.allocsOf("SECKILL", "v", "user", "order"))
	require.Zero(t, f.allocsOf("SECKILL", "v", "u", "o"))
}

// BenchmarkRefusal is the answer that a sale gives most, beside a GET of the stock.
func BenchmarkRefusal(b *testing.B) {
	f := newSaleFixture(b)
	f.each("SET seckill:stock:bare 0; SECKILL.CREATE made STOCK 1; SECKILL made u o")
	f.store.Record(false)
	f.store.SetObserver(nil)
	for _, args := range [][]string{{"GET", "seckill:stock:bare"}, {"SECKILL", "bare", "user-123456", "order-123456"},
		{"SECKILL", "made", "user-123456", "order-123456"}} {
		b.Run(strings.Join(args[:2], " "), func(b *testing.B) {
			argv := words(args...)
			row, err := f.table.Resolve(argv)
			require.NoError(b, err)
			c := f.client(1).context(argv, row)
			b.ReportAllocs()
			for b.Loop() {
				c.Out.Rollback(0)
				if err := row.Run(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestSalesAreListedInPieces(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.LIST 0", `["0" []]`},
		[2]string{"SET seckill:stock:10 5", `+OK`},
		[2]string{"SET other 5", `+OK`},
		[2]string{"SECKILL.CREATE shoes STOCK 3", `+OK`},
		[2]string{"SECKILL.LIST 0", `["0" ["shoes" "10"]]`},
		[2]string{"SECKILL.LIST 0 MATCH s*", `["0" ["shoes"]]`},
		[2]string{"SECKILL.LIST 0 COUNT 1", `["2" ["shoes"]]`},
		[2]string{"SECKILL.LIST 2 COUNT 1", `["0" ["10"]]`},
		[2]string{"DEL seckill:stock:10", `1`},
		[2]string{"SECKILL.LIST 0", `["0" ["shoes"]]`},
		[2]string{"SECKILL.LIST x", `-` + string(ErrCursor)},
		[2]string{"SECKILL.LIST 0 COUNT 0", `-` + string(ErrNotPositive)},
	)
}
