package server

import (
	"time"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/resp"
	"lockserver/server/stats"
	"lockserver/server/topology"
)

// How one command of a session runs: it is admitted (admit.go) or queued (transaction_cmd.go), called and
// counted, and its unit is ended.

// run executes one command of a session as a unit. row may be nil: it is then looked up. held says that the
// command has to wait for the end of CLIENT PAUSE instead.
func (ex *executor) run(s *session, row *commands.Row, argv [][]byte) (held bool) {
	var err error
	if row == nil {
		row, err = ex.Table.Resolve(argv)
	}
	if ex.fastPath && err == nil && ex.plain[row.Index()] != notPlain {
		ex.runPlain(s, row, argv)
		return false
	}
	ex.PlainSlice = false
	held = ex.runAny(s, row, err, argv)
	ex.fastPath = s.takesFastPath()
	return held
}

// runPlain is runAny for a plain command of a session that takes the fast path.
func (ex *executor) runPlain(s *session, row *commands.Row, argv [][]byte) {
	s.lastRow, s.Tells = row, s.Tells || row.Flags&keyspace != 0
	if s.inbox.Len() > 0 {
		s.takeInbox()
	}
	err := s.admitPlain(row, argv)
	mark := s.Out.Mark() // it may have got messages about evicted keys
	if err == nil {
		err = ex.count(s, row, argv)
	} else {
		ex.Stats.Of(row).Rejected++
	}
	if err != nil {
		ex.Refuse(&s.Party, mark, err)
	}
	if len(s.Out.Buf)-mark >= ex.Gauge.ReplyBytes {
		meter{ex}.logReply(s, row, argv, mark)
	}
	s.checkOutput()
	ex.EndUnit()
	ex.credit(s)
}

// credit records that a session has written what was appended to the log and to the history.
func (ex *executor) credit(s *session) {
	if log := ex.Durable.Log(); log != nil {
		log.Credit(&s.Mark)
	}
	if ex.Replication.Fresh() {
		s.Written = ex.Replication.Credit()
	}
}

// count runs a command that was admitted, and counts and measures it. A command that waits is counted when
// its wait is over: see countWaited.
func (ex *executor) count(s *session, row *commands.Row, argv [][]byte) error {
	if ex.Gauge.Timed[row.Index()] {
		return ex.countMeasured(s, row, argv, func() error { return ex.call(s, row, argv) })
	}
	of := ex.Stats.Of(row)
	timed := of.Called()
	var took time.Duration
	var err error
	if timed {
		start := time.Now()
		err = ex.call(s, row, argv)
		took = time.Since(start)
	} else {
		err = ex.call(s, row, argv)
	}
	if w := s.Waiter; w != nil {
		of.Uncalled()
		if w.Timed = timed; timed {
			w.Take(took)
		}
		return nil
	}
	if timed {
		of.Took(took)
	}
	ex.Stats.Total++
	if err != nil {
		of.Failed++
	}
	return err
}

// countMeasured is count for a command that is measured each time; s is nil if a script has called it.
func (ex *executor) countMeasured(s *session, row *commands.Row, argv [][]byte, run func() error) error {
	of := ex.Stats.Of(row)
	of.Called()
	took, err := meter{ex}.measure(row, run)
	if s != nil && s.Waiter != nil {
		w := s.Waiter
		of.Uncalled()
		w.Timed = true
		w.Take(took)
		return nil
	}
	of.Took(took)
	ex.Stats.Total++
	if err != nil {
		of.Failed++
	}
	meter{ex}.logSlow(s, row, argv, took)
	return err
}

