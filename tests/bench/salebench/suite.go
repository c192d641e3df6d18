// Package salebench measures what an order of a sale costs when very many have bought already, and what a
// refusal costs. Growth: orders of a sale that has millions of buyers beside orders of sales of a thousand
// each, with and without a hold. Refusals: SECKILL on a sale that is sold out, on bare keys and on a sale
// made with SECKILL.CREATE, beside GETs of ordinary keys.
//
// It owns how the load is made and the targets. It must not know how a server works inside: it starts the
// program and talks the Redis protocol to it.
//
// To add a measurement, write a method of bench that ends in the report, and name it in Suite.
package salebench

import (
	"context"
	"errors"
	"flag"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

// bench is one run.
type bench struct {
	benchkit.Run
	buyers  int // buyers of the large sale
	orders  int // orders of each kind in one round
	product benchkit.Product
}

// Suite returns this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "salebench", Asks: "what does an order cost with ten million buyers?", Written: benchkit.Together,
		Flags: func(f *flag.FlagSet) {
			f.IntVar(&b.buyers, "buyers", 10_000_000, "salebench: how many have bought in the large sale (about 300 bytes of memory each)")
			f.IntVar(&b.orders, "orders", 200_000, "salebench: how many orders one round measures")
		},
		Check: func(benchkit.Options) error {
			if b.buyers < 1 || b.orders < 1 {
				return errors.New("-buyers and -orders must be at least 1")
			}
			return nil
		},
		Prepare: b.prepare,
		Sections: []benchkit.Section{
			{Name: "sale-growth", Measures: "an order of a large sale beside one of a small sale", Run: b.growth},
			{Name: "refusals", Measures: "SECKILL on a sale that is sold out", Run: b.refusals},
		},
	}
}

func (b *bench) prepare(_ context.Context, r benchkit.Run) ([]string, error) {
	b.Run = r
	if r.Quick {
		b.buyers, b.orders = 20_000, 20_000
	}
	b.product = benchkit.Product{Name: "lockserver", Path: r.Lockserver}
	return nil, nil
}

// pipelines lists how many requests a client sends at once.
var pipelines = [...]int{1, 16}

const (
	clients = 20
	// smallSale is the number of buyers in each of the small sales.
	smallSale = 1000
	plenty    = "2000000000"
)

// order returns traffic that sells: request n is the order of buyer from+n, of the sale that voucherOf
// returns.
func order(voucherOf func(n int) string, from int) benchkit.Traffic {
	return benchkit.Traffic{
		Append: func(b []byte, n int) []byte {
			return benchkit.Command(b, 4).Arg("SECKILL").Arg(voucherOf(n+from)).Numbered("user-", n+from, "").Numbered("order-", n+from, "")
		},
		Want: benchkit.Always(":0"),
	}
}

// perRequestUS sends traffic and returns the server's CPU time for one request, in microseconds.
func perRequestUS(ctx context.Context, s *benchkit.Server, f *benchkit.Fleet, t benchkit.Traffic, requests, pipeline int) (float64, int, error) {
	before, err := s.CPU()
	if err != nil {
		return 0, 0, err
	}
	n, err := f.Send(ctx, t, requests, pipeline)
	if err != nil {
		return 0, n, err
	}
	after, err := s.CPU()
	return float64(after-before) / float64(time.Microsecond) / float64(n), n, err
}

// create opens sales with more than enough pieces.
func create(s *benchkit.Server, hold bool, vouchers ...string) error {
	for _, v := range vouchers {
		args := []string{"SECKILL.CREATE", v, "STOCK", plenty}
		if hold {
			args = append(args, "HOLD", strconv.Itoa(86_400_000))
		}
		if _, err := s.Do(args...); err != nil {
			return err
		}
	}
	return nil
}
