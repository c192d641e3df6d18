package salebench

import (
	"context"
	"strconv"
	"strings"

	"lockserver/tests/bench/benchkit"
)

// growthTarget is the largest cost of an order in the large sale, as a multiple of one in a small sale.
const growthTarget = 1.5

// growth sells in one sale that has very many buyers, and in many sales of a thousand, each on its own
// server.
func (b *bench) growth(ctx context.Context) error {
	var rows [][]string
	for _, hold := range []bool{false, true} {
		r, err := b.growthOf(ctx, hold)
		if err != nil {
			return err
		}
		rows = append(rows, r...)
	}
	b.Report.Text("## Orders of a large sale: CPU time of the server for an order, in microseconds")
	b.Report.Table([]string{"sale", "P", "1,000 buyers", benchkit.Grouped(float64(b.buyers)) + " buyers", "ratio"}, rows)
	return nil
}

// market is a server and its sales.
type market struct {
	server *benchkit.Server
	fleet  *benchkit.Fleet
	hold   bool
	large  bool
	sold   int // orders so far
	opened int // small sales so far
}

func (b *bench) openMarket(ctx context.Context, large, hold bool) (*market, error) {
	s, err := benchkit.StartFresh(ctx, b.product, b.Dir)
	if err != nil {
		return nil, err
	}
	m := &market{server: s, hold: hold, large: large}
	m.fleet, err = benchkit.DialFleet(s.Addr, clients)
	if err == nil && large {
		err = create(s, hold, "large")
	}
	if err == nil && large {
		m.sold, err = s.Fill(ctx, order(m.voucher, 0), b.buyers)
	}
	if err != nil {
		m.close()
	}
	return m, err
}

func (m *market) close() {
	if m.fleet != nil {
		m.fleet.Close()
	}
	m.server.Stop()
}

// voucher returns the sale in which buyer n buys. Neighbours are in the same sale, which gets a thousand of
// them.
func (m *market) voucher(n int) string {
	if m.large {
		return "large"
	}
	return "small-" + strconv.Itoa(n/smallSale)
}

// sell measures the given number of orders.
func (m *market) sell(ctx context.Context, orders, pipeline int) (us float64, err error) {
	for ; !m.large && m.opened*smallSale < m.sold+orders+smallSale; m.opened++ {
		if err := create(m.server, m.hold, "small-"+strconv.Itoa(m.opened)); err != nil {
			return 0, err
		}
	}
	us, n, err := perRequestUS(ctx, m.server, m.fleet, order(m.voucher, m.sold), orders, pipeline)
	m.sold += n
	return us, err
}

// growthOf measures sales of one kind.
func (b *bench) growthOf(ctx context.Context, hold bool) (rows [][]string, err error) {
	what := "without a hold"
	if hold {
		what = "with a hold"
	}
	var markets [2]*market
	for i := range markets {
		b.Say("growth: a server of sales %s", what)
		if markets[i], err = b.openMarket(ctx, i == 1, hold); err != nil {
			return nil, err
		}
		defer markets[i].close()
	}
	for _, pipeline := range pipelines {
		var rounds benchkit.Rounds
		for range b.Rounds {
			for i, m := range markets {
				us, err := m.sell(ctx, b.orders, pipeline)
				if err != nil {
					return nil, err
				}
				rounds[i] = append(rounds[i], us)
			}
		}
		small, large := rounds.Medians()
		name := "sale.order." + strings.ReplaceAll(what, " ", "_") + ".p" + strconv.Itoa(pipeline)
		b.Report.AddFigure(name+".small_us", small)
		b.Report.AddFigure(name+".large_us", large)
		b.Report.AddFigure("sale.order.buyers", float64(b.buyers))
		ratio := b.Report.AtMost("an order, "+what+", P="+strconv.Itoa(pipeline), large/small, growthTarget, benchkit.Times)
		rows = append(rows, []string{what, strconv.Itoa(pipeline), benchkit.Fixed(small, 2), benchkit.Fixed(large, 2), ratio})
	}
	return rows, nil
}
