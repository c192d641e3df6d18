package server

import (
	"errors"
	"path/filepath"

	"lockserver/commands"
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

func (srv *Server) snapshotPath() string { return filepath.Join(srv.config.Dir, srv.config.DBFilename) }

// fire implements firer.
func (srv *Server) fire(*executor) { srv.keepHouse() }

// keepHouse is what happens once a second, under the executor.
func (srv *Server) keepHouse() {
	ex := &srv.executor
	now := ex.store.NowMS()
	ex.timers.set(&srv.housekeeping, now+housekeepingMS)
	srv.startScheduled(now)
	if ex.tokens.due(ex.store.NowUS()) {
		srv.reserveTokens()
	}
	srv.closeIdle()
}

// saveDue says whether a save point has been reached.
func (srv *Server) saveDue(nowMS int64) bool {
	sn := &srv.snapshots
	if sn.lastErr != nil && nowMS-sn.lastTryMS < retrySaveMS {
		return false
	}
	changes := srv.store.Dirty() - sn.dirtyAtSave
	for _, p := range srv.config.Save {
		if changes >= p.Changes && nowMS-sn.lastSaveS*1000 > p.PeriodMS {
			srv.log.Info("a save point was reached", "changes", changes, "ms", p.PeriodMS)
			return true
		}
	}
	return false
}

func (srv *Server) saveOptions() persistence.SaveOptions {
	return persistence.SaveOptions{
		Compress: srv.config.RDBCompression, Checksum: srv.config.RDBChecksum,
		CreatedS: srv.store.NowMS() / 1000, Version: compatibleVersion, Functions: srv.scripts.libraries.codes(),
		TokenLimit: max(srv.tokens.limit, srv.tokens.last),
	}
}

// startSave takes a cut and writes it out in the background. It runs under the executor,
// which it holds up only for the cut.
func (srv *Server) startSave() {
	sn := &srv.snapshots
	sn.running = true
	srv.followPolicy(srv.config)
	sn.startedDirty = srv.store.Dirty()
	sn.lastTryMS = srv.store.NowMS()
	snap, path, o := srv.store.Cut(), srv.snapshotPath(), srv.saveOptions()
	bg := &backgroundSave{written: make(chan struct{})}
	sn.background = bg
	srv.group.Go(func() {
		bytes, err := bg.run(path, snap, o)
		srv.do(func() { srv.endSave(snap, bytes, err) })
	})
}

// endSave notes how a background save went; under the executor.
func (srv *Server) endSave(snap *store.Snapshot, bytes int64, err error) {
	snap.Release()
	sn := &srv.snapshots
	sn.running = false
	srv.releaseLeft()
	srv.followPolicy(srv.config)
	defer func() { srv.startScheduled(srv.store.NowMS()) }()
	if errors.Is(err, errCalledOff) {
		srv.log.Info("the background save was called off")
		return
	}
	sn.durationMS = srv.store.NowMS() - sn.lastTryMS
	if err != nil {
		sn.lastErr = err
		srv.log.Error("saving failed", "file", srv.snapshotPath(), "cause", err)
		return
	}
	srv.noteSave(sn.startedDirty, bytes)
}

// noteSave notes that a snapshot with so many of the changes is on disk.
func (srv *Server) noteSave(dirty, bytes int64) {
	sn := &srv.snapshots
	sn.lastErr = nil
	sn.saves++
	sn.dirtyAtSave = dirty
	sn.lastSaveS = srv.store.NowMS() / 1000
	srv.log.Info("DB saved on disk", "file", srv.snapshotPath(), "bytes", bytes)
}

// saveNow writes a snapshot while everything else waits; under the executor.
func (srv *Server) saveNow() error {
	err := srv.ownDir()
	var bytes int64
	if err == nil {
		snap := srv.store.Cut()
		bytes, err = persistence.SaveFile(srv.snapshotPath(), snap, srv.saveOptions())
		snap.Release()
	}
	if err != nil {
		srv.log.Error("saving failed", "file", srv.snapshotPath(), "cause", err)
		return err
	}
	srv.noteSave(srv.store.Dirty(), bytes)
	return nil
}

// refusesWrites returns what keeps clients from writing, if anything does: a failed
// background save, or the log.
func (srv *Server) refusesWrites() error {
	if srv.snapshots.lastErr != nil && srv.config.StopWritesOnBgsaveError && len(srv.config.Save) > 0 {
		return commands.ErrMisconf
	}
	if srv.aof != nil && srv.aof.broken != nil {
		return commands.ErrLogFailed(reasonOf(srv.aof.broken))
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
func (srv *Server) closeIdle() {
	if srv.config.TimeoutMS == 0 {
		return
	}
	now := srv.store.NowUS()
	for _, s := range srv.clients {
		if s.reads.Swap(false) {
			s.info.lastUS = now
		}
		if s.idles() && now-s.info.lastUS > srv.config.TimeoutMS*1000 {
			srv.log.Debug("closing an idle client", "client", s.id)
			srv.condemn(s)
		}
	}
}
