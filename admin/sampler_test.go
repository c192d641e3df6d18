package admin

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/admin/console"
	"lockserver/admin/history"
	"lockserver/commands"
	"lockserver/internal/lockclass"
	"lockserver/server"
	"lockserver/server/stats"
)

// TestThePastIsRemembered: the data of charts are recorded without a viewer, by the server's clock.
func TestThePastIsRemembered(t *testing.T) {
	now, machine := time.Unix(1_750_000_000, 0), time.Now()
	clock := server.NewManualClock(now)
	p, c := served(t, server.Options{Clock: clock})
	c.Do("SELECT", "2")
	c.Do("SECKILL.CREATE", "shoes", "STOCK", "10")
	c.Do("SECKILL", "shoes", "ann", "1")
	past := new(history.Book)
	s := sampler{shards: p.shards, past: past}
	s.sample(machine)
	require.Nil(t, past.Of(console.OpsSeries), "no step has ended")
	s.sample(machine.Add(time.Second))
	require.Equal(t, [][]float64{{float64(now.Unix())}, {9}, {1}, {0}, {0}}, past.Of(console.SaleSeries(2, "shoes")))
	require.Len(t, past.Of(console.OpsSeries), 2)
	memory := past.Of(console.MemorySeries)
	require.Len(t, memory, 3)
	require.Positive(t, memory[1][0])
	require.Positive(t, memory[2][0])
	c.Do("DEL", "seckill:stock:shoes")
	clock.Advance(history.Coarse.Kept())
	c.Do("PING")
	s.sample(machine.Add(2 * time.Second))
	require.Nil(t, past.Of(console.SaleSeries(2, "shoes")))
}

// scriptedSource is a server with figures that a test sets.
type scriptedSource struct {
	fakeSource
	nowMS   int64
	figures server.Figures
	sales   int
}

func (s *scriptedSource) Figures() server.Figures { return s.figures }
func (s *scriptedSource) NowMS() int64            { return s.nowMS }
func (s *scriptedSource) EachSale(visit func(int, *commands.SaleFigures) bool) {
	s.sales = 1
	for visit(0, &commands.SaleFigures{Voucher: fmt.Sprint("shoes-", s.sales)}) {
		s.sales++
	}
}

// TestPointsAreOfTheirStep: a point has the counts of its step alone, a second or ten, and percentiles of the
// waits that ended in it. A counter that falls was reset.
func TestPointsAreOfTheirStep(t *testing.T) {
	const begunMS = 1_750_000_000_000
	machine := time.Now()
	src := &scriptedSource{nowMS: begunMS}
	past := new(history.Book)
	s := sampler{shards: []Source{src}, past: past}
	orders, other := lockclass.Figures{Name: "orders"}, lockclass.Figures{Name: lockclass.Other}
	step := func() {
		src.figures = server.Figures{Info: fmt.Sprintf("used_cpu_sys:1\r\nused_cpu_user:%g", float64(src.nowMS-begunMS)/4000),
			LockClasses: []lockclass.Figures{orders, other}, Locks: map[int]*stats.LockFigures{0: {Held: 3}, 2: {Held: 4}}, OldestWaitUS: 7000,
			LimiterRefusals: orders.Grants / 2}
		s.sample(machine)
		machine, src.nowMS = machine.Add(time.Second), src.nowMS+1000
	}
	step()
	for second := range 10 {
		orders.Grants += 4
		other.Grants++
		orders.Holds.Count += 3
		orders.Lost[lockclass.Forced]++
		orders.Waiting, orders.OldestUS = int64(second), int64(second)*3000
		if second == 9 {
			orders.Waits.Add(40_000)
		} else {
			orders.Waits.Add(80)
		}
		step()
	}
	columns := past.Of(console.LocksSeries)
	point := func(i int) (values []float64) {
		for _, c := range columns[1:] {
			values = append(values, c[i])
		}
		return values
	}
	require.Len(t, columns[0], 10)
	require.Equal(t, 1_750_000_001.0, columns[0][0])
	require.InDeltaSlice(t, []float64{5, 2, 0.08, 0.08, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0}, point(0), 0.001)
	require.InDeltaSlice(t, []float64{5, 2, 40, 40, 7, 9, 0, 0, 0, 0, 1, 0, 0, 0}, point(9), 0.001)
	require.Equal(t, 4.0, past.Of(console.ClassSeries("orders"))[1][9])
	require.Equal(t, 27.0, past.Of(console.ClassSeries("orders"))[5][9])
	require.Equal(t, 7.0, past.Of(console.HeldSeries)[1][9])
	require.Equal(t, 2.0, past.Of(console.LimitersSeries)[1][9])
	require.InDelta(t, 25, past.Of(console.ProcessorSeries)[1][9], 0.001)
	require.Equal(t, mostRemembered, src.sales)
	// Of the ten seconds there is one point in steps of ten, which is shown when the fine ones are over.
	for range 300 {
		step()
	}
	columns = past.Of(console.LocksSeries)
	require.Equal(t, 1_750_000_010.0, columns[0][0])
	require.InDeltaSlice(t, []float64{5, 2, 0.1, 40, 7, 9, 0, 0, 0, 0, 1, 0, 0, 0}, point(0), 0.001)
	orders = lockclass.Figures{Name: "orders", Grants: 2}
	step()
	require.Equal(t, 2.0, past.Latest(console.ClassSeries("orders"))[1])
}

// TestAllSeriesFitIntoABook: the series of a server with many sales and classes fit into the book.
func TestAllSeriesFitIntoABook(t *testing.T) {
	past := new(history.Book)
	values := make([]float64, 14)
	now := time.Unix(1_750_000_000, 0)
	for i := range mostClasses + 1 {
		past.Add(history.Fine, console.ClassSeries(string(rune('a'+i))), now, values...)
	}
	for i := range mostRemembered {
		past.Add(history.Fine, console.SaleSeries(i, "hats-of-the-winter-collection"), now, values[:4]...)
	}
	past.Add(history.Fine, console.LocksSeries, now, values...)
	past.Add(history.Fine, console.MemorySeries, now, 1, 2)
	for _, name := range []string{console.OpsSeries, console.HeldSeries, console.ProcessorSeries, console.LimitersSeries} {
		past.Add(history.Fine, name, now, 1)
		require.NotNil(t, past.Of(name))
	}
}
