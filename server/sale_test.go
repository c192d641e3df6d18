package server

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server/shard"
	"lockserver/store"
	"lockserver/tests/testkit"
)

// saleStart is when the clocks of these tests begin, in milliseconds.
const saleStart = 1_750_000_000_000

// startSales runs a server on a clock that only the test moves.
func startSales(t testing.TB, o Options) (*instance, *ManualClock, *testkit.Client) {
	t.Helper()
	clock := NewManualClock(time.UnixMilli(saleStart))
	o.Clock = clock
	srv := startWith(t, o, nil)
	return srv, clock, client(t, srv)
}

// want runs lines and requires their replies.
func want(t testing.TB, c *testkit.Client, lines ...[2]string) {
	t.Helper()
	for _, line := range lines {
		require.Equal(t, line[1], c.Do(strings.Fields(line[0])...).String(), line[0])
	}
}

// No client touches the sale, and its holds end at their times; clients that wait for that get a message.
func TestHoldsEndByThemselves(t *testing.T) {
	t.Parallel()
	srv, clock, c := startSales(t, Options{})
	worker := client(t, srv)
	want(t, c, [2]string{"SECKILL.CREATE v STOCK 5 HOLD 100", "+OK"}, [2]string{"SECKILL v ann o1", "0"})
	clock.Advance(30 * time.Millisecond)
	want(t, c, [2]string{"SECKILL v ben o2", "0"}, [2]string{"SECKILL v eve o3", "0"}, [2]string{"SECKILL.CONFIRM v eve o3", "1"})
	worker.Send("XREAD", "BLOCK", "0", "STREAMS", "stream.orders:cancelled", "$")
	awaitParked(t, srv, 1)
	clock.Advance(69 * time.Millisecond)
	want(t, c, [2]string{"GET seckill:stock:v", `"2"`})
	clock.Advance(time.Millisecond)
	require.Equal(t, fmt.Sprintf(`[["stream.orders:cancelled" [["%d-0" ["userId" "ann" "voucherId" "v" "id" "o1" "qty" "1" "reason" "expired"]]]]]`,
		saleStart+100), worker.Receive().String())
	clock.Advance(time.Hour)
	want(t, c, [2]string{"GET seckill:stock:v", `"4"`}, [2]string{"SMEMBERS seckill:order:v", `["eve"]`},
		[2]string{"XLEN stream.orders:cancelled", "2"}, [2]string{"XLEN stream.orders", "3"},
		[2]string{"XINFO STREAM stream.orders:cancelled", c.Do("XINFO", "STREAM", "stream.orders:cancelled").String()})
	last := c.Do("XREVRANGE", "stream.orders:cancelled", "+", "-", "COUNT", "1")
	require.Equal(t, fmt.Sprint(saleStart+130, "-0"), last.Elems[0].Elems[0].Str)
}

// The same on the machine's clock: never early, and without a command.
func TestHoldsEndInTime(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	c, worker := client(t, srv), client(t, srv)
	want(t, c, [2]string{"SECKILL.CREATE v STOCK 5 HOLD 40", "+OK"})
	worker.Send("XREAD", "BLOCK", "0", "STREAMS", "stream.orders:cancelled", "$")
	awaitParked(t, srv, 1)
	want(t, c, [2]string{"SECKILL v ann o1", "0"})
	sold := c.Do("XRANGE", "stream.orders", "-", "+").Elems[0].Elems[0].Str
	end := c.Do("ZSCORE", "seckill:holds:v", "o1").Str
	entry := worker.Receive().Elems[0].Elems[1].Elems[0].Elems[0].Str
	ms := func(s string) int64 {
		n, err := strconv.ParseInt(strings.TrimSuffix(s, "-0"), 10, 64)
		require.NoError(t, err)
		return n
	}
	if end != "" { // unless it has ended by then
		require.Contains(t, []int64{ms(sold) + 40, ms(sold) + 41}, ms(end), "rounded up")
	}
	require.GreaterOrEqual(t, ms(entry), ms(sold)+40)
}

