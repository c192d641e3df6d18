package server

import (
	"lockserver/commands"
	"lockserver/persistence/aof"
)

func saveRows() []commands.Row {
	admin := commands.Admin | commands.NoScript
	return []commands.Row{
		{Name: "save", Group: commands.Server, Since: "1.0.0", Flags: admin | commands.NoAsyncLoading | commands.NoMulti, Run: save,
			Summary: "Writes a snapshot while everything else waits.", Complexity: "O(N) where N is the number of keys"},
		{Name: "bgsave", Group: commands.Server, Since: "1.0.0", Flags: admin | commands.NoAsyncLoading, Run: bgsave,
			Summary: "Writes a snapshot in the background.", Complexity: "O(1)",
			Args: []commands.Arg{commands.Opt(commands.Flag("SCHEDULE").From("3.2.2"))}},
		{Name: "lastsave", Group: commands.Server, Since: "1.0.0", Flags: commands.Loading | commands.Stale | commands.Fast,
			Cats: commands.CatAdmin | commands.CatDangerous, Run: lastsave, Tips: []string{"nondeterministic_output"},
			Summary: "Tells when the last snapshot succeeded.", Complexity: "O(1)"},
		{Name: "shutdown", Group: commands.Server, Since: "1.0.0", Flags: admin | whenever | commands.NoMulti | commands.AllowBusy, Run: shutdown,
			Summary: "Saves, if save points are set, and ends the server.", Complexity: "O(N) where N is the number of keys when saving, otherwise O(1)",
			Args: []commands.Arg{
				commands.Opt(commands.OneOf("nosave_save", commands.Flag("NOSAVE"), commands.Flag("SAVE"))),
				commands.Opt(commands.Flag("NOW").From("7.0.0")), commands.Opt(commands.Flag("FORCE").From("7.0.0")),
				commands.Opt(commands.Flag("ABORT").From("7.0.0"))}},
	}
}

func save(c *commands.Ctx) error {
	ex := sessionOf(c).executor
	if ex.snapshots.running {
		return commands.ErrSaveInProgress
	}
	if ex.config.DBFilename == "" {
		return commands.ErrNoSnapshotFile
	}
	if err := ex.ownDir(); err != nil {
		return commands.ErrNotOurDir(err)
	}
	if err := ex.saveNow(); err != nil {
		return commands.ErrSaveFailed
	}
	c.Out.OK()
	return nil
}

