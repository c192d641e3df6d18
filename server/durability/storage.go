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

// Options holds what a Storage works with.
type Options struct {
	Host    Executor
	Program Program
	Store   *store.Store
	Gate    *gate.Gate     // the gate for the log's positions
	Config  *config.Config // the directives; Dir is absolute
	Files   disk.FS        // the file system of the log and the locks
	Log     *slog.Logger
	Clock   clock.Clock // measures loads, because the time of units stands still during a load
	// Progress receives a line every two seconds of a long load; nil: these lines go to Log.
	Progress io.Writer
	// Place returns the position of the data in a replication history; nil: there is no history.
	Place func() persistence.History
	// Journal receives the effects of every unit in addition to the log, and may keep them; it may be nil.
	Journal Journal
	// History is the history that other servers follow, or nil.
	History History
	Version string // the version that a snapshot states
	// Configured says that the server has a configuration file, and therefore a directory, even if it writes
	// nothing there.
	Configured bool
}

// Storage holds everything that a server keeps on disk. Init makes it ready.
type Storage struct {
	// Each command reads these three fields.
	Recorder
	currentLog
	loads

	opts    Options
	host    Executor
	program Program
	store   *store.Store
	gate    *gate.Gate
	config  *config.Config // the current directives
	files   disk.FS
	logger  *slog.Logger

	found   persistence.History // the position of the loaded data in a replication history
	overdue overdue             // keys and fields of the snapshot that were not loaded at the start
	rewrites
	snapshots
	tokens
	own  *claim // of config.Dir; nil: nothing may be written there
	left claims // of directories in which a file is still being written
	// loadedKeys and expiredKeys are the numbers of keys of the last loaded snapshot that were kept, and that
	// were dropped.
	loadedKeys, expiredKeys int
	delayedBefore           int64 // the value of aof.Stats.Delayed when the counts were set to zero
}

// currentLog holds the append-only log.
type currentLog struct {
	log *Log // nil: appendonly is off
}

// loads holds the running load, and how files are loaded.
type loads struct {
	loading  *loading // nil: no load is running
	host     Executor
	trusting bool // snapshots are loaded even with a wrong checksum: DEBUG SET-SKIP-CHECKSUM-VALIDATION
}

// Loading reports whether data is still being read.
func (ls *loads) Loading() bool { return ls.loading != nil }

// Serves reports whether clients see complete data during a load: the old data.
func (ls *loads) Serves() bool { return ls.loading != nil && ls.loading.serves }

// Adopted reports whether the data that was loaded aside is now the data, but must not change yet, because
// the log is being rewritten.
func (ls *loads) Adopted() bool { return ls.loading != nil && ls.loading.adopted }

// Aside returns the memory of the data that is being loaded beside the old data.
func (ls *loads) Aside() int {
	if ls.loading == nil || ls.loading.aside == nil {
		return 0
	}
	return ls.loading.aside.Used()
}

// Init makes a Storage ready. It must not be copied afterwards. Nothing is read or written before Load.
func (s *Storage) Init(o Options) {
	*s = Storage{opts: o, host: o.Host, program: o.Program, store: o.Store, gate: o.Gate, config: o.Config, files: o.Files, logger: o.Log,
		loads: loads{host: o.Host}, tokens: tokens{store: o.Store, host: o.Host, program: o.Program, logger: o.Log}}
	s.Recorder = Recorder{store: o.Store, kept: o.Journal, history: o.History}
	s.compose()
	s.store.Record(s.Records())
}

// Log returns the append-only log, or nil.
func (c *currentLog) Log() *Log { return c.log }

// Broken returns the reason why the log cannot be written, or nil.
func (c *currentLog) Broken() error {
	if c.log == nil {
		return nil
	}
	return c.log.broken
}

// RefusesWrites returns the reason why clients must not write, or nil: a failed background save, or the log.
// The error is for the client.
func (s *Storage) RefusesWrites() error {
	if s.snapshots.lastErr != nil && s.config.StopWritesOnBgsaveError && len(s.config.Save) > 0 {
		return commands.ErrMisconf
	}
	if s.log != nil && s.log.broken != nil {
		return commands.ErrLogFailed(reasonOf(s.log.broken))
	}
	return nil
}

// Reconfigure applies new directives; names lists the directives that were set. They are in force when it
// returns nil. After an error nothing has changed. A relative Dir is made absolute. The error is a
// *config.SetError.
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

// Trusts reports whether files are loaded even with a wrong checksum.
func (ls *loads) Trusts() bool { return ls.trusting }

// Trust sets whether files are loaded even with a wrong checksum.
func (ls *loads) Trust(on bool) { ls.trusting = on }

// DelayWrites delays every write of the log, so that a test can see the state before it.
func (c *currentLog) DelayWrites(d time.Duration) {
	if c.log != nil {
		c.log.log.Delay(d)
	}
}

// Tick must be called about once a second: it starts work that is due.
func (s *Storage) Tick() {
	s.startScheduled(s.store.NowMS())
	if s.tokens.due(s.store.NowUS()) {
		s.reserveTokens()
	}
}

// CallOff makes a running background save and a running rewrite end soon, without effect, because the server
// is about to end.
func (s *Storage) CallOff() {
	s.snapshots.callOff()
	s.rewrites.callOff()
}

// Close removes the log and the directory from a server without running work. The caller then calls end
// without the lock, which closes both; the log is then on disk to its end.
func (s *Storage) Close() (end func()) {
	log, own := s.log, s.own
	s.log, s.own = nil, nil
	s.left.release()
	return func() {
		if log != nil {
			_ = s.close(log.log) // it was logged
		}
		if own != nil { // last, because another server may begin at once
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

// RecordHistory makes units also go to the history of other servers, or no more.
func (s *Storage) RecordHistory(on bool) {
	s.Recorder.recorded = on
	s.compose()
	if s.loading == nil {
		s.store.Record(s.Records())
	}
}

// Follow has one more journal receive the effects of each unit from now on; nil: no longer. It must keep
// nothing of a unit. The caller hands on earlier effects first, since the journal would get these, too.
func Follow(s *Storage, j Journal) {
	s.Recorder.follower = j
	s.compose()
	if s.loading == nil {
		s.store.Record(s.Records())
	}
}

// compose sets the journal that receives all units.
func (s *Storage) compose() { s.Recorder.compose(s.log) }
