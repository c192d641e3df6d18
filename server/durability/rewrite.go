package durability

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"lockserver/internal/resp"
	"lockserver/persistence"
	"lockserver/persistence/aof"
	"lockserver/store"
)

// rewrites is the state of rewriting the log.
type rewrites struct {
	running    bool
	background *backgroundSave // the running rewrite, or the last
	scheduled  bool            // begin when no other file is being written
	lastErr    error           // of the last rewrite; nil: it succeeded, or there was none
	startedMS  int64           // when the running or the last rewrite began
	durationMS int64           // of the last rewrite; -1: none yet
	count      int64
	failures   int64 // failures in a row
}

// Rewriting reports whether the log is being rewritten.
func (rw *rewrites) Rewriting() bool { return rw.running }

// ScheduleRewrite requests a rewrite when no other file is being written.
func (rw *rewrites) ScheduleRewrite() { rw.scheduled = true }

// callOff makes a running rewrite fail.
func (rw *rewrites) callOff() {
	if rw.running {
		rw.background.off.Store(true)
	}
}

// retryRewriteMS is the pause after a failed rewrite before the server rewrites the log by itself.
const retryRewriteMS = 60_000

// rewriteDue reports whether the log has grown so much that the server must rewrite it by itself.
func (s *Storage) rewriteDue(nowMS int64) bool {
	c, rw := s.config, &s.rewrites
	if s.log == nil || s.log.broken != nil || c.AutoAOFRewritePercentage == 0 ||
		rw.lastErr != nil && nowMS-rw.startedMS < retryRewriteMS {
		return false
	}
	st := s.log.log.Stats()
	if st.Bytes <= c.AutoAOFRewriteMinSize {
		return false
	}
	base := max(st.StartBytes, 1)
	growth := st.Bytes*100/base - 100
	if growth < c.AutoAOFRewritePercentage {
		return false
	}
	s.logger.Info(fmt.Sprintf("Starting automatic rewriting of AOF on %d%% growth", growth), "bytes", st.Bytes)
	return true
}

// startScheduled starts work that waited until no other file is being written, and work that is due.
func (s *Storage) startScheduled(nowMS int64) {
	sn, rw := &s.snapshots, &s.rewrites
	if sn.running || rw.running || s.loading != nil {
		return
	}
	switch {
	case rw.scheduled || s.rewriteDue(nowMS):
		rw.scheduled = false
		if err := s.StartRewrite(); err != nil {
			s.logger.Error("the append-only file cannot be rewritten", "cause", err)
		}
	case sn.scheduled || s.saveDue(nowMS):
		sn.scheduled = false
		s.StartSave()
	}
}

// StartRewrite begins to rewrite the log: the current data as a base, in the background, and later changes in
// a new incremental file. If there is no log, the result is the base that a log would begin with. The error
// has not been logged.
func (s *Storage) StartRewrite() error {
	rw := &s.rewrites
	rw.startedMS = s.store.NowMS()
	log, close := s.logToRewrite()
	if log == nil {
		rw.lastErr = close(nil)
		return rw.lastErr
	}
	s.host.HandOn() // effects from before the cut belong to the old files
	if s.log != nil {
		s.log.noticeFailure() // notice lost units before the rewrite repairs the log
		s.log.renew()
	}
	run, err := log.BeginRewrite(s.config.AOFUseRDBPreamble)
	if err != nil {
		rw.lastErr = close(err)
		return rw.lastErr
	}
	snap, o, asRDB := s.store.Cut(), s.saveOptions(), s.config.AOFUseRDBPreamble
	bg := newBackgroundSave(snap)
	rw.running, rw.background = true, bg
	s.followPolicy(s.config)
	o.Base = true
	s.logger.Info(fmt.Sprintf("Background append only file rewriting started by pid %d", os.Getpid()))
	s.program.Background(func() {
		err := bg.work(func() error {
			return run.Run(func(w io.Writer) error { return writeBase(bg, w, snap, o, asRDB) })
		})
		err = close(err)
		s.host.Do(func() { s.endRewrite(snap, err) })
	})
	return nil
}

