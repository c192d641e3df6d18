package durability

import (
	"fmt"
	"os"
	"path/filepath"

	"lockserver/persistence"
	"lockserver/store"
)

// snapshots is the state of saving.
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
	saves        int64           // that SAVE, BGSAVE and save points have begun, as Redis counts
}

// Saving reports whether a snapshot is being written in the background.
func (s *Storage) Saving() bool { return s.snapshots.running }

// ScheduleSave has a snapshot written when nothing else is being written.
func (s *Storage) ScheduleSave() { s.snapshots.scheduled = true }

// LastSaveS is when the last snapshot was written, or the server started, in seconds since 1970.
func (s *Storage) LastSaveS() int64 { return s.snapshots.lastSaveS }

// callOff makes a background save that runs fail.
func (sn *snapshots) callOff() {
	if sn.running {
		sn.background.off.Store(true)
	}
}

// retrySaveMS is how long a failed background save keeps the save points from trying again, as in Redis.
const retrySaveMS = 5000

func (s *Storage) snapshotPath() string { return filepath.Join(s.config.Dir, s.config.DBFilename) }

// saveDue says whether a save point has been reached.
func (s *Storage) saveDue(nowMS int64) bool {
	sn := &s.snapshots
	if sn.lastErr != nil && nowMS-sn.lastTryMS < retrySaveMS {
		return false
	}
	changes := s.store.Dirty() - sn.dirtyAtSave
	for _, p := range s.config.Save {
		if changes >= p.Changes && nowMS-sn.lastSaveS*1000 > p.PeriodMS {
			s.logger.Info(fmt.Sprintf("%d changes in %d seconds. Saving...", changes, p.PeriodMS/1000))
			return true
		}
	}
	return false
}

func (s *Storage) saveOptions() persistence.SaveOptions {
	o := persistence.SaveOptions{
		Compress: s.config.RDBCompression, Checksum: s.config.RDBChecksum,
		CreatedS: s.store.NowMS() / 1000, Version: s.opts.Version, Functions: s.host.Libraries(),
		TokenLimit: max(s.tokens.limit, s.LastToken()), EachKey: s.saveDelay(),
	}
	// plant:save-token-limit
	if s.opts.Place != nil {
		o.History = s.opts.Place()
	}
	return o
}

// StartSave takes a cut and writes it in the background, so that it delays other work only for as long as the
// cut takes. No other save may run.
func (s *Storage) StartSave() {
	s.host.HandOn() // what happened before the cut is in the history before its place
	sn := &s.snapshots
	sn.running = true
	sn.saves++
	s.followPolicy(s.config)
	sn.startedDirty = s.store.Dirty()
	sn.lastTryMS = s.store.NowMS()
	snap, path, o := s.store.Cut(), s.snapshotPath(), s.saveOptions()
	bg := newBackgroundSave(snap)
	sn.background = bg
	s.logger.Info(fmt.Sprintf("Background saving started by pid %d", os.Getpid()))
	s.host.Background(func() {
		bytes, err := bg.run(path, snap, o)
		s.host.Do(func() { s.endSave(snap, bytes, err) })
	})
}

// endSave records how a background save went.
func (s *Storage) endSave(snap *store.Snapshot, bytes int64, err error) {
	snap.Release()
	sn := &s.snapshots
	sn.running = false
	s.releaseLeft()
	s.followPolicy(s.config)
	defer func() { s.startScheduled(s.store.NowMS()) }()
	if sn.background.off.Load() { // perhaps too late, but something newer has replaced its file
		s.logger.Info("the background save was called off")
		return
	}
	sn.durationMS = s.store.NowMS() - sn.lastTryMS
	if err != nil {
		sn.lastErr = err
		s.logger.Error("Background saving error", "file", s.snapshotPath(), "cause", err)
		return
	}
	s.recordSave(sn.startedDirty, bytes)
	s.logger.Info("Background saving terminated with success")
}

// recordSave records that a snapshot is on disk, with dirty of the changes.
func (s *Storage) recordSave(dirty, bytes int64) {
	sn := &s.snapshots
	sn.lastErr = nil
	sn.dirtyAtSave = dirty
	sn.lastSaveS = s.store.NowMS() / 1000
	s.logger.Info("DB saved on disk", "file", s.snapshotPath(), "bytes", bytes)
}

// Save writes a snapshot while everything else waits. An error has been logged.
func (s *Storage) Save() error {
	s.snapshots.saves++
	return s.saveNow()
}

// saveNow is Save for the server's own needs. It does not count as a save.
func (s *Storage) saveNow() error {
	err := s.OwnDir()
	var bytes int64
	if err == nil {
		s.host.HandOn()
		snap := s.store.Cut()
		bytes, err = persistence.SaveFile(s.snapshotPath(), snap, s.saveOptions())
		snap.Release()
	}
	if err != nil {
		s.logger.Error("Write error while saving DB to the disk", "file", s.snapshotPath(), "cause", err)
		return err
	}
	s.recordSave(s.store.Dirty(), bytes)
	return nil
}

// SaveLast writes a snapshot that none replaces: a background save that runs is called off, and waited for
// until it cannot replace the file any more. An error has been logged.
func (s *Storage) SaveLast() error {
	s.endBackgroundSave()
	return s.saveNow()
}

// endBackgroundSave calls a background save off that runs, and waits until it cannot replace the file any
// more.
func (s *Storage) endBackgroundSave() {
	if s.snapshots.running {
		s.snapshots.callOff()
		<-s.snapshots.background.written
	}
}

// Emptied makes the disk forget what FLUSHALL has removed, as in Redis. It calls off a running background
// save, and with save points it replaces the snapshot with an empty one. If that fails, it is logged, and the
// data is gone all the same. While a log is loaded nothing is written: a FLUSHALL in it is history.
func (s *Storage) Emptied() {
	if s.loading != nil {
		return
	}
	s.endBackgroundSave()
	if len(s.config.Save) > 0 && s.config.DBFilename != "" {
		_ = s.saveNow() // it has been logged
	}
}
