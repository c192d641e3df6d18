package durability

import (
	"time"

	"lockserver/internal/histogram"
	"lockserver/persistence/aof"
	"lockserver/server/info"
)

// Info holds the figures of INFO about the files.
type Info struct {
	Load      *Load // nil: the data is loaded
	Changes   int64 // changes since the last snapshot
	LastSaveS int64
	Saves     Writes // writes of snapshots
	Rewrites  Writes // rewrites of the log
	LogOn     bool
	LogErr    error     // the reason why the log cannot be written
	Log       aof.Stats // valid if LogOn is set
}

// Load is the progress of the load at a start.
type Load struct {
	StartedUS, Done, Total int64 // Done and Total in bytes
	Percent                int64
	LeftS                  int64 // about how many seconds are left
}

// Writes describes the background writes of one kind of file.
type Writes struct {
	Running, Scheduled bool
	LastErr            error
	LastS              int64 // seconds that the last write took; -1: there was none
	CurrentS           int64 // seconds that the running write has taken; -1: none is running
	Count              int64
}

// Info returns the figures for INFO.
func (s *Storage) Info() Info {
	sn, rw, now := &s.snapshots, &s.rewrites, s.store.NowMS()
	i := Info{
		Changes: s.store.Dirty() - sn.dirtyAtSave, LastSaveS: sn.lastSaveS,
		Saves: Writes{Running: sn.running, Scheduled: sn.scheduled, LastErr: sn.lastErr, Count: sn.saves,
			LastS: tookS(sn.durationMS), CurrentS: runsS(sn.running, now-sn.lastTryMS)},
		Rewrites: Writes{Running: rw.running, Scheduled: rw.scheduled, LastErr: rw.lastErr, Count: rw.count,
			LastS: tookS(rw.durationMS), CurrentS: runsS(rw.running, now-rw.startedMS)},
		LogErr: s.Broken(),
	}
	if s.log != nil {
		i.LogOn, i.Log = true, s.log.log.Stats()
	}
	if l := s.loading; l != nil {
		i.Load = l.info(s.store.NowUS())
	}
	return i
}

func tookS(ms int64) int64 {
	if ms > 0 {
		return ms / 1000
	}
	return ms
}

func runsS(running bool, ms int64) int64 {
	if running {
		return ms / 1000
	}
	return -1
}

// info returns the progress of the load at a time.
func (l *loading) info(nowUS int64) *Load {
	passed := max(1, nowUS-l.startedUS)
	left := int64(1)
	if l.done > 0 {
		left = int64(float64(l.total-l.done) / float64(l.done) * float64(passed) / 1e6)
	}
	return &Load{StartedUS: l.startedUS, Done: l.done, Total: l.total, Percent: l.percent(), LeftS: left}
}

// TokenInfo holds the figures of INFO about the fencing tokens.
type TokenInfo struct {
	Last int64
	Kept bool  // a file has their limit
	Err  error // the file could not be written
}

// TokenInfo returns the figures of the tokens.
func (t *tokens) TokenInfo() TokenInfo {
	return TokenInfo{Last: t.LastToken(), Kept: t.path != "", Err: t.err}
}

// SyncTimes returns the durations of the log's syncs since it was opened; nil without a log.
func (c *currentLog) SyncTimes() *histogram.Histogram {
	if c.log == nil {
		return nil
	}
	h := c.log.log.SyncTimes()
	return &h
}

// SlowestSync returns the longest sync of the log since the last call.
func (c *currentLog) SlowestSync() time.Duration {
	if c.log == nil {
		return 0
	}
	return c.log.log.SlowestSync()
}

// ForgetCounts sets the counts to zero (CONFIG RESETSTAT).
func (s *Storage) ForgetCounts() {
	s.snapshots.saves, s.rewrites.count, s.rewrites.failures = 0, 0, 0
	if s.log != nil {
		s.delayedBefore = s.log.log.Stats().Delayed
	}
}

// writing returns the running background save or rewrite, or nil.
func (s *Storage) writing() *backgroundSave {
	switch {
	case s.snapshots.running:
		return s.snapshots.background
	case s.rewrites.running:
		return s.rewrites.background
	}
	return nil
}

// WriteInfo writes the fields of INFO's section about persistence.
func (s *Storage) WriteInfo(t *info.Text) {
	i := s.Info()
	t.Flag("loading", i.Load != nil && !s.Serves())
	t.Flag("async_loading", s.Serves())
	t.Zeros("current_cow_peak", "current_cow_size", "current_cow_size_age") // this server never forks
	s.writing().writeInfo(t)
	t.Line("rdb_changes_since_last_save", i.Changes)
	t.Flag("rdb_bgsave_in_progress", i.Saves.Running)
	t.Line("rdb_last_save_time", i.LastSaveS)
	t.Status("rdb_last_bgsave_status", i.Saves.LastErr)
	t.Line("rdb_last_bgsave_time_sec", i.Saves.LastS)
	t.Line("rdb_current_bgsave_time_sec", i.Saves.CurrentS)
	t.Line("rdb_saves", i.Saves.Count)
	t.Line("rdb_last_cow_size", 0)
	t.Line("rdb_last_load_keys_expired", s.expiredKeys)
	t.Line("rdb_last_load_keys_loaded", s.loadedKeys)
	t.Flag("aof_enabled", i.LogOn)
	t.Flag("aof_rewrite_in_progress", i.Rewrites.Running)
	t.Flag("aof_rewrite_scheduled", i.Rewrites.Scheduled)
	t.Line("aof_last_rewrite_time_sec", i.Rewrites.LastS)
	t.Line("aof_current_rewrite_time_sec", i.Rewrites.CurrentS)
	t.Status("aof_last_bgrewrite_status", i.Rewrites.LastErr)
	t.Line("aof_rewrites", i.Rewrites.Count)
	t.Line("aof_rewrites_consecutive_failures", s.rewrites.failures)
	t.Status("aof_last_write_status", i.LogErr)
	t.Zeros("aof_last_cow_size", "module_fork_in_progress", "module_fork_last_cow_size")
	if i.LogOn {
		t.Line("aof_current_size", i.Log.Bytes)
		t.Line("aof_base_size", i.Log.StartBytes)
		t.Flag("aof_pending_rewrite", i.Rewrites.Scheduled)
		t.Line("aof_buffer_length", i.Log.Pending)
		t.Flag("aof_pending_bio_fsync", i.Log.Syncing)
		t.Line("aof_delayed_fsync", i.Log.Delayed-s.delayedBefore)
	}
	if i.Load != nil {
		i.Load.write(t)
	}
}

// writeInfo writes the progress of a background save or rewrite; bg may be nil.
func (bg *backgroundSave) writeInfo(t *info.Text) {
	saved, keys := int64(0), int64(0)
	if bg != nil {
		saved, keys = bg.saved.Load(), int64(bg.keys)
	}
	t.Line("current_fork_perc", float64(saved)*100/float64(max(keys, 1)))
	t.Line("current_save_keys_processed", saved)
	t.Line("current_save_keys_total", keys)
}

// write writes the progress of the load at the start.
func (l *Load) write(t *info.Text) {
	t.Line("loading_start_time", l.StartedUS/1_000_000)
	t.Line("loading_total_bytes", l.Total)
	t.Line("loading_rdb_used_mem", 0)
	t.Line("loading_loaded_bytes", l.Done)
	t.Line("loading_loaded_perc", float64(l.Done)*100/float64(max(l.Total, 1)))
	t.Line("loading_eta_seconds", l.LeftS)
}
