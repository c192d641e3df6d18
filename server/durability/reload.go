package durability

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"lockserver/commands"
	"lockserver/persistence/aof"
)

// Reading the files while the server runs: DEBUG RELOAD and DEBUG LOADAOF. Each happens within one command,
// so no client sees a part of the data. The log gets no effects from it.

// ErrHalfLoaded says that the data in memory is neither the old data nor that of the files. The server must
// end.
var ErrHalfLoaded = errors.New("the data is half loaded")

// ErrNothingToLoad says that there was no file to load, or that its libraries already exist. Unless KeepData
// was set, there is no data now.
var ErrNothingToLoad = errors.New("nothing can be loaded")

// Reload describes a DEBUG RELOAD. The zero value saves, removes all data, and loads it.
type Reload struct {
	KeepFile bool // the file is loaded without a save before
	KeepData bool // the data in memory stays
	Replace  bool // a key of the file replaces an existing key; otherwise an existing key is an error
}

// ReloadSnapshot replaces the data with that of a snapshot, or adds the snapshot to it. If the log does not
// lead to the result, the log is rewritten before it returns. An error other than ErrHalfLoaded and
// ErrNothingToLoad has changed nothing.
func (s *Storage) ReloadSnapshot(r Reload) error {
	if s.config.DBFilename == "" {
		return commands.ErrNoSnapshotFile
	}
	s.buryOverdue()
	if !r.KeepFile {
		if err := s.SaveLast(); err != nil {
			return commands.ErrSaveFailed // it was logged
		}
	}
	unsaved := s.store.Dirty() - s.snapshots.dirtyAtSave
	err := s.reload(!r.KeepData, func() error {
		_, err := s.readSnapshot(r.Replace)
		return err
	})
	s.snapshots.dirtyAtSave = s.store.Dirty() - unsaved
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w: %w", ErrNothingToLoad, err)
	case r.KeepData && errors.As(err, new(*libraryError)):
		s.logger.Error("the snapshot was not loaded", "cause", err)
		return ErrNothingToLoad
	case err != nil:
		return fmt.Errorf("%w: %w", ErrHalfLoaded, err)
	}
	if r.KeepFile || r.KeepData {
		s.rebaseLog()
	}
	if err == nil {
		s.logger.Info("DB reloaded by DEBUG RELOAD")
	}
	return err
}

// ReloadLog replaces the data with that of the append-only log. The errors are those of ReloadSnapshot.
func (s *Storage) ReloadLog() error {
	if err := s.SyncLog(); err != nil {
		return err
	}
	load, done, err := s.logToReload()
	if err != nil {
		return err
	}
	defer done()
	var got aof.Loaded
	err = s.reload(true, func() (err error) {
		s.store.SetFrozenTime(true)
		defer s.store.SetFrozenTime(false)
		got, err = load(replay{s, s.program.NewReplayer()}, s.replayOptions())
		return err
	})
	s.snapshots.dirtyAtSave = s.store.Dirty()
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrHalfLoaded, err)
	case !got.Exists:
		return ErrNothingToLoad
	}
	s.logger.Info("Append Only File loaded by DEBUG LOADAOF")
	return nil
}

// logToReload returns the function that reads the log: the server's own log, or that of its directory. done
// must be called afterwards.
func (s *Storage) logToReload() (load func(aof.Input, aof.LoadOptions) (aof.Loaded, error), done func(), err error) {
	if s.log != nil {
		return s.log.log.Reload, func() {}, nil
	}
	dir, err := s.openLogDir()
	if err != nil {
		return nil, nil, err
	}
	return dir.Load, func() { _ = dir.Close() }, nil
}

// reload removes all data, if flush is set, and calls load. Meanwhile no effects go to the log.
func (s *Storage) reload(flush bool, load func() error) error {
	s.host.HandOn()
	s.store.Record(false)
	defer func() { s.store.Record(s.Records()) }()
	if flush {
		s.store.FlushAll()
		s.program.DropLibraries()
	}
	s.begin(loading{startedUS: s.opts.Clock.NowUS(), alone: true})
	defer s.end()
	return load()
}

// buryOverdue removes overdue keys, and logs their removal, because a load silently leaves them out.
func (s *Storage) buryOverdue() {
	for s.store.ExpireDue(buryBudget) {
	}
}

// buryBudget limits the keys that are removed at a time.
const buryBudget = 1 << 10

// rebaseLog rewrites the log while everything else waits, because the log does not lead to the current data.
// If that fails, writes are refused until a rewrite succeeds.
func (s *Storage) rebaseLog() {
	s.rebase(func(write func()) { write() })
}

// rebase does the work of rebaseLog. do runs the function that writes the file, and may give others the lock
// if they change nothing.
func (s *Storage) rebase(do func(write func())) {
	if s.log == nil {
		return
	}
	if rw := &s.rewrites; rw.running {
		rw.callOff()
		<-rw.background.written
	}
	asRDB := s.config.AOFUseRDBPreamble
	run, err := s.log.log.BeginRewrite(asRDB)
	if err == nil {
		snap, o := s.store.Cut(), s.saveOptions()
		o.Base = true
		do(func() {
			err = run.Run(func(w io.Writer) error { return writeBase(newBackgroundSave(snap), w, snap, o, asRDB) })
		})
		snap.Release()
	}
	if err != nil && s.log != nil { // the log may have been switched off meanwhile
		s.log.breakDown(err)
	}
}
