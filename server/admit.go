package server

import (
	"math"

	"lockserver/commands"
	"lockserver/server/acl"
)

// What speaks against running a command, apart from what is wrong with its words. Redis looks at these things
// in a fixed order, and clients see which of two comes first.

// admit says whether the session may run a command now. The first that speaks against
// it is named, in Redis' order.
func (s *session) admit(row *commands.Row, argv [][]byte) error {
	ex := s.executor
	if row.Flags.Has(commands.Protected) && !s.mayDebug() {
		return commands.ErrDebugDisabled
	}
	if !s.authenticated && !row.Flags.Has(commands.NoAuth) {
		return commands.ErrNoAuth
	}
	flags := ex.scripts.Flags(row, argv)
	where := acl.TopLevel
	if s.tx.multi != nil {
		if flags.Has(commands.NoMulti) {
			return commands.ErrNotInsideMulti
		}
		if flags.Has(commands.RunsQueue) {
			flags = s.tx.multi.asked(flags)
		}
		where = acl.InMulti
	}
	if err := s.permit(row, argv, where); err != nil {
		return err
	}
	if ex.group != nil {
		if err := s.redirect(row, argv, flags); err != nil {
			return err
		}
	}
	if !ex.busy.on {
		if ex.memory.Pressure.BeganFull = ex.store.Full(); ex.memory.Pressure.BeganFull {
			if err := s.admitFull(row, flags); err != nil {
				return err
			}
		}
	}
	return s.admitHere(row, flags)
}

// admitHere is the rest of admit, what has to do with the server's state and the session's. flags are the
// row's, or those of what it is to run.
func (s *session) admitHere(row *commands.Row, flags commands.Flags) error {
	here := standing{s.executor}
	if s.executor.member != nil {
		if err := s.refusedByGroup(row, flags); err != nil {
			return err
		}
	}
	if flags&(commands.Write|commands.NeedsDisk) != 0 {
		if err := here.refusesWrite(flags); err != nil {
			return err
		}
	}
	if s.subs != nil && s.Out.Proto < 3 && !row.Flags.Has(commands.WhileSubscribed) { // replies and messages could not be distinguished
		return commands.ErrSubscribed(row.FullName())
	}
	if !flags.Has(commands.Stale) && here.stale() {
		return commands.ErrMasterDown
	}
	if here.durable.Loading() && here.refusedByLoad(flags) {
		return commands.ErrLoading
	}
	if s.executor.busy.on && flags&commands.AllowBusy == 0 {
		return s.executor.scripts.BusyError()
	}
	if s.monitors && flags&keyspace != 0 {
		return commands.ErrReplicaKeyspace
	}
	return nil
}

// replyTells is tellsOfData for a session's next command. A Sentinel promotes a server in a transaction. The
// reply to that does not wait for the replicas that are still to come.
func (s *session) replyTells(row *commands.Row) bool {
	if s.tx.multi != nil && row.Flags.Has(commands.RunsQueue) {
		return s.tx.multi.tells || s.tx.watches.Len() > 0 || s.tx.watches.Changed()
	}
	return tellsOfData(row)
}

// admitFull is what admit has to say when memory is full: the command is refused if no key can go and it
// would need more. Queued commands need memory, too, whatever they do.
func (s *session) admitFull(row *commands.Row, flags commands.Flags) error {
	if !s.authenticated || s.executor.durable.Loading() {
		return nil
	}
	freed := s.executor.evict()
	if s.inbox.Len() > 0 && !s.Terminated { // what it may hear of the keys that went comes before the reply
		s.takeInbox()
	}
	switch {
	case s.Terminated: // by the events of what was evicted: its last command has been run
		return commands.ErrOutOfMemory
	case freed:
		s.executor.memory.Pressure.BeganFull = false
		return nil
	}
	if s.tx.multi != nil && flags.Has(commands.RunsQueue) {
		flags = s.tx.multi.flags
	}
	if flags.Has(commands.DenyOOM) {
		return commands.ErrOutOfMemory
	}
	return nil
}

// Most commands touch keys and nothing else. If nothing keeps a session from running one such plain command,
// nothing does before and after each other plain command. So that is checked once for a batch of plain
// commands, and again after each other command.

// plainnessOf finds out the kind of each command, by commands.Row.Index.
func plainnessOf(table *commands.Table) []plainness {
	of := make([]plainness, table.Size())
	for _, row := range table.Rows() {
		switch row.Group {
		case commands.PubSub, commands.Transactions, commands.Connection, commands.Server, commands.Scripting, commands.Cluster:
			if row.Flags.Has(commands.NeedsDisk) {
				of[row.Index()] = plainWrite // see admitHere
			}
			continue
		}
		if !row.NamesFirstKey() || row.Databases.Named != nil || row.Inner != 0 || len(row.Sub) > 0 || row.Flags.Has(commands.NoScript) {
			continue
		}
		if of[row.Index()] = plainRead; row.Flags.Has(commands.Write) {
			of[row.Index()] = plainWrite
		}
	}
	return of
}

