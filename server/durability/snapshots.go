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
	background   *backgroundSave // the running save, or the last
	scheduled    bool            // BGSAVE SCHEDULE was called during a save
	lastErr      error           // of the last background save; a successful save clears it
	lastSaveS    int64           // when the last save succeeded, or the server started
	lastTryMS    int64           // when the last save began
	durationMS   int64           // of the last save; -1: none yet
	dirtyAtSave  int64           // changes in the last successful save
	startedDirty int64           // changes at the cut of the running save
	saves        int64           // saves begun by SAVE, BGSAVE and save points, as Redis counts
}

// Saving reports whether a snapshot is being written in the background.
func (sn *snapshots) Saving() bool { return sn.running }

// ScheduleSave requests a snapshot when no other file is being written.
func (sn *snapshots) ScheduleSave() { sn.scheduled = true }

// LastSaveS returns when the last snapshot was written, or the server started, in seconds since 1970.
func (sn *snapshots) LastSaveS() int64 { return sn.lastSaveS }

// callOff makes a running background save fail.
func (sn *snapshots) callOff() {
	if sn.running {
		sn.background.off.Store(true)
	}
}

// retrySaveMS is the pause after a failed background save before a save point tries again, as in Redis.
const retrySaveMS = 5000

func (s *Storage) snapshotPath() string { return filepath.Join(s.config.Dir, s.config.DBFilename) }

// saveDue reports whether a save point has been reached.
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
		CreatedS: s.store.NowMS() / 1000, Version: s.opts.Version, Functions: s.program.Libraries(),
		TokenLimit: max(s.tokens.limit, s.LastToken()), EachKey: s.saveDelay(),
	}
	// plant:save-token-limit
	if s.opts.Place != nil {
		o.History = s.opts.Place()
	}
	return o
}

// StartSave takes a cut and writes it in the background. It only delays other work by the time of the cut. No
// other save may be running.
func (s *Storage) StartSave() {
	s.host.HandOn() // effects from before the cut come before its position in the history
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
	s.program.Background(func() {
		bytes, err := bg.run(path, snap, o)
		s.host.Do(func() { s.endSave(snap, bytes, err) })
	})
}

// endSave records the result of a background save.
func (s *Storage) endSave(snap *store.Snapshot, bytes int64, err error) {
	snap.Release()
	sn := &s.snapshots
	sn.running = false
	s.left.release()
	s.followPolicy(s.config)
	defer func() { s.startScheduled(s.store.NowMS()) }()
	if sn.background.off.Load() { // perhaps too late, but a newer save has replaced its file
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

// recordSave records that a snapshot is on disk; dirty is the number of changes in it.
func (s *Storage) recordSave(dirty, bytes int64) {
	sn := &s.snapshots
	sn.lastErr = nil
	sn.dirtyAtSave = dirty
	sn.lastSaveS = s.store.NowMS() / 1000
	s.logger.Info("DB saved on disk", "file", s.snapshotPath(), "bytes", bytes)
}

// Save writes a snapshot while everything else waits. An error was logged.
func (s *Storage) Save() error {
	s.snapshots.saves++
	return s.saveNow()
}

// saveNow does the work of Save for the server itself. It does not count as a save.
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

// SaveLast writes a snapshot that no other snapshot replaces: it calls off a running background save, and
// waits until that save cannot replace the file any more. An error was logged.
func (s *Storage) SaveLast() error {
	s.endBackgroundSave()
	return s.saveNow()
}

// endBackgroundSave calls off a running background save, and waits until it cannot replace the file any more.
func (sn *snapshots) endBackgroundSave() {
	if sn.running {
		sn.callOff()
		<-sn.background.written
	}
}

// Emptied removes the data from disk that FLUSHALL has removed, as in Redis. It calls off a running
// background save, and with save points it replaces the snapshot with an empty snapshot. If that fails, the
// error is logged, and the data in memory is removed all the same. While a log is loaded nothing is written,
// because a FLUSHALL in the log is history.
func (s *Storage) Emptied() {
	if s.loading != nil {
		return
	}
	s.endBackgroundSave()
	if len(s.config.Save) > 0 && s.config.DBFilename != "" {
		_ = s.saveNow() // it was logged
	}
}
