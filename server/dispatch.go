package server

import (
	"time"

	"lockserver/commands"
	"lockserver/server/stats"
)

// How one command of a session runs: it is admitted (admit.go) or queued (transaction_cmd.go), called and
// counted, and its unit is ended.

// run executes one command of a session as a unit. row may be nil: it is then looked up.
func (ex *executor) run(s *session, row *commands.Row, argv [][]byte) {
	var err error
	if row == nil {
		row, err = ex.table.Resolve(argv)
	}
	if ex.fastPath && err == nil && ex.plain[row.Index()] != notPlain {
		ex.runPlain(s, row, argv)
		return
	}
	ex.runAny(s, row, err, argv)
	ex.fastPath = s.takesFastPath()
}

// runPlain is runAny for a plain command of a session that takes the fast path.
func (ex *executor) runPlain(s *session, row *commands.Row, argv [][]byte) {
	s.lastRow = row
	if len(s.inbox) > 0 {
		s.takeInbox()
	}
	mark := s.out.Mark()
	ex.total++
	err := s.admitPlain(row, argv)
	if err == nil {
		err = ex.count(s, row, argv)
	} else {
		ex.stats.Commands[row.Index()].Rejected++
	}
	if err != nil {
		ex.refuse(s, mark, err)
	}
	s.checkOutput()
	ex.endUnit()
	if log := ex.durable.Log(); log != nil {
		log.Credit(&s.mark)
	}
}

// count runs a command that was admitted, and counts and measures it.
func (ex *executor) count(s *session, row *commands.Row, argv [][]byte) error {
	if ex.gauge.Timed[row.Index()] {
		return ex.countMeasured(s, row, argv, func() error { return ex.call(s, row, argv) })
	}
	of := &ex.stats.Commands[row.Index()]
	var err error
	if of.Called() {
		start := time.Now()
		err = ex.call(s, row, argv)
		of.Took(time.Since(start))
	} else {
		err = ex.call(s, row, argv)
	}
	if err != nil {
		of.Failed++
	}
	return err
}

// countMeasured is count for a command that is measured each time.
func (ex *executor) countMeasured(s *session, row *commands.Row, argv [][]byte, run func() error) error {
	of := &ex.stats.Commands[row.Index()]
	of.Called()
	err := ex.measure(s, row, argv, run)
	if err != nil {
		of.Failed++
	}
	return err
}

// countNested is count for what runs inside of another command: a script, a transaction, GUARD.
func (ex *executor) countNested(row *commands.Row, run func() error) error {
	of := &ex.stats.Commands[row.Index()]
	var err error
	if of.Called() {
		start := time.Now()
		err = run()
		of.Took(time.Since(start))
	} else {
		err = run()
	}
	if err != nil {
		of.Failed++
	}
	return err
}

// refuse replaces what a command has replied so far by an error, and counts that.
func (ex *executor) refuse(s *session, mark int, err error) {
	s.out.Rollback(mark)
	s.out.Error(err.Error())
	ex.stats.Errors.Count(err.Error())
}

// runAny is run for whatever command in whatever state; err is why there is no row.
func (ex *executor) runAny(s *session, row *commands.Row, err error, argv [][]byte) {
	s.lastRow = row
	if len(s.inbox) > 0 {
		s.takeInbox()
	}
	mark := s.out.Mark()
	ex.total++
	if err == nil {
		if err = s.admit(row, argv); err != nil {
			ex.stats.Commands[row.Index()].Rejected++
		}
	} else if called := ex.table.Called(argv); called != nil {
		ex.stats.Commands[called.Index()].Rejected++
	}
	queued := false
	if s.multi != nil || err != nil {
		queued, err = s.intercept(row, argv, err)
	}
	if err == nil && !queued {
		if s.noTouch {
			ex.store.SetNoTouch(true)
		}
		err = ex.count(s, row, argv)
		if s.noTouch {
			ex.store.SetNoTouch(false)
		}
		if len(ex.monitors) > 0 {
			ex.show(s, row, s.db.ID(), argv)
		}
	}
	if err != nil {
		if row == nil && isHTTP(argv[0]) {
			s.refuseHTTP()
		}
		ex.refuse(s, mark, err)
	}
	s.afterReply(mark)
	if s.tracker != nil && s.tracker.Caching {
		s.endCaching(row)
	}
	if ex.busy.on {
		return // in the middle of the unit of another session's script
	}
	ex.endUnit()
	if ex.busy.later != nil {
		ex.doLater()
	}
	if log := ex.durable.Log(); log != nil {
		log.Credit(&s.mark)
	}
}

// call runs a handler and contains its panic.
func (ex *executor) call(s *session, row *commands.Row, argv [][]byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ex.panicked(row, p)
		}
	}()
	c := &ex.ctx
	if ex.busy.on { // the script's command needs that one still
		c = new(commands.Ctx)
	}
	ex.prepare(c, s, row, argv)
	if ex.tracking.InUse() {
		return ex.runTracked(c, s)
	}
	return row.Run(c)
}

// nested runs a command inside another: see commands.Host.
func (ex *executor) nested(c *commands.Ctx, row *commands.Row, argv [][]byte) error {
	s := c.Session.(*session)
	if c.FromScript {
		if err := ex.scripts.Admit(row); err != nil {
			return err
		}
	} else {
		if row.Flags.Has(commands.DenyOOM) && ex.store.Full() && !ex.evicting { // room has been made already, if that was possible
			return commands.ErrOutOfMemory
		}
		if err := s.admitHere(row, row.Flags); err != nil {
			return err
		}
	}
	inner := *c
	inner.Row, inner.Argv, inner.MayBlock = row, argv, false
	return ex.countNested(row, func() error {
		return ex.contain(row, func() error {
			if ex.tracking.InUse() {
				return ex.runTracked(&inner, s)
			}
			return row.Run(&inner)
		})
	})
}

// Measuring: stats.Gauge says what is measured, and how.

// measure runs a command that is timed, and keeps what is to be known of it.
func (ex *executor) measure(s *session, row *commands.Row, argv [][]byte, run func() error) error {
	start := time.Now()
	err := run()
	took := time.Since(start)
	us := took.Microseconds()
	g := &ex.gauge
	g.MeasuredUS += us
	ex.stats.Commands[row.Index()].Took(took)
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

// intercept is what becomes of a command between MULTI and EXEC: refused, queued, or, if it is
// immediate, neither. err is what a command sent alone would be refused with. Outside a transaction
// it only words the refusal of EXEC.
func (s *session) intercept(row *commands.Row, argv [][]byte, err error) (queued bool, _ error) {
	tx := s.multi
	if err == nil && row.Flags.Has(commands.Immediate) {
		return false, nil
	}
	if err != nil {
		ex := s.executor
		if known := ex.table.Lookup(argv[0]); known != nil && known.Flags.Has(commands.RunsQueue) {
			s.discard()
			if len(ex.monitors) > 0 {
				ex.show(s, known, s.db.ID(), argv)
			}
			return false, commands.ErrExecAbortedBy(err)
		}
		if tx != nil {
			tx.aborted = true
		}
		return false, err
	}
	if !tx.aborted { // what will not run is not worth the memory
		tx.add(row, s.executor.scripts.Flags(row, argv), argv)
	}
	s.out.Simple("QUEUED")
	return true, nil
}