// logToRewrite returns the server's log. If the server has no log, it opens a log that is only written once.
// close must be called with the result of the rewrite; it returns that result, or the error of closing. If
// the log is nil, close returns the reason.
func (s *Storage) logToRewrite() (log *aof.Log, close func(error) error) {
	if s.log != nil {
		return s.log.log, func(err error) error { return err }
	}
	dir, err := s.openLogDir()
	if err != nil {
		return nil, func(error) error { return err }
	}
	log, err = dir.Replace(aof.Options{})
	if err != nil {
		_ = dir.Close()
		return nil, func(error) error { return err }
	}
	return log, func(err error) error { return errors.Join(err, log.Close()) }
}

// endRewrite records the result of a rewrite.
func (s *Storage) endRewrite(snap *store.Snapshot, err error) {
	snap.Release()
	rw := &s.rewrites
	rw.running = false
	s.followPolicy(s.config)
	rw.durationMS = s.store.NowMS() - rw.startedMS
	if errors.Is(err, errCalledOff) {
		s.logger.Info("the rewrite of the append-only file was called off")
	} else if rw.lastErr = err; err != nil {
		rw.failures++
		s.logger.Error("Background AOF rewrite terminated with error", "cause", err)
	} else {
		rw.count++
		rw.failures = 0
		s.logger.Info("Background AOF rewrite terminated with success")
		s.logger.Info("Background AOF rewrite finished successfully", "ms", rw.durationMS)
		if s.log != nil {
			s.log.mend()
		}
	}
	s.startScheduled(s.store.NowMS())
}

// writeBase writes a cut as the base of a log: as a snapshot, or as commands.
func writeBase(bg *backgroundSave, w io.Writer, snap *store.Snapshot, o persistence.SaveOptions, asRDB bool) error {
	o.Breathe = bg.breathe
	if asRDB {
		_, err := persistence.Save(calledOff{bg, w}, snap, o)
		return err
	}
	return writeCommands(calledOff{bg, w}, snap, o)
}

// commandBytes is the number of bytes that are collected for one write.
const commandBytes = 16 << 10

// writeCommands writes a cut as commands that produce its data.
func writeCommands(w io.Writer, snap *store.Snapshot, o persistence.SaveOptions) (err error) {
	var out, payload, name, at []byte // reused: garbage would start the garbage collector during the rewrite
	set, pexpireat, restore, absttl := []byte("SET"), []byte("PEXPIREAT"), []byte("RESTORE"), []byte("ABSTTL")
	if o.TokenLimit > 0 {
		out = aof.AppendTokenLimit(out, o.TokenLimit)
	}
	for _, code := range o.Functions {
		out = resp.AppendCommand(out, []byte("FUNCTION"), []byte("LOAD"), code)
	}
	saved := 0
	for db := range snap.DBs() {
		if keys, _ := snap.Len(db); keys == 0 {
			continue
		}
		out = resp.AppendCommand(out, []byte("SELECT"), strconv.AppendInt(nil, int64(db), 10))
		snap.Drain(db, func(key string, r store.Ref) bool {
			name = append(name[:0], key...)
			at = strconv.AppendInt(at[:0], r.DeadlineMS(), 10)
			if r.Kind() == store.String {
				out = resp.AppendCommand(out, set, name, r.Bytes())
				if r.DeadlineMS() != 0 {
					out = resp.AppendCommand(out, pexpireat, name, at)
				}
			} else {
				if store.HoldsEntries(name) && r.Recurs() {
					out = aof.AppendRulesMark(out)
				}
				payload = persistence.Dump(payload[:0], r, o.Compress)
				out = resp.AppendCommand(out, restore, name, at, payload, absttl)
			}
			if o.EachKey != nil {
				o.EachKey()
			}
			saved++
			if len(out) >= commandBytes {
				_, err = w.Write(out)
				out = out[:0]
				o.Breathe(saved)
			}
			return err == nil
		})
	}
	if err == nil {
		_, err = w.Write(out)
	}
	return err
}
