package server

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"lockserver/commands"
	"lockserver/internal/background"
	"lockserver/persistence"
	"lockserver/store"
)

// housekeepingMS is how often save points, idle clients and the token reservation are looked at.
const housekeepingMS = 1000

// snapshots is the state of saving. It is only touched under the executor.
type snapshots struct {
	running      bool
	background   *backgroundSave // the running one, or the last
	scheduled    bool            // BGSAVE SCHEDULE came while one was running
	lastErr      error           // of the last background save; a save that succeeds takes it away
	lastSaveS    int64           // when the last one succeeded, or the server started
	lastTryMS    int64           // when the last one began
	durationMS   int64           // of the last one; -1: none yet
	dirtyAtSave  int64           // changes that the last successful one holds
	startedDirty int64           // changes at the cut of the running one
	saves        int64
}

// retrySaveMS is how long a failed background save keeps the save points from trying again, as in Redis.
const retrySaveMS = 5000

func (ex *executor) snapshotPath() string { return filepath.Join(ex.config.Dir, ex.config.DBFilename) }

// housekeeper is what falls due once a second.
type housekeeper struct{}

func (housekeeper) fire(ex *executor) { ex.keepHouse() }

// keepHouse is what happens once a second, under the executor.
func (ex *executor) keepHouse() {
	now := ex.store.NowMS()
	ex.timers.set(&ex.housekeeping, now+housekeepingMS)
	ex.startScheduled(now)
	if ex.tokens.due(ex.store.NowUS()) {
		ex.reserveTokens()
	}
	ex.closeIdle()
}

// saveDue says whether a save point has been reached.
func (ex *executor) saveDue(nowMS int64) bool {
	sn := &ex.snapshots
	if sn.lastErr != nil && nowMS-sn.lastTryMS < retrySaveMS {
		return false
	}
	changes := ex.store.Dirty() - sn.dirtyAtSave
	for _, p := range ex.config.Save {
		if changes >= p.Changes && nowMS-sn.lastSaveS*1000 > p.PeriodMS {
			ex.log.Info("a save point was reached", "changes", changes, "ms", p.PeriodMS)
			return true
		}
	}
	return false
}

func (ex *executor) saveOptions() persistence.SaveOptions {
	return persistence.SaveOptions{
		Compress: ex.config.RDBCompression, Checksum: ex.config.RDBChecksum,
		CreatedS: ex.store.NowMS() / 1000, Version: compatibleVersion, Functions: ex.scripts.Libraries(),
		TokenLimit: max(ex.tokens.limit, ex.tokens.last),
	}
}

// startSave takes a cut and writes it out in the background. It runs under the executor,
// which it holds up only for the cut.
func (ex *executor) startSave() {
	sn := &ex.snapshots
	sn.running = true
	ex.followPolicy(ex.config)
	sn.startedDirty = ex.store.Dirty()
	sn.lastTryMS = ex.store.NowMS()
	snap, path, o := ex.store.Cut(), ex.snapshotPath(), ex.saveOptions()
	bg := &backgroundSave{written: make(chan struct{})}
	sn.background = bg
	ex.host.background(func() {
		bytes, err := bg.run(path, snap, o)
		ex.do(func() { ex.endSave(snap, bytes, err) })
	})
}

// endSave notes how a background save went; under the executor.
func (ex *executor) endSave(snap *store.Snapshot, bytes int64, err error) {
	snap.Release()
	sn := &ex.snapshots
	sn.running = false
	ex.releaseLeft()
	ex.followPolicy(ex.config)
	defer func() { ex.startScheduled(ex.store.NowMS()) }()
	if errors.Is(err, errCalledOff) {
		ex.log.Info("the background save was called off")
		return
	}
	sn.durationMS = ex.store.NowMS() - sn.lastTryMS
	if err != nil {
		sn.lastErr = err
		ex.log.Error("saving failed", "file", ex.snapshotPath(), "cause", err)
		return
	}
	ex.noteSave(sn.startedDirty, bytes)
}

// noteSave notes that a snapshot with so many of the changes is on disk.
func (ex *executor) noteSave(dirty, bytes int64) {
	sn := &ex.snapshots
	sn.lastErr = nil
	sn.saves++
	sn.dirtyAtSave = dirty
	sn.lastSaveS = ex.store.NowMS() / 1000
	ex.log.Info("DB saved on disk", "file", ex.snapshotPath(), "bytes", bytes)
}

// saveNow writes a snapshot while everything else waits; under the executor.
func (ex *executor) saveNow() error {
	err := ex.ownDir()
	var bytes int64
	if err == nil {
		snap := ex.store.Cut()
		bytes, err = persistence.SaveFile(ex.snapshotPath(), snap, ex.saveOptions())
		snap.Release()
	}
	if err != nil {
		ex.log.Error("saving failed", "file", ex.snapshotPath(), "cause", err)
		return err
	}
	ex.noteSave(ex.store.Dirty(), bytes)
	return nil
}

