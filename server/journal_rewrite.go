package server

import (
	"context"
	"errors"
	"io"
	"strconv"

	"lockserver/internal/background"
	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/persistence"
	"lockserver/persistence/aof"
	"lockserver/store"
)

// rewrites is the state of rewriting the log. It is only touched under the executor.
type rewrites struct {
	running    bool
	background *backgroundSave // the running one, or the last
	scheduled  bool            // to be done when nothing else is being written
	lastErr    error           // of the last one; nil: it succeeded, or there was none
	startedMS  int64           // when the running or last one began
	durationMS int64           // of the last one; -1: none yet
	count      int64
}

// retryRewriteMS is how long a failed rewrite keeps the log from being rewritten by itself.
const retryRewriteMS = 60_000

// rewriteDue says whether the log has grown so much that it is to be rewritten by itself.
func (ex *executor) rewriteDue(nowMS int64) bool {
	c, rw := ex.config, &ex.rewrites
	if ex.aof == nil || ex.aof.broken != nil || c.AutoAOFRewritePercentage == 0 ||
		rw.lastErr != nil && nowMS-rw.startedMS < retryRewriteMS {
		return false
	}
	st := ex.aof.log.Stats()
	if st.Bytes <= c.AutoAOFRewriteMinSize {
		return false
	}
	base := max(st.StartBytes, 1)
	growth := st.Bytes*100/base - 100
	if growth < c.AutoAOFRewritePercentage {
		return false
	}
	ex.log.Info("rewriting the append-only file: it has grown", "percent", growth, "bytes", st.Bytes)
	return true
}

// startScheduled starts what had to wait until nothing else was being written, and
// what is due. Under the executor.
func (ex *executor) startScheduled(nowMS int64) {
	sn, rw := &ex.snapshots, &ex.rewrites
	if sn.running || rw.running || ex.loading != nil {
		return
	}
	switch {
	case rw.scheduled || ex.rewriteDue(nowMS):
		rw.scheduled = false
		if err := ex.startRewrite(); err != nil {
			ex.log.Error("the append-only file cannot be rewritten", "cause", err)
		}
	case sn.scheduled || ex.saveDue(nowMS):
		sn.scheduled = false
		ex.startSave()
	}
}

// startRewrite begins to write the log anew: what there is now as a base, in the background, and
// from now on all changes into a new incremental file. If there is no log, it becomes what a log
// would begin with. Under the executor.
func (ex *executor) startRewrite() error {
	rw := &ex.rewrites
	rw.startedMS = ex.store.NowMS()
	log, close := ex.logToRewrite()
	if log == nil {
		rw.lastErr = close(nil)
		return rw.lastErr
	}
	ex.handOn() // what happened before the cut belongs to the old files
	if ex.aof != nil {
		ex.aof.renew()
	}
	run, err := log.BeginRewrite(ex.config.AOFUseRDBPreamble)
	if err != nil {
		rw.lastErr = close(err)
		return rw.lastErr
	}
	bg := &backgroundSave{written: make(chan struct{})}
	rw.running, rw.background = true, bg
	ex.followPolicy(ex.config)
	snap, o, asRDB := ex.store.Cut(), ex.saveOptions(), ex.config.AOFUseRDBPreamble
	o.Base = true
	ex.log.Info("Background append only file rewriting started")
	ex.host.background(func() {
		err := bg.work(func() error {
			return run.Run(func(w io.Writer) error { return writeBase(calledOff{bg, w}, snap, o, asRDB) })
		})
		err = close(err)
		ex.do(func() { ex.endRewrite(snap, err) })
	})
	return nil
}

