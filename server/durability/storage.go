package durability

import (
	"io"
	"log/slog"
	"time"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/persistence"
	"lockserver/persistence/aof"
	"lockserver/persistence/disk"
	"lockserver/server/clock"
	"lockserver/server/gate"
	"lockserver/store"
)

// Options say what a Storage works on.
type Options struct {
	Host   Executor
	Store  *store.Store
	Gate   *gate.Gate     // to which the log's positions belong
	Config *config.Config // the directives; Dir is absolute
	Files  disk.FS        // where the log is, and the locks are
	Log    *slog.Logger
	Clock  clock.Clock // by which a load is measured: the time of units does not pass in it
	// Progress takes a line every two seconds of a load that takes long; nil: these lines go to Log.
	Progress io.Writer
	// Place returns the place of the data in a replication history; nil: there is no history.
	Place func() persistence.History
	// Journal takes the effects of every unit besides the log, and may keep them; nil: there is none.
	Journal Journal
	Version string // what a snapshot says that it was written by
	// Configured says that the server has a configuration file, and so a directory, whatever it writes there.
	Configured bool
}

// Journal takes the effects of each unit, in order.
type Journal interface {
	Append(unit []store.Effect)
}

// Storage is all that one server keeps on disk. Init makes it ready.
type Storage struct {
	// These three are looked at for each command.
	journal Journal  // where units go: the log, the history, Options.Journal, several of them; nil: none
	log     *Log     // nil: appendonly is off
	loading *loading // nil: the data is there

	opts   Options
	host   Executor
	store  *store.Store
	gate   *gate.Gate
	config *config.Config // the directives in force
	files  disk.FS
	logger *slog.Logger

	history   Journal             // of replication; nil: none is written
	found     persistence.History // the place of the loaded data in such a history
	overdue   overdue             // what the snapshot had and was not loaded at the start
	rewrites  rewrites
	snapshots snapshots
	own       *claim   // of config.Dir; nil: nothing may be written there
	left      []*claim // of directories that are still written to
	tokens    tokens
	trusting  bool // snapshots are loaded whatever their checksum says: DEBUG SET-SKIP-CHECKSUM-VALIDATION
	// loadedKeys and expiredKeys are how many keys of the last snapshot that was loaded were kept, and not.
	loadedKeys, expiredKeys int
	delayedBefore           int64 // what aof.Stats.Delayed was when the counts were set to zero
}

// Init makes a Storage ready, which is not to be copied from then on. Nothing is read or written before Load.
func (s *Storage) Init(o Options) {
	*s = Storage{opts: o, host: o.Host, store: o.Store, gate: o.Gate, config: o.Config, files: o.Files, logger: o.Log}
	s.compose()
	s.store.Record(s.Records())
}

// Records reports whether units are to be given to Append.
func (s *Storage) Records() bool { return s.journal != nil }

// Append takes the effects of a unit, if Records says so. With Options.Journal set, the caller must not use
// them again.
func (s *Storage) Append(unit []store.Effect) { s.journal.Append(unit) }

// Log is the append-only log; nil: there is none.
func (s *Storage) Log() *Log { return s.log }

// Broken is why the log cannot be written, nil if it can, or there is none.
func (s *Storage) Broken() error {
	if s.log == nil {
		return nil
	}
	return s.log.broken
}

// Loading reports whether data is still being read.
func (s *Storage) Loading() bool { return s.loading != nil }

// Serves reports whether clients find whole data while Loading: that from before.
func (s *Storage) Serves() bool { return s.loading != nil && s.loading.serves }

// Adopted reports whether the data that was loaded aside is now the data, but must not change yet: the log is
// being rewritten.
func (s *Storage) Adopted() bool { return s.loading != nil && s.loading.adopted }

// Aside returns how many bytes the data takes that is being loaded beside the old data.
func (s *Storage) Aside() int {
	if s.loading == nil || s.loading.aside == nil {
		return 0
	}
	return s.loading.aside.Used()
}

