package durability

import (
	"context"
	"errors"
	"path/filepath"

	"lockserver/internal/config"
	"lockserver/persistence/aof"
	"lockserver/persistence/disk"
)

// Opening the log, switching it on and off, and its sync policy, by the directives.

// newLog returns a Log, and the options for opening its files. The log's goroutines call the functions in
// these options, even while a log is closed under the host's lock. So these functions must not wait for that
// lock.
func (s *Storage) newLog() (*Log, aof.Options) {
	l := &Log{storage: s}
	l.offset.Store(s.gate.End())
	return l, aof.Options{
		Policy: policyOf(s.config.AppendFsync),
		Durable: func(position int64) {
			freed, left := s.gate.Open(l.offset.Load() + position)
			if l.log.Policy() == aof.Always {
				s.gate.Gather(freed, left)
			}
		},
		Synced: func(int64) { s.host.Synced() },
		Failed: func(error) { go s.host.Do(l.noticeFailure) },
		Warn:   func(err error) { s.logger.Warn("the append-only file", "cause", err) },
		NowMS:  func() int64 { return s.store.NowMS() },
	}
}

// policyOf returns the policy for a word of appendfsync.
func policyOf(word string) aof.Policy {
	switch word {
	case "always":
		return aof.Always
	case "no":
		return aof.No
	}
	return aof.EverySec
}

// logDir returns the log's directory.
func (s *Storage) logDir() string { return filepath.Join(s.config.Dir, s.config.AppendDirname) }

// openLogDir locks the log's directory. The error is one clear line.
func (s *Storage) openLogDir() (*aof.Dir, error) {
	if err := s.OwnDir(); err != nil {
		return nil, err
	}
	dir, err := aof.OpenDir(aof.Location{FS: s.files, Dir: s.config.Dir, Sub: s.config.AppendDirname, Filename: s.config.AppendFilename})
	if errors.Is(err, disk.ErrLocked) {
		return nil, &lockedDirError{s.logDir()}
	}
	return dir, err
}

// lockedDirError says that another server uses a directory.
type lockedDirError struct{ dir string }

func (e *lockedDirError) Error() string {
	return "another server keeps its append-only file in " + e.dir
}

// attach puts an open log into service.
func (s *Storage) attach(l *Log, log *aof.Log) {
	l.log = log
	log.SetTimestamps(s.config.AOFTimestampEnabled)
	s.log = l
	s.compose()
	s.gate.Follow(func(position int64) bool { return log.Write(position - l.offset.Load()) })
	s.store.Record(true)
}

// detach reverses attach; the log is still open.
func (s *Storage) detach() {
	last := s.log.last
	s.log = nil
	s.compose()
	s.gate.Closed(last)
	s.store.Record(s.Records())
	s.host.LogClosed()
}

// switchLog switches the log as a new configuration says, after CONFIG SET. It is the last step that may
// refuse the change. The error is a *config.SetError.
func (s *Storage) switchLog(next *config.Config) error {
	switch {
	case next.AppendOnly && s.log == nil:
		return s.switchOn(next)
	case !next.AppendOnly && s.log != nil:
		s.switchOff()
	case s.log != nil:
		s.followPolicy(next)
		s.log.log.SetTimestamps(next.AOFTimestampEnabled)
	}
	return nil
}

// followPolicy sets the sync policy: that of appendfsync, or no syncs with no-appendfsync-on-rewrite while a
// file is written in the background.
func (s *Storage) followPolicy(c *config.Config) {
	if s.log == nil {
		return
	}
	policy := policyOf(c.AppendFsync)
	if c.NoAppendFsyncOnRewrite && (s.rewrites.running || s.snapshots.running) {
		policy = aof.No
	}
	if policy != s.log.log.Policy() {
		s.log.log.SetPolicy(policy)
	}
}

// switchOn begins a log for data that is already in memory. It is in effect when the rewrite that begins now
// has succeeded. Until then replies wait for nothing, and a crash leaves the files from before.
func (s *Storage) switchOn(next *config.Config) error {
	refused := &config.SetError{Name: "appendonly", Reason: "Unable to turn on AOF. Check server logs."}
	if s.loading != nil || s.rewrites.running {
		s.logger.Error("appendonly cannot be switched on while the data is loaded, or a rewrite runs")
		return refused
	}
	before := s.config
	s.config = next // used to open the log
	defer func() { s.config = before }()
	dir, err := s.openLogDir()
	if err != nil {
		s.logger.Error("appendonly cannot be switched on", "cause", err)
		return refused
	}
	s.host.HandOn()
	l, options := s.newLog()
	log, err := dir.Replace(options)
	if err != nil {
		s.logger.Error("appendonly cannot be switched on", "cause", errors.Join(err, dir.Close()))
		return refused
	}
	s.attach(l, log)
	if s.snapshots.running {
		s.rewrites.scheduled = true
		return nil
	}
	if err := s.StartRewrite(); err != nil {
		s.logger.Error("appendonly cannot be switched on", "cause", err)
		s.switchOff()
		return refused
	}
	return nil
}

// switchOff ends the log; its files stay.
func (s *Storage) switchOff() {
	s.rewrites.callOff()
	s.rewrites.scheduled = false
	s.host.HandOn()
	if err := s.close(s.log.log); err != nil && s.log.broken == nil {
		s.log.breakDown(err)
	}
	s.detach()
	s.gate.Open(s.gate.End()) // or all of it is on disk
}

// errNotActive says that the log does not hold the data yet.
var errNotActive = errors.New("server: the append-only file is being written for the first time")

// SyncLog returns when the log, if there is one, is on disk to its end, or with the error that prevents that.
// It is for the end of the server.
func (s *Storage) SyncLog() error {
	if s.log == nil {
		return nil
	}
	s.host.HandOn()
	log := s.log.log
	err := log.Sync(context.Background())
	if err == nil && !log.Active() { // it was switched on, and its first rewrite has not ended
		err = errNotActive
	}
	if err != nil {
		s.logger.Error("the append-only file could not be synced", "cause", err)
	}
	return err
}
