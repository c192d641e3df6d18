package costbench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

const (
	// adminTarget is the largest cost of requests with a scraped admin port, as a multiple of the cost
	// without it.
	adminTarget = 1.02
	// adminTurns is the number of turns in a round. There are many, because the difference is small.
	adminTurns = 4
	// adminLonger is the factor by which a turn is longer than others, so that it contains some scrapes.
	adminLonger = 6
	// adminSales is the number of sales, which make a scrape long.
	adminSales = 1000
	// scrapeEvery is shorter than any usual scrape interval.
	scrapeEvery = time.Second
)

// admin measures the cost of the admin port for other clients: lockserver with and without it.
func (b *bench) admin(ctx context.Context) {
	b.Report.Text(fmt.Sprintf("## What the admin port costs\n\nCPU per request of lockserver with `admin-port`, scraped each second during its turns, as a multiple of "+
		"that without; what the scrapes take is part of it. %d sales on both, P=16, %d clients, medians of %d turns.", adminSales, clients, b.Rounds*adminTurns))
	var rows [][]string
	for _, c := range cases() {
		if c.name != "SET" && c.name != "LOCK" {
			continue
		}
		c.prepare = withSales(c.prepare)
		port, err := benchkit.FreePort()
		if err != nil {
			b.Report.Failed("the admin port", err)
			return
		}
		own := *b
		own.Rounds *= adminTurns
		own.pair[0] = b.pair[1]
		own.pair[1].Name, own.pair[1].adminPort = "scraped", port
		own.pair[1].Args = slices.Concat(b.pair[1].Args, []string{"--admin-port", strconv.Itoa(port)})
		rows = append(rows, b.adminRow(own.compare(ctx, c, b.sizes.pipelined*adminLonger, 16)))
	}
	b.Report.Table([]string{"command", "without, req/s", "with, req/s", "ratio", "without, CPU µs", "with, CPU µs", "CPU ratio", "target"}, rows)
}

func (b *bench) adminRow(c comparison) []string {
	if c.err != nil {
		b.Report.Failures = append(b.Report.Failures, benchkit.OneLine(c.name+" with the admin port: "+c.err.Error()))
		return []string{c.name, "", "", "", "", "", "", "could not run"}
	}
	rps, scrapedRPS := c.rps.Medians()
	cpu, scrapedCPU := c.cpuUS.Medians()
	low, high := c.cpuUS.Spread()
	mark := b.Report.AtMost("CPU of "+c.name+" with the admin port", c.cpuUS.Ratio(), adminTarget, benchkit.Times)
	return []string{c.name, benchkit.Grouped(rps), benchkit.Grouped(scrapedRPS), benchkit.Times(c.rps.Ratio()), benchkit.Fixed(cpu, 2),
		benchkit.Fixed(scrapedCPU, 2), fmt.Sprintf("%s (%s-%s)", benchkit.Times(c.cpuUS.Ratio()), benchkit.Fixed(low, 2), benchkit.Fixed(high, 2)), mark}
}

// withSales opens the sales, and then runs prepare.
func withSales(prepare func(context.Context, *server) error) func(context.Context, *server) error {
	return func(ctx context.Context, s *server) error {
		f, err := benchkit.DialFleet(s.Addr, 1)
		if err != nil {
			return err
		}
		defer f.Close()
		open := benchkit.Traffic{Want: benchkit.Always("+OK"), Append: func(b []byte, n int) []byte {
			return benchkit.Command(b, 6).Arg("SECKILL.CREATE").Numbered("sale:", n, "").Arg("STOCK").Arg("100").Arg("HOLD").Arg("3600000")
		}}
		if _, err := f.Send(ctx, open, adminSales, 16); err != nil || prepare == nil {
			return err
		}
		return prepare(ctx, s)
	}
}

// beScraped scrapes a server's admin port each second, until end is called. end returns the error of a
// scrape.
func (s *server) beScraped(ctx context.Context) (end func() error) {
	if s.product.adminPort == 0 {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		tick := time.NewTicker(scrapeEvery)
		defer tick.Stop()
		for {
			if err := s.scrape(); err != nil {
				ended <- err
				return
			}
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-tick.C:
			}
		}
	}()
	return func() error { cancel(); return <-ended }
}

// scrape reads the metrics once.
func (s *server) scrape() error {
	reply, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", s.product.adminPort))
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("a scrape: %s", reply.Status)
	}
	_, err = io.Copy(io.Discard, reply.Body)
	return err
}