// A command finds what is free by its time, however late the ticker is.
func TestCommandsFindHoldsEnded(t *testing.T) {
	t.Parallel()
	_, clock, c := startSales(t, Options{})
	want(t, c, [2]string{"SECKILL.CREATE v STOCK 1 HOLD 100", "+OK"}, [2]string{"SECKILL v ann o1", "0"}, [2]string{"SECKILL v ben o2", "1"})
	clock.Set(time.UnixMilli(saleStart + 100)) // without the ticker
	want(t, c, [2]string{"GET seckill:stock:v", `"1"`}, [2]string{"SECKILL v ben o2", "0"}, [2]string{"SECKILL.CONFIRM v ann o1", "0"})
}

func TestConfirmAndExpiryHaveOneOutcome(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		_, clock, c := startSales(t, Options{})
		want(t, c, [2]string{"SECKILL.CREATE v STOCK 1 HOLD 100", "+OK"}, [2]string{"SECKILL v ann o1", "0"})
		clock.Set(time.UnixMilli(saleStart + 99))
		confirmed, stock := "1", `"0"`
		if late {
			clock.Set(time.UnixMilli(saleStart + 100))
			confirmed, stock = "0", `"1"`
		}
		want(t, c, [2]string{"SECKILL.CONFIRM v ann o1", confirmed})
		clock.Advance(time.Hour)
		want(t, c, [2]string{"GET seckill:stock:v", stock}, [2]string{"SECKILL.CANCEL v ann o1", "0"})
	}
}

// A hold ends exactly once also if the server was not there at its time.
func TestHoldsEndAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := NewManualClock(time.UnixMilli(saleStart))
	run := func() (*instance, *testkit.Client) {
		srv := start(t, Options{Directives: inDir(dir).Directives(), Clock: clock})
		return srv, client(t, srv)
	}
	srv, c := run()
	want(t, c, [2]string{"SECKILL.CREATE v STOCK 5 HOLD 100", "+OK"}, [2]string{"SECKILL v ann o1", "0"})
	clock.Advance(50 * time.Millisecond)
	want(t, c, [2]string{"SECKILL v ben o2", "0"}, [2]string{"SECKILL v eve o3", "0"}, [2]string{"SECKILL.CONFIRM v eve o3", "1"}, [2]string{"SAVE", "+OK"})
	require.NoError(t, srv.Close())

	clock.Set(time.UnixMilli(saleStart + 120)) // ann's has ended meanwhile
	srv, c = run()
	clock.Advance(0)
	want(t, c, [2]string{"GET seckill:stock:v", `"3"`}, [2]string{"SECKILL v eve o3", "0"}, [2]string{"SECKILL.CONFIRM v ann o1", "0"}, [2]string{"SAVE", "+OK"})
	clock.Advance(29 * time.Millisecond)
	want(t, c, [2]string{"GET seckill:stock:v", `"3"`})
	require.NoError(t, srv.Close()) // without saving: ben's hold has not ended in the snapshot

	clock.Set(time.UnixMilli(saleStart + 1000))
	_, c = run()
	clock.Advance(0)
	want(t, c, [2]string{"GET seckill:stock:v", `"4"`}, [2]string{"XLEN stream.orders:cancelled", "2"},
		[2]string{"HGETALL seckill:orders:v", `["o1" "gone 1 ann" "o2" "gone 1 ben" "o3" "paid 1 eve"]`})
}

// saleNames are the keys of a sale that has holds.
func saleNames(voucher string) []string {
	var names []string
	for _, prefix := range []string{"stock", "order", "sale", "orders", "holds"} {
		names = append(names, "seckill:"+prefix+":"+voucher)
	}
	return names
}

