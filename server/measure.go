package server

import (
	"time"

	"lockserver/commands"
	"lockserver/server/stats"
)

// Measuring: stats.Gauge says what is measured, and how.

// measure runs a command that is timed, and keeps what is to be known of it.
func (ex *executor) measure(s *session, row *commands.Row, argv [][]byte, run func() error) error {
	start := time.Now()
	err := run()
	took := time.Since(start)
	us := took.Microseconds()
	g := &ex.gauge
	g.MeasuredUS += us
	if g.Tracking {
		ex.stats.CountTime(row, us)
	}
	if us >= g.SlowUS && !row.Flags.Has(commands.SkipSlowlog) && s.waiter == nil {
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

// endBatch looks whether the commands that were not timed took long.
func (ex *executor) endBatch(s *session, batch [][][]byte) {
	g := &ex.gauge
	if !g.Together {
		return
	}
	us := ex.clock.NowUS() - ex.store.NowUS() - g.MeasuredUS
	if us < g.SlowUS {
		return
	}
	var largest [][]byte
	var of *commands.Row
	most := -1
	for _, argv := range batch {
		row, err := ex.table.Resolve(argv)
		if err != nil || g.Timed[row.Index()] || row.Flags.Has(commands.SkipSlowlog) {
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
