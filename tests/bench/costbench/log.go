package costbench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"lockserver/tests/bench/benchkit"
)

// The targets of the append-only log, as multiples of Redis' figure.
const (
	alwaysTarget   = 2.0 // requests per second under appendfsync always, at least
	alwaysTail     = 1.0 // their p99, at most
	everySecTarget = 1.0 // CPU per request under appendfsync everysec, at most
	logLoadTarget  = 1.0 // time to start on a log, at most
)

// log measures the costs and the speed of the append-only log.
func (b *bench) log(ctx context.Context) {
	b.Report.Text("## Append-only file\n\nBoth servers with --appendonly yes, on the same disk.")
	b.logAlways(ctx, "log.always", "appendfsync always", b.withLog("always"))
	if b.syncDelay > 0 {
		if slow, err := b.withLog("always").withSyncDelay(b.syncDelay); err != nil {
			b.Report.Failed("log, always, slower disk", err)
		} else {
			b.logAlways(ctx, "log.slow", fmt.Sprintf("appendfsync always, each sync %v longer", b.syncDelay), slow)
		}
	}
	b.logEverySec(ctx)
}

// withLog returns a bench with servers that have a log.
func (b *bench) withLog(fsync string) *bench {
	own := *b
	for i, p := range b.pair {
		own.pair[i].Args = append(slices.Clone(p.Args), "--appendonly", "yes", "--appendfsync", fsync,
			"--auto-aof-rewrite-percentage", "0")
	}
	return &own
}

// withSyncDelay returns a bench with servers that sync more slowly, as on a slower disk. strace delays a
// thread at the end of certain system calls; a filter in the kernel keeps all other calls fast. In
// io_getevents lockserver learns of the end of a sync that the kernel does for it.
func (b *bench) withSyncDelay(delay time.Duration) (*bench, error) {
	strace, err := benchkit.FindTool("strace")
	if err != nil {
		return nil, err
	}
	own := *b
	for i, p := range b.pair {
		own.pair[i].Path = strace
		own.pair[i].Args = append([]string{"-D", "-f", "--seccomp-bpf", "-qq", "-o", os.DevNull, "-e", "trace=fdatasync,fsync,io_getevents",
			"-e", fmt.Sprintf("inject=fdatasync,fsync,io_getevents:delay_exit=%d", delay.Microseconds()), p.Path}, p.Args...)
	}
	return &own, nil
}

// timed holds a measurement with latencies.
type timed struct{ rps, p50MS, p99MS float64 }

// logAlways measures clients that wait for the disk. name is the prefix of its figures.
func (b *bench) logAlways(ctx context.Context, name, title string, logged *bench) {
	requests := b.sizes.singles
	b.Report.Text(fmt.Sprintf("### %s\n\n%d clients, one request at a time each, %s requests, medians of %d round(s), the "+
		"servers in turn. LOCK takes free locks; on Redis it is a Lua script by EVALSHA.", title, clients, benchkit.Grouped(float64(requests)), b.Rounds))
	var rows [][]string
	for _, c := range []kase{
		{name: "SET", traffic: func(product, int) benchkit.Traffic { return setKeys() }},
		{name: "LOCK", native: true, traffic: acquire},
	} {
		var rps, p50, p99 benchkit.Rounds
		if err := logged.compareTimed(ctx, c, requests, func(i int, got timed) {
			rps[i], p50[i], p99[i] = append(rps[i], got.rps), append(p50[i], got.p50MS), append(p99[i], got.p99MS)
		}); err != nil {
			b.Report.Failed("log, always, "+c.name, err)
			continue
		}
		b.Report.AddPair(name+"."+c.name+".per_second", benchkit.Median(rps[0]), benchkit.Median(rps[1]))
		b.Report.AddPair(name+"."+c.name+".p99_ms", benchkit.Median(p99[0]), benchkit.Median(p99[1]))
		for i, p := range b.pair {
			row := []string{c.name, p.Name, benchkit.Grouped(benchkit.Median(rps[i])), "", "", benchkit.Milliseconds(benchkit.Median(p50[i])),
				benchkit.Milliseconds(benchkit.Median(p99[i])), "", ""}
			if i == 1 {
				row[3], row[4] = benchkit.Times(rps.Ratio()), b.Report.AtLeast(c.name+" per second, "+title, rps.Ratio(), alwaysTarget, benchkit.Times)
				row[7], row[8] = benchkit.Times(p99.Ratio()), b.Report.AtMost(c.name+" p99, "+title, p99.Ratio(), alwaysTail, benchkit.Times)
			}
			rows = append(rows, row)
		}
	}
	b.Report.Table([]string{"command", "server", "req/s", "ratio", "target", "p50", "p99", "ratio", "target"}, rows)
}