// Holds follow the keys wherever they go.
func TestHoldsFollowTheKeys(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		move  func(c *testkit.Client)
		db    string // where the sale is then
		sale  string
		ended int64 // how many orders were taken back in the end
	}{
		"RENAME": {func(c *testkit.Client) {
			c.Do("MULTI")
			for i, name := range saleNames("v") {
				c.Do("RENAME", name, saleNames("w")[i])
			}
			c.Do("EXEC")
		}, "0", "w", 1},
		"RENAME, one after the other, late": {func(c *testkit.Client) {
			c.Do("RENAME", "seckill:holds:v", "seckill:holds:w")
			c.Do("DEBUG", "SLEEP", "0")
			for i, name := range saleNames("v")[:4] {
				c.Do("RENAME", name, saleNames("w")[i])
			}
		}, "0", "w", 1},
		"MOVE": {func(c *testkit.Client) {
			for _, name := range saleNames("v") {
				c.Do("MOVE", name, "3")
			}
		}, "3", "v", 1},
		"COPY": {func(c *testkit.Client) {
			for _, name := range saleNames("v") {
				c.Do("COPY", name, name, "DB", "3")
			}
			c.Do("FLUSHDB")
		}, "3", "v", 1},
		"SWAPDB": {func(c *testkit.Client) { c.Do("SWAPDB", "0", "5") }, "5", "v", 1},
		"RESTORE": {func(c *testkit.Client) {
			var payloads []string
			for _, name := range saleNames("v") {
				payloads = append(payloads, c.Do("DUMP", name).Str)
			}
			c.Do("FLUSHALL")
			for i, name := range saleNames("v") {
				require.Equal(t, "+OK", c.Do("RESTORE", name, "0", payloads[i]).String())
			}
		}, "0", "v", 1},
		"FLUSHALL": {func(c *testkit.Client) { c.Do("FLUSHALL") }, "0", "v", 0},
		"DEL":      {func(c *testkit.Client) { c.Do(append([]string{"DEL"}, saleNames("v")...)...) }, "0", "v", 0},
		"REPLACE":  {func(c *testkit.Client) { c.Do("SECKILL.CREATE", "v", "STOCK", "5", "REPLACE") }, "0", "v", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, clock, c := startSales(t, Options{})
			want(t, c, [2]string{"SECKILL.CREATE v STOCK 5 HOLD 100 STREAM s", "+OK"}, [2]string{"SECKILL v ann o1", "0"},
				[2]string{"SECKILL v ben o2", "0"}, [2]string{"SECKILL.CONFIRM v ben o2", "1"})
			tt.move(c)
			clock.Advance(99 * time.Millisecond)
			want(t, c, [2]string{"SELECT " + tt.db, "+OK"}, [2]string{"XLEN s:cancelled", "0"})
			clock.Advance(time.Hour)
			require.Equal(t, tt.ended, c.Do("XLEN", "s:cancelled").Int)
			if tt.ended > 0 {
				want(t, c, [2]string{"GET seckill:stock:" + tt.sale, `"4"`}, [2]string{"HGET seckill:orders:" + tt.sale + " o1", `"gone 1 ann"`})
			}
			require.False(t, c.Do("EXISTS", "seckill:holds:"+tt.sale).Int == 1)
		})
	}
}

// unitSizes is a journal that keeps how many orders each unit took back.
type unitSizes struct{ taken []int }

func (u *unitSizes) Append(unit []store.Effect) {
	n := 0
	for _, e := range unit {
		if string(e.Args[0]) == "XADD" && strings.HasSuffix(string(e.Args[1]), ":cancelled") {
			n++
		}
	}
	if n > 0 {
		u.taken = append(u.taken, n)
	}
}

