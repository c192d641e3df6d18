package server

import (
	"lockserver/commands"
	"lockserver/server/acl"
	"lockserver/server/shard"
)

// Reasons to refuse a command, apart from wrong words. Redis checks them in a fixed order, and clients see
// which of two reasons comes first.

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
	if !ex.Busy.On {
		if ex.Memory.Pressure.BeganFull = ex.Store.Full(); ex.Memory.Pressure.BeganFull {
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
	if s.executor.Member != nil {
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
	if here.Durable.Loading() && here.refusedByLoad(flags) {
		return commands.ErrLoading
	}
	if s.executor.Busy.On && flags&commands.AllowBusy == 0 {
		return s.executor.scripts.BusyError()
	}
	if s.monitors && flags&keyspace != 0 {
		return commands.ErrReplicaKeyspace
	}
	return nil
}

// standing is the executor as far as its state refuses the commands of any client. Each way to run a command
// asks it: a client's command (admitHere), the calls of scripts (script_host.go), and what has waited
// (refusesWaiter).
type standing struct{ *executor }

// stale reports whether the data may be old, because there is no link to the master, and is not to be shown.
func (ex standing) stale() bool {
	return ex.Follows && !ex.config.Replication.ServeStale && !ex.Replication.LinkUp()
}

// isReadOnly reports whether the server is a replica that its clients may not write to.
func (ex standing) isReadOnly() bool {
	return ex.guarded && ex.Follows && ex.config.Replication.ReadOnly
}

// refusedByLoad reports whether a command may not run while data is loaded.
func (ex standing) refusedByLoad(flags commands.Flags) bool {
	if ex.Durable.Serves() {
		return flags.Has(commands.NoAsyncLoading)
	}
	return !flags.Has(commands.Loading)
}

// refusesWrite says what speaks against a command that writes, or that asks the disk (commands.NeedsDisk).
func (ex standing) refusesWrite(flags commands.Flags) error {
	if err := ex.Durable.RefusesWrites(); err != nil || !flags.Has(commands.Write) {
		return err
	}
	switch {
	case ex.guarded && ex.Replication.RefusesWrites():
		return commands.ErrNoReplicas
	case ex.isReadOnly():
		return commands.ErrReadOnly
	case ex.Durable.Adopted():
		return commands.ErrLoading
	}
	return nil
}

// refusesWriteInScript is refusesWrite for scripts, in their order.
func (ex standing) refusesWriteInScript() error {
	if ex.isReadOnly() {
		return commands.ErrReadOnly
	}
	return ex.refusesWrite(commands.Write)
}

// refusesWaiter returns the reason to refuse a command that has waited, when its turn comes. Redis runs such
// a command anew, with all its checks. A change of the server's role has ended the wait before.
func (ex standing) refusesWaiter(row *commands.Row) error {
	if row.Flags.Has(commands.DenyOOM) && ex.Store.Full() && !ex.Memory.Pressure.Evicting && ex.Pausing.UntilMS == 0 {
		most := ex.Memory.Pressure.MostEvictions
		if removed := ex.Store.Evict(most); removed < most && ex.Store.Full() {
			return commands.ErrOutOfMemory
		}
	}
	if row.Flags.Has(commands.Write) {
		if err := ex.refusesWrite(row.Flags); err != nil {
			return err
		}
	}
	if ex.mayBeStale && !row.Flags.Has(commands.Stale) && ex.stale() {
		return commands.ErrMasterDown
	}
	return nil
}

// replyTells is tellsOfData for a session's next command. A Sentinel promotes a server in a transaction. The
// reply to that does not wait for the replicas that are still to come.
func replyTells(s *session, row *commands.Row) bool {
	if s.tx.multi != nil && row.Flags.Has(commands.RunsQueue) {
		return s.tx.multi.tells || s.tx.watches.Len() > 0 || s.tx.watches.Changed()
	}
	return tellsOfData(row)
}

// admitFull is the part of admit for full memory. It refuses a command that needs memory if no key can be
// evicted. Queued commands need memory, too, whatever they do.
func (s *session) admitFull(row *commands.Row, flags commands.Flags) error {
	if !s.authenticated || s.executor.Durable.Loading() {
		return nil
	}
	freed := s.executor.Evict()
	if s.inbox.Len() > 0 && !s.Terminated { // messages about evicted keys come before the reply
		s.takeInbox()
	}
	switch {
	case s.Terminated: // by the events of what was evicted: its last command has been run
		return commands.ErrOutOfMemory
	case freed:
		s.executor.Memory.Pressure.BeganFull = false
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
		!ex.Durable.Loading() && !ex.mayBeStale && len(ex.monitors) == 0 && !ex.Busy.On && ex.Busy.Later == nil && ex.Pausing.UntilMS == 0 && (ex.group == nil || ex.group.Leads(&s.place)) && ex.hook == nil
}

// admitPlain is admit for a plain command of a session that takes the fast path.
func (s *session) admitPlain(row *commands.Row, argv [][]byte) error {
	ex := s.executor
	if !s.User.Unrestricted {
		if err := s.permit(row, argv, acl.TopLevel); err != nil {
			return err
		}
	}
	if ex.Settings.OneSlot && !surelyServed(ex.group, row, argv) {
		if err := misplaced(s, row, argv); err != nil {
			return err
		}
	}
	if ex.Store.Full() {
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
func (ex *executor) holdWrites(on bool) { ex.Pausing.Hold(shard.ForFailover, on) }

// waitsForPause reports whether the session's next command must wait for the end of the pause. As in Redis a
// command that is refused, with err, need not, unless it waits until it is known which member of the group
// serves.
func (s *session) waitsForPause(row *commands.Row, err error, argv [][]byte) bool {
	ex := s.executor
	if !ex.awaitsLeader(err) && (err != nil || !s.pauseCovers(row, argv)) {
		ex.Pausing.Resume(&s.Party)
		return false
	}
	ex.Pausing.Add(&s.Party)
	return true
}

// pauseCovers reports whether the pause is for this command.
func (s *session) pauseCovers(row *commands.Row, argv [][]byte) bool {
	ex := s.executor
	if ex.Busy.On || !ex.Pausing.On() || row.FullName() == "raft|move" { // two shards that hold their clients would wait for each other
		return false
	}
	const writing = commands.Write | commands.MayReplicate
	return ex.Pausing.All || ex.scripts.Flags(row, argv)&writing != 0 ||
		row.Flags.Has(commands.RunsQueue) && s.tx.multi != nil && s.tx.multi.flags&writing != 0
}