// takesFastPath reports whether a plain command of the session can take the short path. Then only the user's
// rights, full memory and a failed disk can prevent it. It runs at once, its reply is sent, and no other
// client sees it. No plain command changes any of that.
func (s *session) takesFastPath() bool {
	ex := s.executor
	return s.authenticated && s.tx.multi == nil && s.subs == nil && !s.monitors && !s.noTouch && s.mute.mode == 0 && s.tracker == nil &&
		!ex.durable.Loading() && !ex.mayBeStale && len(ex.monitors) == 0 && !ex.busy.on && ex.busy.later == nil && ex.pausing.untilMS == 0 && (ex.group == nil || ex.group.Leads(&s.place)) && ex.hook == nil
}

// admitPlain is admit for a plain command of a session that takes the fast path.
func (s *session) admitPlain(row *commands.Row, argv [][]byte) error {
	ex := s.executor
	if !s.User.Unrestricted {
		if err := s.permit(row, argv, acl.TopLevel); err != nil {
			return err
		}
	}
	if ex.settings.OneSlot {
		if err := misplaced(s, row, argv); err != nil {
			return err
		}
	}
	if ex.store.Full() {
		if err := s.admitFull(row, row.Flags); err != nil {
			return err
		}
	}
	if ex.plain[row.Index()] == plainWrite {
		return standing{ex}.refusesWrite(row.Flags)
	}
	return nil
}

// holdWrites holds commands that write until it is called again.
func (ex *executor) holdWrites(on bool) { ex.pausing.hold(&ex.pausing.failover, on) }

// begin holds commands until a time, or longer and more of them if that is in force already; 0: no longer.
func (p *pausing) begin(untilMS int64, all bool) {
	ex := p.executor
	if p.untilMS = max(p.untilMS, untilMS); p.untilMS == 0 {
		return
	}
	p.all = p.all || all
	ex.store.SetFollows(true)
	p.timer.Of = p
	ex.timers.Set(&p.timer, p.untilMS)
}

// Fire implements due.Firer: the pause is over.
func (p *pausing) Fire() { p.end() }

// afterwards runs f as a unit of its own when the pause is over; false: there is none, and it does not.
func (p *pausing) afterwards(f func()) bool {
	if p.untilMS == 0 {
		return false
	}
	p.after = append(p.after, f)
	return true
}

// end lets everyone go on.
func (p *pausing) end() {
	ex := p.executor
	ex.timers.Remove(&p.timer)
	p.untilMS, p.all = 0, false
	if p.failover || p.shutdown {
		p.untilMS = math.MaxInt64
	}
	ex.store.SetFollows(!ex.endsThings())
	if p.untilMS == 0 && ex.waits.Watchdog.Late() {
		ex.waits.Watchdog.CatchUp() // before anything finds the leases over that were not renewed meanwhile
	}
	p.again()
	after := p.after
	p.after = nil
	for _, f := range after { // units of their own, when what ends the pause is done
		ex.host.background(func() { ex.do(f) })
	}
}

// again has the held sessions try again. Those that still must wait are held anew.
func (p *pausing) again() {
	ex := p.executor
	for _, s := range p.held {
		s.held = false
		if !s.Dead {
			s.Info.LastUS = ex.store.NowUS() // it was not idle
			ex.touch(s)
		}
	}
	p.held = nil
}

// hold holds commands that write, for one of two reasons, failover or shutdown, or for that one no longer.
func (p *pausing) hold(reason *bool, on bool) {
	if *reason = on; on {
		p.untilMS = math.MaxInt64
		p.executor.store.SetFollows(true)
	} else {
		p.end()
	}
}

// holds reports whether the session's next command must wait for the end of the pause. As in Redis what is
// refused, with err, need not, unless it waits until it is known which member of the group serves.
func (p *pausing) holds(s *session, row *commands.Row, err error, argv [][]byte) bool {
	if !p.executor.awaitsLeader(err) && (err != nil || !p.covers(s, row, argv)) {
		p.resume(s)
		return false
	}
	if !s.held {
		s.held = true
		p.held = append(p.held, s)
	}
	return true
}

// covers reports whether the pause is for this command.
func (p *pausing) covers(s *session, row *commands.Row, argv [][]byte) bool {
	ex := p.executor
	if ex.busy.on || p.untilMS == 0 {
		return false
	}
	const writing = commands.Write | commands.MayReplicate
	return p.all || ex.scripts.Flags(row, argv)&writing != 0 ||
		row.Flags.Has(commands.RunsQueue) && s.tx.multi != nil && s.tx.multi.flags&writing != 0
}