// compareTimed measures a case on two new servers in turn.
func (b *bench) compareTimed(ctx context.Context, c kase, requests int, record func(i int, got timed)) error {
	var servers [2]*server
	for i, p := range b.pair {
		s, err := b.startFresh(ctx, p)
		if err != nil {
			return err
		}
		defer s.Stop()
		servers[i] = s
	}
	for range b.Rounds {
		for i, s := range servers {
			if err := b.lay(ctx, s, c); err != nil {
				return err
			}
			got, err := measureTimed(ctx, s, c.traffic(s.product, requests), requests)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			b.Say("log: always %-5s %-10s %9.0f req/s p99 %.2f ms", c.name, s.Name, got.rps, got.p99MS)
			record(i, got)
		}
	}
	return nil
}

// measureTimed sends requests as fast as the replies come, one at a time on each connection, and records the
// latencies.
func measureTimed(ctx context.Context, s *server, t benchkit.Traffic, requests int) (timed, error) {
	f, err := benchkit.DialFleet(s.Addr, clients)
	if err != nil {
		return timed{}, err
	}
	defer f.Close()
	per := requests / clients
	latencies := make([][]time.Duration, clients)
	deadline := time.Now().Add(10 * benchkit.Patience)
	time.Sleep(benchkit.StartDelay)
	begun := time.Now()
	err = f.Each(ctx, func(i int, c *benchkit.Conn) error {
		if err := c.SetDeadline(deadline); err != nil {
			return err
		}
		out := make([]byte, 0, 512)
		latencies[i] = make([]time.Duration, 0, per)
		for n := i * per; n < (i+1)*per; n++ {
			from := time.Now()
			if err := c.Write(t.Append(out[:0], n)); err != nil {
				return err
			}
			if err := c.Expect(t.Want(n)); err != nil {
				return err
			}
			latencies[i] = append(latencies[i], time.Since(from))
		}
		return nil
	})
	elapsed := time.Since(begun)
	all := benchkit.Sorted(latencies)
	return timed{float64(len(all)) / elapsed.Seconds(), benchkit.InMS(benchkit.Percentile(all, 0.5)),
		benchkit.InMS(benchkit.Percentile(all, 0.99))}, err
}

