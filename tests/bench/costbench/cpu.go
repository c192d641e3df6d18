package costbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockserver/tests/bench/benchkit"
)

const cpuSection = "cpu"

// The targets: CPU for each request as a share of Redis', without and with a pipeline of 16.
const (
	plainSingle, plainPipelined   = 1.0, 0.65
	nativeSingle, nativePipelined = 0.6, 0.3
	scriptTarget                  = 1.0
	wideSingle, widePipelined     = 1.0, 0.8
)

// sample is a measurement of one server.
type sample struct {
	rps   float64 // requests per second
	cpuUS float64 // CPU of the server process per request, in microseconds
}

// comparison is a case at one pipeline depth.
type comparison struct {
	kase
	rps, cpuUS benchkit.Rounds
	floorUS    []float64 // CPU of the floor for each request in microseconds, a value for each round; empty if it was not measured
	err        error
}

// chosenCases returns the cases that -only selects.
func (b *bench) chosenCases() []kase {
	var list []kase
	for _, c := range cases() {
		if b.WantsPart(cpuSection, c.name) {
			list = append(list, c)
		}
	}
	return list
}

// cpu measures every case without and with a pipeline.
func (b *bench) cpu(ctx context.Context) {
	own := *b // other sections measure servers in special states, for which there is no floor
	var err error
	if own.floor, err = floorProduct(); err != nil {
		b.Report.Failed(cpuSection, err)
		return
	}
	b.Report.Text(fmt.Sprintf("## CPU per request\n\n%d clients, values of %d bytes, random keys, fields and members of %d, "+
		"medians of %d round(s), the servers in turn. CPU is user and system time of the server process; in brackets "+
		"the lowest and highest ratio of a round. LOCK enters keys at random, mostly again. LOCK-NEW takes free locks only, UNLOCK releases them, LOCK+UNLOCK does both in turn. On Redis, these and SECKILL are Lua scripts by EVALSHA. "+
		"The EVALSHA-... run the same scripts on both.",
		clients, valueBytes, keyRange, b.Rounds))
	for _, pipeline := range []int{1, 16} {
		requests := b.sizes.singles
		if pipeline > 1 {
			requests = b.sizes.pipelined
		}
		b.Report.Text(fmt.Sprintf("### P=%d, %s requests", pipeline, benchkit.Grouped(float64(requests))))
		var rows, above [][]string
		for _, c := range b.chosenCases() {
			got := own.compare(ctx, c, requests/max(c.weight, 1), pipeline)
			rows = append(rows, b.row(got, pipeline))
			if got.err == nil && len(got.floorUS) > 0 {
				above = append(above, b.ownRow(got, pipeline))
			}
		}
		b.Report.Table([]string{"command", b.pair[0].Name + " req/s", "lockserver req/s", "ratio", b.pair[0].Name + " CPU µs", "lockserver CPU µs",
			"CPU ratio", "target"}, rows)
		b.ownTable(above, pipeline)
	}
}

func (b *bench) row(c comparison, pipeline int) []string {
	if c.err != nil {
		what := fmt.Sprintf("%s at P=%d", c.name, pipeline)
		b.Report.Failures = append(b.Report.Failures, benchkit.OneLine(what+": "+c.err.Error()))
		return []string{c.name, "", "", "", "", "", "", "could not run"}
	}
	redisRPS, oursRPS := c.rps.Medians()
	redisCPU, oursCPU := c.cpuUS.Medians()
	low, high := c.cpuUS.Spread()
	name := fmt.Sprintf("cpu.%s.p%d", c.name, pipeline)
	b.Report.AddPair(name+".us", redisCPU, oursCPU)
	b.Report.AddPair(name+".per_second", redisRPS, oursRPS)
	mark := b.Report.AtMost(fmt.Sprintf("CPU of %s at P=%d", c.name, pipeline), c.cpuUS.Ratio(), c.target(pipeline), benchkit.Times)
	return []string{c.name, benchkit.Grouped(redisRPS), benchkit.Grouped(oursRPS), benchkit.Times(c.rps.Ratio()),
		benchkit.Fixed(redisCPU, 2), benchkit.Fixed(oursCPU, 2),
		fmt.Sprintf("%s (%s-%s)", benchkit.Times(c.cpuUS.Ratio()), benchkit.Fixed(low, 2), benchkit.Fixed(high, 2)), mark}
}

func (c kase) target(pipeline int) float64 {
	switch {
	case c.script:
		return scriptTarget
	case c.native && pipeline > 1:
		return nativePipelined
	case c.native:
		return nativeSingle
	case c.wide && pipeline > 1:
		return widePipelined
	case c.wide:
		return wideSingle
	case pipeline > 1:
		return plainPipelined
	}
	return plainSingle
}