// A hundred thousand holds that end in one millisecond are worked off in slices, between
// which others have their turn.
func TestManyHoldsEndTogether(t *testing.T) {
	t.Parallel()
	const orders = 10_000
	journal := &unitSizes{}
	srv, clock, c := startSales(t, Options{Journal: journal})
	want(t, c, [2]string{fmt.Sprintf("SECKILL.CREATE v STOCK %d HOLD 100", orders), "+OK"})
	var batch [][]string
	for i := range orders {
		batch = append(batch, []string{"SECKILL", "v", "u" + strconv.Itoa(i), "o" + strconv.Itoa(i)})
		if len(batch) == 2500 {
			for _, v := range c.Pipeline(batch) {
				require.Equal(t, "0", v.String())
			}
			batch = batch[:0]
		}
	}
	want(t, c, [2]string{"SECKILL.INFO v", `["state" "soldout" "stock" 0 "total" 10000 "sold" 10000 "held" 10000 "confirmed" 0 "buyers" 10000 ` +
		`"start" 0 "end" 0 "limit" 1 "hold" 100 "stream" "stream.orders" "stream-length" 10000 "groups" []]`})
	clock.Set(time.UnixMilli(saleStart + 100))
	want(t, c, [2]string{"GET seckill:stock:v", strconv.Quote(strconv.Itoa(shard.AlarmBudget))}, // one slice was due before the command
		[2]string{"SECKILL.CONFIRM v u9999 o9999", "0"})
	clock.Advance(0)
	want(t, c, [2]string{"SECKILL.INFO v", `["state" "open" "stock" 10000 "total" 10000 "sold" 0 "held" 0 "confirmed" 0 "buyers" 0 ` +
		`"start" 0 "end" 0 "limit" 1 "hold" 100 "stream" "stream.orders" "stream-length" 10000 "groups" []]`},
		[2]string{"XLEN stream.orders:cancelled", "10000"}, [2]string{"EXISTS seckill:order:v seckill:holds:v", "0"})
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	sum := 0
	for _, n := range journal.taken {
		require.LessOrEqual(t, n, shard.AlarmBudget)
		sum += n
	}
	require.Equal(t, orders, sum)
}

func TestSalesInTransactionsAndUnderGuard(t *testing.T) {
	t.Parallel()
	_, _, c := startSales(t, Options{})
	want(t, c, [2]string{"SECKILL.CREATE v STOCK 2 HOLD 100", "+OK"},
		[2]string{"MULTI", "+OK"}, [2]string{"SECKILL v ann o1", "+QUEUED"}, [2]string{"SECKILL v ann o1", "+QUEUED"},
		[2]string{"SECKILL v ann o2", "+QUEUED"}, [2]string{"SECKILL.CONFIRM v ann o1", "+QUEUED"}, [2]string{"EXEC", "[0 0 2 1]"})
	token := c.Do("LOCK", "k", "me", "PX", "1000").String()
	want(t, c, [2]string{"GUARD k " + token + " SECKILL v ben o3", "0"}, [2]string{"GUARD k " + token + " SECKILL.CANCEL v ben o3", "1"},
		[2]string{"GUARD k 1 SECKILL v ben o4", "-STALETOKEN the lock is not held with this token"},
		[2]string{"GET seckill:stock:v", `"1"`})
	// WATCH sees a sale as what it is: keys that change.
	want(t, c, [2]string{"WATCH seckill:stock:v", "+OK"}, [2]string{"SECKILL v eve o5", "0"}, [2]string{"MULTI", "+OK"},
		[2]string{"PING", "+QUEUED"}, [2]string{"EXEC", "*nil"})
}

// The time of an id does not go back with the clock, and no id is given twice.
func TestNextIDRises(t *testing.T) {
	t.Parallel()
	_, clock, c := startSales(t, Options{})
	last := int64(0)
	for _, offset := range []time.Duration{0, time.Second, -time.Hour, -24 * time.Hour, 2 * time.Second, 48 * time.Hour, 0} {
		clock.Set(time.UnixMilli(saleStart).Add(offset))
		for range 3 {
			id := c.Do("NEXTID", "order").Int
			require.Greater(t, id, last)
			last = id
		}
	}
}