// logToRewrite is the server's log, or, if it has none, one that is opened just to be written once. close is
// called with the outcome, and returns it, or why closing failed. If the log is nil, close returns why.
func (ex *executor) logToRewrite() (log *aof.Log, close func(error) error) {
	if ex.aof != nil {
		return ex.aof.log, func(err error) error { return err }
	}
	dir, err := ex.openLogDir()
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

// endRewrite notes how a rewrite went; under the executor.
func (ex *executor) endRewrite(snap *store.Snapshot, err error) {
	snap.Release()
	rw := &ex.rewrites
	rw.running = false
	ex.followPolicy(ex.config)
	rw.durationMS = ex.store.NowMS() - rw.startedMS
	if errors.Is(err, errCalledOff) {
		ex.log.Info("the rewrite of the append-only file was called off")
	} else if rw.lastErr = err; err != nil {
		ex.log.Error("rewriting the append-only file failed", "cause", err)
	} else {
		rw.count++
		ex.log.Info("Background AOF rewrite finished successfully", "ms", rw.durationMS)
		if ex.aof != nil {
			ex.aof.mend()
		}
	}
	ex.startScheduled(ex.store.NowMS())
}

// writeBase writes a cut as the base of a log: as a snapshot, or as commands.
func writeBase(w io.Writer, snap *store.Snapshot, o persistence.SaveOptions, asRDB bool) error {
	o.Breathe = background.Breathe
	if asRDB {
		_, err := persistence.Save(w, snap, o)
		return err
	}
	return writeCommands(w, snap, o)
}

// commandBytes is how much is gathered before it is written.
const commandBytes = 16 << 10

// writeCommands writes a cut as commands that make it.
func writeCommands(w io.Writer, snap *store.Snapshot, o persistence.SaveOptions) (err error) {
	var out, payload, name, at []byte // used again and again: garbage would have the collector run in the middle
	set, pexpireat, restore, absttl := []byte("SET"), []byte("PEXPIREAT"), []byte("RESTORE"), []byte("ABSTTL")
	if o.TokenLimit > 0 {
		out = aof.AppendTokenLimit(out, o.TokenLimit)
	}
	for _, code := range o.Functions {
		out = resp.AppendCommand(out, []byte("FUNCTION"), []byte("LOAD"), code)
	}
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
				payload = persistence.Dump(payload[:0], r, o.Compress)
				out = resp.AppendCommand(out, restore, name, at, payload, absttl)
			}
			if len(out) >= commandBytes {
				_, err = w.Write(out)
				out = out[:0]
				background.Breathe()
			}
			return err == nil
		})
	}
	if err == nil {
		_, err = w.Write(out)
	}
	return err
}

// switchLog obeys what a new configuration says of the log, when CONFIG SET has changed it; it is the last
// thing that may refuse the change. The error is a *config.SetError. Under the executor.
func (ex *executor) switchLog(next *config.Config) error {
	j := ex.aof
	switch {
	case next.AppendOnly && j == nil:
		return ex.switchOn(next)
	case !next.AppendOnly && j != nil:
		ex.switchOff()
	case j != nil:
		j.always = next.AppendFsync == "always"
		ex.followPolicy(next)
		j.log.SetTimestamps(next.AOFTimestampEnabled)
	}
	return nil
}

// followPolicy lets the log be synced as the directives say: as appendfsync has it, or, with
// no-appendfsync-on-rewrite and while a file is written in the background, not at all. Under the executor.
func (ex *executor) followPolicy(c *config.Config) {
	if ex.aof == nil {
		return
	}
	policy := policyOf(c.AppendFsync)
	if c.NoAppendFsyncOnRewrite && (ex.rewrites.running || ex.snapshots.running) {
		policy = aof.No
	}
	if policy != ex.aof.log.Policy() {
		ex.aof.log.SetPolicy(policy)
	}
}

// switchOn begins a log of data that is in memory already. It is in effect when the rewrite that begins now
// has succeeded; until then replies wait for nothing, and a crash leaves what was on disk before.
func (ex *executor) switchOn(next *config.Config) error {
	refused := &config.SetError{Name: "appendonly", Reason: "Unable to turn on AOF. Check server logs."}
	if ex.loading != nil || ex.rewrites.running {
		ex.log.Error("appendonly cannot be switched on while the data is loaded, or a rewrite runs")
		return refused
	}
	before := ex.config
	ex.config = next // which the log is opened by
	defer func() { ex.config = before }()
	dir, err := ex.openLogDir()
	if err != nil {
		ex.log.Error("appendonly cannot be switched on", "cause", err)
		return refused
	}
	ex.handOn()
	j, options := ex.newJournal()
	log, err := dir.Replace(options)
	if err != nil {
		ex.log.Error("appendonly cannot be switched on", "cause", errors.Join(err, dir.Close()))
		return refused
	}
	ex.attach(j, log)
	if ex.snapshots.running {
		ex.rewrites.scheduled = true
		return nil
	}
	if err := ex.startRewrite(); err != nil {
		ex.log.Error("appendonly cannot be switched on", "cause", err)
		ex.switchOff()
		return refused
	}
	return nil
}

// switchOff ends the log; its files stay.
func (ex *executor) switchOff() {
	if ex.rewrites.running {
		ex.rewrites.background.off.Store(true)
	}
	ex.rewrites.scheduled = false
	ex.handOn()
	j := ex.aof
	if err := j.log.Close(); err != nil {
		ex.log.Error("the append-only file could not be closed", "cause", err)
		if j.broken == nil {
			j.breakDown(err)
		}
	}
	ex.detach()
	ex.gate.Open(ex.gate.End()) // or it is on disk
}

// errNotActive says that the log does not hold the data yet.
var errNotActive = errors.New("server: the append-only file is being written for the first time")

// syncLog returns when the log is on disk to its end, or with what prevents it; before the server ends.
func (ex *executor) syncLog() error {
	ex.handOn()
	log := ex.aof.log
	err := log.Sync(context.Background())
	if err == nil && !log.Active() { // switched on, and the first rewrite is not over
		err = errNotActive
	}
	if err != nil {
		ex.log.Error("the append-only file could not be synced", "cause", err)
	}
	return err
}