// RefusesWrites returns what keeps clients from writing, if anything does: a failed background save, or the
// log. The error is for the client.
func (s *Storage) RefusesWrites() error {
	if s.snapshots.lastErr != nil && s.config.StopWritesOnBgsaveError && len(s.config.Save) > 0 {
		return commands.ErrMisconf
	}
	if s.log != nil && s.log.broken != nil {
		return commands.ErrLogFailed(reasonOf(s.log.broken))
	}
	return nil
}

// Reconfigure applies new directives; names are those that have been set. They are in force when it returns
// nil. After an error nothing has changed. A relative Dir is made absolute. The error is a *config.SetError.
func (s *Storage) Reconfigure(next *config.Config, names []string) error {
	done, undo, err := s.changeDir(next, names)
	if err != nil {
		return err
	}
	if err := s.switchLog(next); err != nil {
		undo()
		return err
	}
	s.config = next
	done()
	return nil
}

// Trusts reports whether what is loaded is taken whatever its checksum says.
func (s *Storage) Trusts() bool { return s.trusting }

// Trust decides whether snapshots are loaded whatever their checksum says.
func (s *Storage) Trust(on bool) { s.trusting = on }

// DelayWrites makes every write of the log wait before it, so that a test can see what has not been written.
func (s *Storage) DelayWrites(d time.Duration) {
	if s.log != nil {
		s.log.log.Delay(d)
	}
}

// Tick is to be called about once a second: it starts what is due.
func (s *Storage) Tick() {
	s.startScheduled(s.store.NowMS())
	if s.tokens.due(s.store.NowUS()) {
		s.reserveTokens()
	}
}

// CallOff makes a background save and a rewrite that run end soon, without effect: the server is about to
// end.
func (s *Storage) CallOff() {
	s.snapshots.callOff()
	s.rewrites.callOff()
}

// Close takes the log and the directory away from a server in which nothing runs any more. What it returns
// ends them, and is to be called without the lock; the log is then on disk to its end.
func (s *Storage) Close() (end func()) {
	log, own := s.log, s.own
	s.log, s.own = nil, nil
	s.releaseLeft()
	return func() {
		if log != nil {
			_ = s.close(log.log) // it has been logged
		}
		if own != nil { // last: another server may begin at once
			_ = own.release()
		}
	}
}

// close closes a log's files.
func (s *Storage) close(log *aof.Log) (err error) {
	if err = log.Close(); err != nil {
		s.logger.Error("the append-only file could not be closed", "cause", err)
	}
	return err
}

// SetHistory makes units go to a history of replication as well; nil: to none.
func (s *Storage) SetHistory(history Journal) {
	s.history = history
	s.compose()
	if s.loading == nil {
		s.store.Record(s.Records())
	}
}

// compose makes units go to all journals.
func (s *Storage) compose() {
	var all journals
	if s.history != nil {
		all = append(all, s.history)
	}
	if s.log != nil {
		all = append(all, s.log)
	}
	if s.opts.Journal != nil {
		all = append(all, keeper{s.opts.Journal, len(all) > 0})
	}
	switch len(all) {
	case 0:
		s.journal = nil
	case 1:
		s.journal = all[0]
	default:
		s.journal = all
	}
}

// journals are several of them.
type journals []Journal

// Append implements Journal.
func (all journals) Append(unit []store.Effect) {
	for _, j := range all {
		j.Append(unit)
	}
}

// keeper is a journal that may keep what it is given, and so gets a copy if others are given it as well.
type keeper struct {
	Journal
	copies bool
}

// Append implements Journal.
func (k keeper) Append(unit []store.Effect) {
	if k.copies {
		unit = cloneUnit(unit)
	}
	k.Journal.Append(unit)
}

// cloneUnit copies a unit, for a journal may keep what it is given.
func cloneUnit(unit []store.Effect) []store.Effect {
	own := make([]store.Effect, len(unit))
	for i, e := range unit {
		own[i] = store.Effect{DB: e.DB, Args: commands.CloneAll(e.Args)}
	}
	return own
}