// compare measures a case on two new servers, and on the floor if it has one, in turns: A B F A B F.
func (b *bench) compare(ctx context.Context, c kase, requests, pipeline int) comparison {
	got := comparison{kase: c}
	products := b.pair[:]
	if b.aboveFloor(c) {
		products = append(slices.Clone(products), b.floor)
	}
	servers := make([]*server, len(products))
	for i, p := range products {
		s, err := b.startFresh(ctx, p)
		if err != nil {
			got.err = err
			return got
		}
		defer s.Stop()
		servers[i] = s
	}
	for range b.Rounds {
		for i, s := range servers {
			end := s.beScraped(ctx)
			m, err := b.measure(ctx, s, c, requests, pipeline)
			if failed := end(); err == nil {
				err = failed
			}
			if err != nil {
				got.err = err
				return got
			}
			b.Say("%-12s P=%-2d %-10s %9.0f req/s %7.2f us", c.name, pipeline, s.Name, m.rps, m.cpuUS)
			if s.product.floor {
				got.floorUS = append(got.floorUS, m.cpuUS)
				continue
			}
			got.rps[i] = append(got.rps[i], m.rps)
			got.cpuUS[i] = append(got.cpuUS[i], m.cpuUS)
		}
	}
	return got
}

// measure runs a case once on one server, which it empties first.
func (b *bench) measure(ctx context.Context, s *server, c kase, requests, pipeline int) (sample, error) {
	if s.product.floor {
		c = c.onFloor()
	}
	if err := b.lay(ctx, s, c); err != nil {
		return sample{}, err
	}
	ears, err := listen(s, c.listeners)
	if err != nil {
		return sample{}, err
	}
	defer ears.Close()
	var m sample
	if c.traffic == nil {
		m, requests, err = b.measureTool(ctx, s, c, requests, pipeline)
	} else {
		m, requests, err = measureTraffic(ctx, s, c, requests, pipeline)
	}
	if err == nil && c.verify != nil {
		err = c.verify(s, requests)
	}
	return m, err
}

// lay empties the server and prepares it for the case.
func (b *bench) lay(ctx context.Context, s *server, c kase) error {
	if _, err := s.Do("FLUSHALL"); err != nil {
		return err
	}
	if c.script || c.native && !s.product.native {
		for _, script := range []string{getScript, lockScript, unlockScript, saleScript} {
			hash, err := s.Do("SCRIPT", "LOAD", script)
			if err == nil && hash != scriptHash(script) {
				err = errors.New("the server's hash of a script is another than ours: " + hash)
			}
			if err != nil {
				return err
			}
		}
	}
	if c.prepare != nil {
		return c.prepare(ctx, s)
	}
	return nil
}

// measureTool runs redis-benchmark, after a tenth of the requests as a warm-up.
func (b *bench) measureTool(ctx context.Context, s *server, c kase, requests, pipeline int) (sample, int, error) {
	command := c.command(s.product)
	if _, err := b.tools.run(ctx, s, command, max(requests/10, clients), pipeline, c.keys); err != nil {
		return sample{}, 0, fmt.Errorf("%s: %w", s.Name, err)
	}
	time.Sleep(benchkit.StartDelay)
	before, err := s.CPU()
	if err != nil {
		return sample{}, 0, err
	}
	rps, err := b.tools.run(ctx, s, command, requests, pipeline, c.keys)
	if err != nil {
		return sample{}, 0, fmt.Errorf("%s: %w", s.Name, err)
	}
	after, err := s.CPU()
	return sample{rps, perRequestUS(after-before, requests)}, requests, err
}

// measureTraffic runs our own generator. The warm-up is a tenth of the requests, which take and release
// locks.
func measureTraffic(ctx context.Context, s *server, c kase, requests, pipeline int) (sample, int, error) {
	fail := func(err error) (sample, int, error) { return sample{}, 0, fmt.Errorf("%s: %w", s.Name, err) }
	f, err := benchkit.DialFleet(s.Addr, clients)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	if !c.wide {
		warm := benchkit.Split(requests/10, clients, pipeline) * clients
		pairs := acquireAndRelease(s.product, warm)
		if s.product.floor {
			pairs.Want = answeredOK
		}
		if _, err := f.Send(ctx, pairs, warm, pipeline); err != nil {
			return fail(err)
		}
	}
	n := benchkit.Split(requests, clients, pipeline) * clients
	if c.supply != nil {
		if err := c.supply(ctx, s, n); err != nil {
			return fail(err)
		}
	}
	if c.before != nil {
		if _, err := f.Send(ctx, c.before(s.product, n), n, pipeline); err != nil {
			return fail(err)
		}
	}
	time.Sleep(benchkit.StartDelay)
	before, err := s.CPU()
	if err != nil {
		return fail(err)
	}
	begun := time.Now()
	sent, err := f.Send(ctx, c.traffic(s.product, n), n, pipeline)
	elapsed := time.Since(begun)
	if err != nil {
		return fail(err)
	}
	after, err := s.CPU()
	return sample{float64(sent) / elapsed.Seconds(), perRequestUS(after-before, sent)}, sent, err
}

func perRequestUS(cpu time.Duration, requests int) float64 {
	return float64(cpu) / float64(time.Microsecond) / float64(requests)
}
