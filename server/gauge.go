package server

import (
	"math"
	"time"

	"lockserver/commands"
	"lockserver/server/stats"
)

// How long commands take. Reading the clock for each of a pipeline's short commands would be a good part of
// what they cost, so each command is measured for itself only where somebody wants to know it that exactly:
// for LATENCY, or with slowlog-log-slower-than below a millisecond. Otherwise commands whose time may grow
// with the data are measured, one by one, and those of constant time are together, a batch at a time: the
// batch's start is known anyway, so that is one more look at the clock for all of them. If they took long
// together, it was most likely the one with the most data, and that one is held responsible.

// exactBelowUS is the slowlog-log-slower-than below which every command is measured for itself.
const exactBelowUS = 1000

// gauge measures. It is only touched under the executor.
type gauge struct {
	timed      []bool // by commands.Row.Index(): the command is measured for itself
	slowUS     int64  // slowlog-log-slower-than; math.MaxInt64: never
	tracking   bool   // latency-tracking
	together   bool   // commands that are not timed are measured a batch at a time
	measuredUS int64  // of this batch: what the timed commands took
}

// configure follows the directives.
func (g *gauge) configure(table *commands.Table, slowUS, latencyMS int64, tracking bool) {
	g.slowUS, g.tracking = slowUS, tracking
	if slowUS < 0 {
		g.slowUS = math.MaxInt64
	}
	all := tracking || latencyMS > 0 || g.slowUS < exactBelowUS
	g.together = !all && slowUS >= 0
	g.timed = make([]bool, table.Size())
	for _, row := range table.Rows() {
		g.timed[row.Index()] = all || g.together && !isShort(row)
		for _, sub := range row.Subcommands() {
			g.timed[sub.Index()] = all || g.together && !isShort(sub)
		}
	}
}

// isShort reports whether a command takes about the same time whatever the data are.
func isShort(row *commands.Row) bool {
	return row.Flags.Has(commands.Fast) || row.Complexity == "O(1)" && !row.Flags.Has(commands.Admin)
}

// measure runs a command that is timed, and keeps what is to be known of it.
func (ex *executor) measure(s *session, row *commands.Row, argv [][]byte, run func() error) error {
	start := time.Now()
	err := run()
	took := time.Since(start)
	us := took.Microseconds()
	g := &ex.gauge
	g.measuredUS += us
	if g.tracking {
		ex.stats.CountTime(row, us)
	}
	if us >= g.slowUS && !row.Flags.Has(commands.SkipSlowlog) && s.waiter == nil {
		ex.noteSlow(s, us, row.Redact(argv))
	}
	event := "command"
	if row.Flags.Has(commands.Fast) {
		event = "fast-command"
	}
	ex.stats.Events.Add(event, ex.store.NowUS()/1_000_000, took.Milliseconds())
	return err
}

// noteSlow keeps a command that took long.
func (ex *executor) noteSlow(s *session, tookUS int64, args [][]byte) {
	ex.stats.Slow.Add(stats.SlowEntry{AtS: ex.store.NowUS() / 1_000_000, TookUS: tookUS, Args: args,
		Addr: s.info.addr, Name: s.info.name})
}

// beginBatch begins to measure commands together.
func (g *gauge) beginBatch() { g.measuredUS = 0 }

// endBatch looks whether the commands that were not timed took long.
func (ex *executor) endBatch(s *session, batch [][][]byte) {
	g := &ex.gauge
	if !g.together {
		return
	}
	us := ex.clock.NowUS() - ex.store.NowUS() - g.measuredUS
	if us < g.slowUS {
		return
	}
	var largest [][]byte
	var of *commands.Row
	most := -1
	for _, argv := range batch {
		row, err := ex.table.Resolve(argv)
		if err != nil || g.timed[row.Index()] || row.Flags.Has(commands.SkipSlowlog) {
			continue
		}
		bytes := 0
		for _, arg := range argv {
			bytes += len(arg)
		}
		if bytes > most {
			largest, of, most = argv, row, bytes
		}
	}
	if largest != nil {
		ex.noteSlow(s, us, of.Redact(largest))
	}
}