// logEverySec measures CPU while the log is synced once a second.
func (b *bench) logEverySec(ctx context.Context) {
	logged := b.withLog("everysec")
	for _, pipeline := range []int{1, 16} {
		requests := b.sizes.singles
		if pipeline > 1 {
			requests = b.sizes.pipelined
		}
		b.Report.Text(fmt.Sprintf("### appendfsync everysec, P=%d, %s requests", pipeline, benchkit.Grouped(float64(requests))))
		var rows [][]string
		for _, c := range cases() {
			if c.name != "SET" && c.name != "HSET" && c.name != "LOCK" {
				continue
			}
			got := logged.compare(ctx, c, requests, pipeline)
			if got.err != nil {
				b.Report.Failed("log, everysec, "+c.name, got.err)
				continue
			}
			redisRPS, oursRPS := got.rps.Medians()
			redisCPU, oursCPU := got.cpuUS.Medians()
			mark := b.Report.AtMost(fmt.Sprintf("CPU of %s at P=%d with a log", c.name, pipeline), got.cpuUS.Ratio(), everySecTarget, benchkit.Times)
			rows = append(rows, []string{c.name, benchkit.Grouped(redisRPS), benchkit.Grouped(oursRPS), benchkit.Times(got.rps.Ratio()),
				benchkit.Fixed(redisCPU, 2), benchkit.Fixed(oursCPU, 2), benchkit.Times(got.cpuUS.Ratio()), mark})
		}
		b.Report.Table([]string{"command", "Redis req/s", "lockserver req/s", "ratio", "Redis CPU µs", "lockserver CPU µs",
			"CPU ratio", "target"}, rows)
	}
}

// logLoad starts each server with the log that it wrote, in turn.
func (b *bench) logLoad(ctx context.Context) {
	logged := b.withLog("no")
	var dirs [2]string
	for i, p := range logged.pair {
		s, err := logged.startFresh(ctx, p)
		if err == nil {
			b.Say("log: loading %s", s.Name)
			err = s.loadKeys(ctx, b.sizes.keys)
			s.Stop()
			dirs[i] = s.Dir
		}
		if err != nil {
			b.Report.Failed("log, load", err)
			return
		}
	}
	var ready benchkit.Rounds
	for range b.Rounds {
		for i, p := range logged.pair {
			ms, _, err := logged.restart(ctx, p, dirs[i])
			if err != nil {
				b.Report.Failed("log, load", err)
				return
			}
			b.Say("log: %s ready after %.1f ms", p.Name, ms)
			ready[i] = append(ready[i], ms)
		}
	}
	redis, ours := ready.Medians()
	b.Report.Text(fmt.Sprintf("### Start on a log of %s SETs\n\nFrom the start of the process to the first PONG: Redis %s, lockserver %s: %s, %s.",
		benchkit.Grouped(float64(b.sizes.keys)), benchkit.Milliseconds(redis), benchkit.Milliseconds(ours), benchkit.Times(ready.Ratio()),
		b.Report.AtMost("time to start on a log", ready.Ratio(), logLoadTarget, benchkit.Times)))
}

// logRewrite records latencies during consecutive rewrites of the log.
func (b *bench) logRewrite(ctx context.Context) {
	b.Report.Text(fmt.Sprintf("### BGREWRITEAOF under load\n\nAs BGSAVE under load, with appendfsync everysec: %s keys, %s requests a second.",
		benchkit.Grouped(float64(b.sizes.keys)), benchkit.Grouped(float64(b.rate))))
	logged := b.withLog("everysec")
	var rows [][]string
	for i, p := range logged.pair {
		got, err := logged.saveUnderLoad(ctx, p, func(ctx context.Context, s *server) (int, error) {
			return writeAgain(ctx, s, "BGREWRITEAOF", "aof_rewrite_in_progress", "aof_last_bgrewrite_status")
		})
		if err != nil {
			b.Report.Failed("log, rewrite", err)
			return
		}
		mark := ""
		if i == 1 {
			mark = b.Report.AtMost("longest pause in BGREWRITEAOF", got.ms(longestSaving), pauseTargetMS, benchkit.Milliseconds)
		}
		rows = append(rows, []string{p.Name, benchkit.Fixed(float64(got.saves()), 0), got.spread(longestQuiet), got.spread(longestSaving), mark,
			benchkit.Milliseconds(got.ms(machineSaving)), benchkit.Milliseconds(got.ms(tailQuiet)), got.spread(tailSaving)})
	}
	b.Report.Table([]string{"server", "rewrites", "longest without", "longest in BGREWRITEAOF", "target", "machine", "p99.9 without",
		"p99.9 in BGREWRITEAOF"}, rows)
}
