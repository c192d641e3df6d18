package salebench

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"lockserver/tests/bench/benchkit"
)

// refusalTarget is the allowed cost of a refusal, as a multiple of a GET.
const refusalTarget = 1.0

// values is the number of keys for GET, and valueBytes the length of their values: as in the benchmark of all
// commands.
const (
	values     = 100_000
	valueBytes = 64
)

// refusals tries to buy in sales that are sold out.
func (b *bench) refusals(ctx context.Context) error {
	s, err := benchkit.StartFresh(ctx, b.product, b.Dir)
	if err != nil {
		return err
	}
	defer s.Stop()
	f, err := benchkit.DialFleet(s.Addr, clients)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err1 := s.Do("SET", "seckill:stock:bare", "0")
	_, err2 := s.Do("SECKILL.CREATE", "made", "STOCK", "1")
	_, err3 := s.Do("SECKILL", "made", "first", "order")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	value := strings.Repeat("v", valueBytes)
	set := benchkit.Traffic{Want: benchkit.Always("+OK"), Append: func(b []byte, n int) []byte {
		return benchkit.Command(b, 3).Arg("SET").Numbered("key:", n, "").Arg(value)
	}}
	if _, err := s.Fill(ctx, set, values); err != nil {
		return err
	}
	get := benchkit.Traffic{Want: benchkit.Always("$"), Append: func(b []byte, n int) []byte {
		return benchkit.Command(b, 2).Arg("GET").Numbered("key:", benchkit.Scatter(n%values, values), "")
	}}
	var rows [][]string
	for _, voucher := range []string{"bare", "made"} {
		refused := order(func(int) string { return voucher }, 0)
		refused.Want = benchkit.Always(":1")
		for _, pipeline := range pipelines {
			var rounds benchkit.Rounds
			for range b.Rounds {
				for i, t := range []benchkit.Traffic{get, refused} {
					us, _, err := perRequestUS(ctx, s, f, t, b.orders, pipeline)
					if err != nil {
						return err
					}
					rounds[i] = append(rounds[i], us)
				}
			}
			got, refusal := rounds.Medians()
			b.Report.AddFigure("sale.refusal."+voucher+".p"+strconv.Itoa(pipeline)+".us", refusal)
			ratio := b.Report.AtMost("a refusal, "+voucher+", P="+strconv.Itoa(pipeline), refusal/got, refusalTarget, benchkit.Times)
			rows = append(rows, []string{voucher, strconv.Itoa(pipeline), benchkit.Fixed(got, 2), benchkit.Fixed(refusal, 2), ratio})
		}
	}
	b.Report.Text("## Refusals of a sale: CPU time of the server for a request, in microseconds\n\n" +
		"GET is of 100,000 keys in turn, with values of 64 bytes; each refusal is of another user with another order.")
	b.Report.Table([]string{"sale that is sold out", "P", "GET", "SECKILL", "ratio"}, rows)
	return nil
}