// refusesWrites returns what keeps clients from writing, if anything does: a failed
// background save, or the log.
func (ex *executor) refusesWrites() error {
	if ex.snapshots.lastErr != nil && ex.config.StopWritesOnBgsaveError && len(ex.config.Save) > 0 {
		return commands.ErrMisconf
	}
	if ex.aof != nil && ex.aof.broken != nil {
		return commands.ErrLogFailed(reasonOf(ex.aof.broken))
	}
	return nil
}

// idles reports whether the session does nothing. One that waits, in a command or for the end of
// CLIENT PAUSE, does not; nor does one that listens, or for which the server renews a lock:
// closing it would take the lock away.
func (s *session) idles() bool {
	return s.waiter == nil && !s.held && s.subs == nil && !s.monitors && s.renewals == nil
}

// closeIdle closes clients that have been idle longer than the timeout directive allows.
// Reading replies is no idleness.
func (ex *executor) closeIdle() {
	if ex.config.TimeoutMS == 0 {
		return
	}
	now := ex.store.NowUS()
	for _, s := range ex.clients {
		if s.reads.Swap(false) {
			s.info.lastUS = now
		}
		if s.idles() && now-s.info.lastUS > ex.config.TimeoutMS*1000 {
			ex.log.Debug("closing an idle client", "client", s.id)
			ex.condemn(s)
		}
	}
}

// backgroundSave is one save that runs beside everything else. It can be called off: a save that began
// earlier must not replace the file of one that ended sooner.
type backgroundSave struct {
	off     atomic.Bool
	written chan struct{} // closed when the file has been replaced, or will not be any more
}

// errCalledOff ends a background save that something newer has made pointless.
var errCalledOff = errors.New("the save was called off")

// run writes the snapshot; it returns errCalledOff, and leaves the old file, if it was called off in time.
func (bg *backgroundSave) run(path string, snap *store.Snapshot, o persistence.SaveOptions) (bytes int64, err error) {
	o.Breathe = background.Breathe
	err = bg.work(func() error {
		return persistence.ReplaceFile(path, func(w io.Writer) (err error) {
			bytes, err = persistence.Save(calledOff{bg, w}, snap, o)
			return err
		})
	})
	return bytes, err
}

// work does what writes a file; its error becomes errCalledOff if that is why.
func (bg *backgroundSave) work(write func() error) (err error) {
	defer close(bg.written)
	done := make(chan struct{})
	go func() { // on a thread of its own, that gives way to the others; what needs the executor is done on another
		defer close(done)
		background.Enter()
		err = write()
	}()
	<-done
	if bg.off.Load() && err != nil {
		err = errCalledOff
	}
	return err
}

// calledOff fails as soon as its save has been called off.
type calledOff struct {
	bg *backgroundSave
	to io.Writer
}

func (c calledOff) Write(b []byte) (int, error) {
	if c.bg.off.Load() {
		return 0, errCalledOff
	}
	return c.to.Write(b)
}

// hurry makes everyone who is at work stop soon: sessions with commands left, and a background save.
func (ex *executor) hurry() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.ending = true
	if ex.snapshots.running {
		ex.snapshots.background.off.Store(true)
	}
	if ex.rewrites.running {
		ex.rewrites.background.off.Store(true)
	}
}

// awaitNoSave calls a running background save off and waits until it cannot replace the
// file any more; under the executor.
func (ex *executor) awaitNoSave() {
	if ex.snapshots.running {
		ex.snapshots.background.off.Store(true)
		<-ex.snapshots.background.written
	}
}

// removeStaleFiles removes what a process that was killed in the middle of a save has left behind; at start.
func (ex *executor) removeStaleFiles() {
	for _, name := range []string{ex.config.DBFilename, tokenFile} {
		if name == "" {
			continue
		}
		stale, err := filepath.Glob(filepath.Join(escapeGlob(ex.config.Dir), "temp-*-"+escapeGlob(name)))
		if err != nil {
			ex.log.Warn("could not look for files left behind", "cause", err)
		}
		for _, path := range stale {
			ex.removeStale(path, name)
		}
	}
}

// removeStale removes one file if its name is one that persistence.ReplaceFile gives,
// with a number in the middle.
func (ex *executor) removeStale(path, name string) {
	number := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "temp-"), "-"+name)
	_, err := strconv.ParseUint(number, 10, 64)
	st, statErr := os.Lstat(path)
	if err != nil || statErr != nil || !st.Mode().IsRegular() {
		return
	}
	if err := os.Remove(path); err != nil {
		ex.log.Warn("could not remove a file that an interrupted save left behind", "file", path, "cause", err)
		return
	}
	ex.log.Info("removed a file that an interrupted save left behind", "file", path)
}

// escapeGlob makes every character of a path stand for itself in filepath.Glob.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // no escapes there; a wrong match fails on the number
	}
	return strings.NewReplacer("*", "\\*", "?", "\\?", "[", "\\[", "\\", "\\\\").Replace(path)
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