func bgsave(c *commands.Ctx) error {
	a := c.Args()
	schedule := false
	if a.More() {
		schedule = a.Option() == "SCHEDULE"
		if a.More() {
			a.Syntax()
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	ex := sessionOf(c).executor
	if ex.config.DBFilename != "" {
		if err := ex.ownDir(); err != nil {
			return commands.ErrNotOurDir(err)
		}
	}
	switch {
	case ex.config.DBFilename == "":
		return commands.ErrNoSnapshotFile
	case ex.snapshots.running && schedule, ex.rewrites.running && schedule:
		ex.snapshots.scheduled = true
		c.Out.Simple("Background saving scheduled")
	case ex.snapshots.running:
		return commands.ErrSaveInProgress
	case ex.rewrites.running:
		return commands.ErrSaveInRewrite
	default:
		ex.startSave()
		c.Out.Simple("Background saving started")
	}
	return nil
}

func lastsave(c *commands.Ctx) error {
	c.Out.Int(sessionOf(c).executor.snapshots.lastSaveS)
	return nil
}

// ShutdownOptions say how a server ends, as SHUTDOWN's words do. The zero value
// saves if there are save points.
type ShutdownOptions struct {
	Save, NoSave bool
	// Now is accepted for symmetry with SHUTDOWN: there are no replicas to wait for.
	Now bool
	// Force ends the server even if saving fails.
	Force bool
}

// Shutdown saves as the options say and ends the server. If saving fails the server goes on and the error
// says why, unless Force is set. A server that was not started, or could not be, only ends.
func (srv *Server) Shutdown(o ShutdownOptions) error {
	srv.life.Lock()
	state := srv.state
	srv.life.Unlock()
	switch state {
	case stateClosed:
		<-srv.done
		return errClosed
	case stateRunning:
		if err := srv.prepareShutdown(o); err != nil {
			return err
		}
	}
	return srv.Close() // what never ran has nothing to save
}

func (srv *Server) prepareShutdown(o ShutdownOptions) error {
	ex := &srv.executor
	ex.mu.Lock()
	defer ex.mu.Unlock()
	for ex.busy.on { // one that has written goes on to its end, so that what is saved is whole
		ex.scripts.KillUnlessWrote()
		ex.busy.over.Wait()
	}
	ex.begin()
	return srv.executor.saveForShutdown(o)
}

// saveForShutdown saves if it is called for; under the executor. When it returns nil, nothing runs any more.
func (ex *executor) saveForShutdown(o ShutdownOptions) error {
	wanted := (o.Save || len(ex.config.Save) > 0) && !o.NoSave && ex.config.DBFilename != "" && ex.loading == nil
	if ex.failed == nil && ex.aof != nil {
		if err := ex.syncLog(); err != nil && !o.Force && !o.NoSave {
			return err
		}
	}
	if wanted && ex.failed == nil {
		ex.awaitNoSave()
		if err := ex.saveNow(); err != nil && !o.Force {
			return err
		}
	}
	if ex.failed == nil {
		ex.failed = errClosed
	}
	return nil
}

func shutdown(c *commands.Ctx) error {
	a := c.Args()
	var o ShutdownOptions
	abort, words := false, 0
	for ; a.More(); words++ {
		switch a.Option() {
		case "SAVE":
			o.Save = true
		case "NOSAVE":
			o.NoSave = true
		case "NOW":
			o.Now = true
		case "FORCE":
			o.Force = true
		case "ABORT":
			abort = true
		}
	}
	if o.Save && o.NoSave || abort && words > 1 {
		a.Syntax()
	}
	if err := a.Err(); err != nil {
		return err
	}
	if abort {
		return commands.ErrNoShutdown
	}
	s := sessionOf(c)
	if s.executor.busy.on && !o.NoSave {
		return s.executor.scripts.BusyError()
	}
	if err := s.executor.saveForShutdown(o); err != nil {
		return commands.ErrShutdown
	}
	s.executor.log.Info("ending by SHUTDOWN")
	s.closing = true
	s.executor.host.requestStop(0)
	return nil
}

// aofRows are the commands about the append-only log.
func aofRows() []commands.Row {
	return []commands.Row{
		{Name: "bgrewriteaof", Group: commands.Server, Since: "1.0.0", Run: bgrewriteaof,
			Flags:   commands.Admin | commands.NoScript | commands.NoAsyncLoading,
			Summary: "Writes the append-only file anew in the background.", Complexity: "O(1)"},
	}
}

func bgrewriteaof(c *commands.Ctx) error {
	ex := sessionOf(c).executor
	switch {
	case ex.aof == nil && !ex.hasFiles():
		return commands.ErrNoLogFile
	case ex.rewrites.running:
		return commands.ErrRewriteInProgress
	case ex.snapshots.running || !c.MayBlock: // in a transaction: its effects are one unit
		ex.rewrites.scheduled = true
		c.Out.Simple("Background append only file rewriting scheduled")
		return nil
	}
	if err := ex.startRewrite(); err != nil {
		ex.log.Error("the append-only file cannot be rewritten", "cause", err)
		return commands.ErrRewriteFailed
	}
	c.Out.Simple("Background append only file rewriting started")
	return nil
}

// infoLog writes what INFO's section about persistence says of the log.
func infoLog(ex *executor, w *infoWriter) {
	rw := &ex.rewrites
	on := ex.aof != nil
	current, last := int64(-1), rw.durationMS
	if rw.running {
		current = (ex.store.NowMS() - rw.startedMS) / 1000
	}
	if last > 0 {
		last /= 1000
	}
	writeStatus := "ok"
	if on && ex.aof.broken != nil {
		writeStatus = "err"
	}
	w.line("aof_enabled", b2i(on))
	w.line("aof_rewrite_in_progress", b2i(rw.running))
	w.line("aof_rewrite_scheduled", b2i(rw.scheduled))
	w.line("aof_last_rewrite_time_sec", last)
	w.line("aof_current_rewrite_time_sec", current)
	w.line("aof_last_bgrewrite_status", okOrErr(rw.lastErr))
	w.line("aof_rewrites", rw.count)
	w.line("aof_last_write_status", writeStatus)
	if !on {
		return
	}
	var st aof.Stats = ex.aof.log.Stats()
	w.line("aof_current_size", st.Bytes)
	w.line("aof_base_size", st.StartBytes)
	w.line("aof_pending_rewrite", b2i(rw.scheduled))
	w.line("aof_buffer_length", st.Pending)
	w.line("aof_pending_bio_fsync", b2i(st.Syncing))
	w.line("aof_delayed_fsync", st.Delayed)
}

// infoLoading writes how far the start has come.
func infoLoading(ex *executor, w *infoWriter) {
	l := ex.loading
	w.line("loading", b2i(l != nil))
	w.line("async_loading", 0)
	if l == nil {
		return
	}
	passed := max(1, ex.store.NowUS()-l.startedUS)
	eta := int64(1)
	if l.done > 0 {
		eta = int64(float64(l.total-l.done) / float64(l.done) * float64(passed) / 1e6)
	}
	w.line("loading_start_time", l.startedUS/1_000_000)
	w.line("loading_total_bytes", l.total)
	w.line("loading_rdb_used_mem", 0)
	w.line("loading_loaded_bytes", l.done)
	w.line("loading_loaded_perc", l.percent())
	w.line("loading_eta_seconds", eta)
}

func okOrErr(err error) string {
	if err != nil {
		return "err"
	}
	return "ok"
}