// runAny is run for whatever command in whatever state; err is why there is no row.
func (ex *executor) runAny(s *session, row *commands.Row, err error, argv [][]byte) (held bool) {
	s.lastRow = row
	s.Tells = s.Tells || row != nil && replyTells(s, row)
	if s.inbox.Len() > 0 {
		s.takeInbox()
	}
	if s.unblocked {
		s.unblocked = false
		mark := s.Out.Mark()
		ex.Refuse(&s.Party, mark, commands.ErrUnblocked)
		s.afterReply(mark)
		return false
	}
	if err == nil {
		if err = s.admit(row, argv); err != nil {
			ex.Stats.Of(row).Rejected++
		}
	} else if called := ex.Table.Called(argv); called != nil {
		ex.Stats.Of(called).Rejected++
		s.lastRow = called
	}
	if (ex.Pausing.UntilMS != 0 || s.Held || err != nil && ex.Member != nil) && s.waitsForPause(row, err, argv) {
		return true
	}
	mark := s.Out.Mark() // it may have got messages about evicted keys
	queued := false
	if s.tx.multi != nil || err != nil {
		queued, err = s.intercept(row, argv, err)
	}
	if err == nil && !queued {
		if s.noTouch {
			ex.Store.SetNoTouch(true)
		}
		if ex.hook != nil {
			err = ex.hook.run(s, row, argv)
		} else {
			err = ex.count(s, row, argv)
		}
		ex.Store.SetNoTouch(false) // even if the command was CLIENT NO-TOUCH OFF
		if len(ex.monitors) > 0 {
			ex.show(s, row, s.DB.ID(), argv)
			ex.tracking.TellOwn()
		}
	}
	if err != nil {
		if row == nil && isHTTP(argv[0]) {
			s.refuseHTTP()
		}
		ex.Refuse(&s.Party, mark, err)
	}
	if len(s.Out.Buf)-mark >= ex.Gauge.ReplyBytes && !s.mute.mode.isMuted() && s.Waiter == nil && row != nil {
		meter{ex}.logReply(s, row, argv, mark)
	}
	s.afterReply(mark)
	if s.tracker != nil && s.tracker.Caching && s.Waiter == nil && s.tx.multi == nil {
		s.tracker.EndCaching(row)
	}
	if ex.Busy.On {
		return false // in the middle of the unit of another session's script
	}
	ex.EndUnit()
	if ex.Busy.Later != nil {
		ex.DoLater()
	}
	ex.credit(s)
	return false
}

// call runs a handler and contains its panic.
func (ex *executor) call(s *session, row *commands.Row, argv [][]byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ex.Panicked(row, p)
		}
	}()
	c := &ex.Ctx
	if ex.Busy.On { // the script's command needs that one still
		c = new(commands.Ctx)
	}
	ex.Prepare(c, &s.Party, row, argv)
	if ex.tracking.InUse() {
		return ex.tracking.Run(c, s)
	}
	return row.Run(c)
}

// nested runs a command inside another: see commands.Services.
func (ex *executor) nested(c *commands.Ctx, row *commands.Row, argv [][]byte) error {
	s := sessionOf(c)
	if c.FromScript {
		if err := ex.scripts.Admit(row); err != nil {
			return err
		}
	} else {
		if row.Flags.Has(commands.DenyOOM) && ex.Store.Full() && !ex.Memory.Pressure.Evicting { // keys have been evicted already, if that was possible
			return commands.ErrOutOfMemory
		}
		if err := s.admitHere(row, row.Flags); err != nil {
			return err
		}
	}
	inner := *c
	inner.Row, inner.Argv, inner.MayBlock, inner.Traced = row, argv, false, false
	return ex.CountNested(row, func() error {
		return ex.Contain(row, func() error {
			if ex.tracking.InUse() {
				return ex.tracking.Run(&inner, s)
			}
			return row.Run(&inner)
		})
	})
}

// Measuring: stats.Gauge says what is measured, and how.

// longCommand is how long a measured command takes that ends its slice. As in Redis the client's next command
// in the same pipeline sees its own time. Short commands see the time of their slice.
const longCommand = time.Millisecond

// measure runs a command that is timed.
func (ex meter) measure(row *commands.Row, run func() error) (took time.Duration, err error) {
	start := time.Now()
	err = run()
	took = time.Since(start)
	if took >= longCommand {
		ex.Waits.MostOutcomes = 0
	}
	ex.Gauge.Took(row, took.Microseconds())
	event := "command"
	if row.Flags.Has(commands.Fast) {
		event = "fast-command"
	}
	ex.Stats.Events.Add(event, ex.Store.NowUS()/1_000_000, took.Milliseconds())
	return took, err
}

// logSlow keeps a command if it took long. For a command that a script has called, s is nil.
func (ex meter) logSlow(s *session, row *commands.Row, argv [][]byte, took time.Duration) {
	us := took.Microseconds()
	if us < ex.Gauge.SlowUS || row.Flags.Has(commands.SkipSlowlog) {
		return
	}
	ex.addToLog(&ex.Stats.Slow, s, us, row.Redact(argv))
}

// Adds a command to one of the logs for the operator.
func (ex meter) addToLog(log *stats.SlowLog, s *session, figure int64, args [][]byte) {
	entry := stats.SlowEntry{AtS: ex.Store.NowUS() / 1_000_000, Figure: figure, Args: args}
	if s != nil {
		entry.Addr, entry.Name = s.Info.Addr, s.Info.Name
	}
	log.Add(entry)
}

// logReply keeps a command with a large reply, which begins at a mark of the output.
func (ex meter) logReply(s *session, row *commands.Row, argv [][]byte, mark int) {
	if !row.Flags.Has(commands.SkipSlowlog) {
		ex.addToLog(&ex.Stats.Replies, s, int64(len(s.Out.Buf)-mark), row.Redact(argv))
	}
}