// Full memory does not keep buyers from paying, or from giving back.
func TestSalesInFullMemory(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(saleStart))
	srv := startWith(t, Options{Clock: clock}, func(c *config.Config) { c.MaxMemoryPolicy = "noeviction" })
	c := client(t, srv)
	want(t, c, [2]string{"SECKILL.CREATE v STOCK 5 HOLD 100", "+OK"}, [2]string{"SECKILL v ann o1", "0"}, [2]string{"SECKILL v ben o2", "0"},
		[2]string{"SECKILL v eve o3", "0"}, [2]string{"CONFIG SET maxmemory 1", "+OK"},
		[2]string{"SECKILL v joe o4", "-OOM command not allowed when used memory > 'maxmemory'."},
		[2]string{"SECKILL.CONFIRM v ann o1", "1"}, [2]string{"SECKILL.CANCEL v ben o2", "1"})
	clock.Advance(100 * time.Millisecond)
	want(t, c, [2]string{"GET seckill:stock:v", `"4"`})
}

// The sale's own INFO shows how far the workers are.
func TestSaleTellsOfItsWorkers(t *testing.T) {
	t.Parallel()
	_, _, c := startSales(t, Options{})
	want(t, c, [2]string{"SECKILL.CREATE v STOCK 5 STREAM s", "+OK"}, [2]string{"XGROUP CREATE s db 0 MKSTREAM", "+OK"},
		[2]string{"XGROUP CREATE s mail $", "+OK"}, [2]string{"SECKILL v ann o1", "0"}, [2]string{"SECKILL v ben o2", "0"},
		[2]string{"SECKILL v eve o3", "0"})
	c.Do("XREADGROUP", "GROUP", "db", "worker", "COUNT", "2", "STREAMS", "s", ">")
	c.Do("XACK", "s", "db", fmt.Sprint(saleStart, "-0"))
	c.Hello(3)
	info := c.Do("SECKILL.INFO", "v")
	require.Equal(t, `{"state":"open" "stock":2 "total":5 "sold":3 "held":0 "confirmed":0 "buyers":3 "start":0 "end":0 "limit":1 "hold":0 `+
		`"stream":"s" "stream-length":3 "groups":[{"name":"db" "pending":1 "lag":1} {"name":"mail" "pending":0 "lag":3}]}`, info.String())
}

// A script sells as a client does, and in one step with whatever else it does.
func TestSalesInScripts(t *testing.T) {
	t.Parallel()
	_, clock, c := startSales(t, Options{})
	want(t, c, [2]string{"SECKILL.CREATE v STOCK 2 HOLD 100", "+OK"})
	script := `
local answer = redis.call('SECKILL', 'v', ARGV[1], ARGV[2])
local again = redis.call('SECKILL', 'v', ARGV[1], ARGV[2])
return {answer, again, redis.call('GET', 'seckill:stock:v'), redis.call('SECKILL.CANCEL', 'v', ARGV[1], 'none')}`
	require.Equal(t, `[0 0 "1" 0]`, c.Do("EVAL", script, "0", "ann", "o1").String())
	require.Equal(t, "1", c.Do("EVAL", "return redis.call('SECKILL.CONFIRM', 'v', 'ann', 'o1')", "0").String())
	require.Equal(t, `[0 0 "0" 0]`, c.Do("EVAL", script, "0", "ben", "o2").String())
	clock.Advance(100 * time.Millisecond)
	want(t, c, [2]string{"GET seckill:stock:v", `"1"`})
}

// While data is being loaded a sale is not whole: its holds wait.
func TestHoldsWaitForTheLoad(t *testing.T) {
	t.Parallel()
	srv, clock, c := startSales(t, Options{})
	want(t, c, [2]string{"SECKILL.CREATE v STOCK 2 HOLD 100", "+OK"}, [2]string{"SECKILL v ann o1", "0"})
	clock.Set(time.UnixMilli(saleStart + 100))
	srv.executor.Do(func() { srv.executor.Durable.BeginLoad(saleStart * 1000) })
	require.True(t, c.Do("GET", "seckill:stock:v").IsError())
	srv.executor.Do(func() {
		require.Equal(t, `1`, string(srv.executor.Store.DB(0).Peek([]byte("seckill:stock:v")).Bytes()))
	})
	srv.executor.Do(func() { require.NoError(t, srv.executor.Durable.EndLoad()) })
	want(t, c, [2]string{"GET seckill:stock:v", `"2"`})
}
