package server

import (
	"lockserver/commands"
	"lockserver/persistence/aof"
)

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