// logRequests keeps the large ones of a batch.
func (ex meter) logRequests(s *session, batch [][][]byte) {
	for _, argv := range batch {
		size := resp.RequestSize(argv)
		if size < ex.Gauge.RequestBytes {
			continue
		}
		if row, err := ex.Table.Resolve(argv); err == nil && !row.Flags.Has(commands.SkipSlowlog) {
			ex.addToLog(&ex.Stats.Requests, s, int64(size), row.Redact(argv))
		}
	}
}

// sampleRates records what is counted for the rates of INFO, before more is counted.
func (ex meter) sampleRates() {
	ex.Stats.Rates.Sample(ex.Store.NowUS(), stats.Sums{Commands: ex.Stats.Total, Traffic: ex.Stats.Traffic})
}

// endBatch counts a batch, and looks whether the commands of it that were not timed took long.
func (ex meter) endBatch(s *session, batch [][][]byte) {
	g := &ex.Gauge
	us := ex.TookUS()
	ex.Stats.Traffic.Batch(us)
	if s.in.most >= g.RequestBytes {
		ex.logRequests(s, batch)
	}
	if us >= stats.HeldUS {
		ex.reportHeld(s, batch, us)
	}
	if us -= g.MeasuredUS; !g.Together || us < g.SlowUS {
		return
	}
	if of, largest := ex.largestUntimed(batch); largest != nil {
		ex.logSlow(s, of, largest, time.Duration(us)*time.Microsecond)
	}
}

// largestUntimed is the command of a batch that has the most data, among those that were not timed.
func (ex meter) largestUntimed(batch [][][]byte) (of *commands.Row, largest [][]byte) {
	most := -1
	for _, argv := range batch {
		row, err := ex.Table.Resolve(argv)
		if err != nil || ex.Gauge.Timed[row.Index()] || row.Flags.Has(commands.SkipSlowlog) {
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
	return of, largest
}

// reportHeld logs that a batch kept all other clients waiting for us microseconds. The log gets no values
// that a client sent. It names the command that took longest, if it was timed, or else, as for SLOWLOG, the
// largest.
func (ex meter) reportHeld(s *session, batch [][][]byte, us int64) {
	silent, due := ex.Stats.Held.Due(ex.Clock.NowUS())
	if !due {
		return
	}
	of := ex.Gauge.Longest
	if ex.Gauge.MeasuredUS < us/2 {
		if row, _ := ex.largestUntimed(batch); row != nil {
			of = row
		}
	}
	command := ""
	if of != nil {
		command = of.FullName()
	}
	ex.Logger.Warn("one client's commands have kept all others waiting", "ms", us/1000, "command", command, "commands", len(batch),
		"id", s.Number, "address", s.Info.Addr, "name", s.Info.Name, "lib", s.Info.LibName, "not-logged-before", silent)
}

// intercept handles a command between MULTI and EXEC. It refuses or queues the command, or does neither if
// the command is immediate. err is the refusal of the same command outside of a transaction. Without a
// transaction intercept only words the refusal of EXEC.
func (s *session) intercept(row *commands.Row, argv [][]byte, err error) (queued bool, _ error) {
	tx := s.tx.multi
	if err == nil && row.Flags.Has(commands.Immediate) {
		return false, nil
	}
	if err != nil {
		ex := s.executor
		if known := ex.Table.Lookup(argv[0]); known != nil && known.Flags.Has(commands.RunsQueue) {
			s.discard()
			if len(ex.monitors) > 0 {
				ex.show(s, known, s.DB.ID(), argv)
			}
			if _, elsewhere := err.(topology.Redirection); elsewhere {
				return false, err
			}
			return false, commands.ErrExecAbortedBy(err)
		}
		if tx != nil {
			tx.aborted = true
		}
		return false, err
	}
	if !tx.aborted && !s.tx.watches.Changed() { // what will not run is not worth the memory
		tx.add(row, s.executor.scripts.Flags(row, argv), argv)
		if row.Flags.Has(commands.InLog) {
			tx.choose(s.executor.Store, argv)
		}
	}
	s.Out.Simple("QUEUED")
	return true, nil
}

// isHTTP reports whether a word that is no command begins a line of HTTP. A web page can make a browser send
// a POST to a port on the user's own machine. The lines of its body would be taken for inline commands. So,
// as in Redis, the server closes the connection at the first of these two words.
func isHTTP(name []byte) bool { return ascii.EqualFold(name, "post") || ascii.EqualFold(name, "host:") }

// refuseHTTP ends the connection without a reply; replies of this batch are dropped.
func (s *session) refuseHTTP() {
	s.executor.Logger.Warn("possible attack: a browser was made to send HTTP to this port; the connection is closed",
		"client", s.Number, "address", s.Info.Addr)
	// plant:refuse-http
	s.executor.terminate(s)
}
