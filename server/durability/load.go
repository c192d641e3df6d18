package durability

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lockserver/commands"
	"lockserver/persistence"
	"lockserver/persistence/aof"
	"lockserver/store"
)

// Loading: the files are read in slices, between which the host answers clients, most of them with -LOADING.

// loading is the progress of a load.
type loading struct {
	startedUS  int64
	file       string
	done       int64 // bytes
	total      int64
	reportedUS int64 // when the progress was last reported
	quiet      int64 // number of bytes that are loaded before others get the lock for the first time
	alone      bool  // the load is part of a command: no other goroutine may get the lock
	ended      error // why it was broken off: the server is about to end
	pace       pace
	aside      *store.Store  // the store for a load beside the data; nil: the data itself
	serves     bool          // clients see the old data
	adopted    bool          // the data loaded aside is now the data, and the log is not rewritten yet
	over       chan struct{} // closed at the end of the load
}

// begin begins a load.
func (ls *loads) begin(l loading) {
	l.over = make(chan struct{})
	ls.loading = &l
}

// end ends the load.
func (ls *loads) end() {
	close(ls.loading.over)
	ls.loading = nil
}

// awaitLoad gives others the lock until no load is running: an ended link takes a moment to notice its end.
// It returns an error if the server is about to end.
func (ls *loads) awaitLoad() error {
	for ls.loading != nil {
		over := ls.loading.over
		if err := ls.host.Wait(func() { <-over }); err != nil {
			return err
		}
	}
	return nil
}

// reportLoadUS is the time between two reports about a long load.
const reportLoadUS = 2_000_000

// quietLoadBytes is the number of bytes that are loaded at the start before clients get an answer, which is
// mostly -LOADING. A program that starts a server and connects at once does not notice a short load. Redis
// has the same limit (loading-process-events-interval-bytes).
const quietLoadBytes = 2 << 20

// BeginLoad says that clients can connect from now on, and the data is not loaded yet. Load and EndLoad
// follow.
func (ls *loads) BeginLoad(nowUS int64) { ls.begin(loading{startedUS: nowUS, quiet: quietLoadBytes}) }

// Load fills the empty databases from the files: the append-only log if it is on. If the log is off, or does
// not exist yet, it loads the snapshot.
func (s *Storage) Load() error {
	if err := s.claimAtStart(); err != nil {
		return err
	}
	s.snapshots.lastSaveS = s.store.NowMS() / 1000
	s.snapshots.durationMS = -1
	s.rewrites.durationMS = -1
	s.store.Record(false)
	load := s.loadSnapshot
	if s.config.AppendOnly {
		load = s.loadLog
	}
	err := load()
	s.store.Record(s.Records())
	if err != nil {
		s.disown()
	}
	return err
}

// EndLoad puts the loaded data into service. It is called when the time of the load has also passed in the
// store.
func (s *Storage) EndLoad() error {
	if err := s.startTokens(); err != nil {
		s.disown()
		return err
	}
	if s.own != nil {
		s.removeStaleFiles()
	}
	s.snapshots.dirtyAtSave = s.store.Dirty()
	s.end()
	return nil
}

// TellPlace tells the host the position of the loaded data in a replication history, if it is known.
func (s *Storage) TellPlace() {
	if s.found.ID != "" && !s.overdue.tooMuch {
		s.host.Placed(s.found, s.overdue.effects)
	}
	s.overdue = overdue{}
}

// overdue holds the keys and fields of a snapshot that were not loaded because they had expired. Replicas
// that continue the history still have them, and get the removals, as from Redis.
type overdue struct {
	effects []store.Effect
	bytes   int64 // size of keys and fields
	tooMuch bool  // there are more than a history keeps: replicas begin anew
}

// add records the removal of a key, or of one of its fields if field is not nil.
func (o *overdue) add(db int, key, field []byte, most int64) {
	if o.tooMuch {
		return
	}
	if o.bytes += int64(len(key) + len(field)); o.bytes > most {
		*o = overdue{tooMuch: true}
		return
	}
	args := [][]byte{[]byte("DEL"), key}
	if field != nil {
		args = [][]byte{[]byte("HDEL"), key, field}
	}
	o.effects = append(o.effects, store.Effect{DB: db, Args: commands.CloneAll(args)})
}

// disown restores the directory: a server that does not start leaves nothing behind.
func (s *Storage) disown() {
	if s.own != nil {
		s.own.undo(s.files)
		s.own = nil
	}
}

// loadSnapshot reads the snapshot, if it exists. It leaves out expired keys, except on a replica: there the
// master removes them, and may still extend them.
func (s *Storage) loadSnapshot() error {
	if s.config.DBFilename == "" {
		return nil
	}
	s.store.SetFrozenTime(s.config.Replication.MasterHost != "")
	defer s.store.SetFrozenTime(false)
	got, err := s.readSnapshot(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.logger.Info("DB loaded from disk: "+s.loadTook(), "file", s.loading.file, "bytes", got.Bytes, "rdb-version", got.Version)
	return nil
}

// readSnapshot reads the snapshot; replace says that its keys and libraries replace existing keys and
// libraries. The error is fs.ErrNotExist if there is no snapshot.
func (s *Storage) readSnapshot(replace bool) (persistence.Loaded, error) {
	path := s.snapshotPath()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return persistence.Loaded{}, err
	}
	if err != nil {
		return persistence.Loaded{}, &openError{s.config.DBFilename, err}
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err == nil {
		s.loading.total = st.Size()
	}
	s.loading.file = path
	got, err := persistence.Load(&yieldingReader{f, s}, s.store, s.loadOptions(replace))
	switch {
	case s.loading.ended != nil:
		return got, s.loading.ended
	case err != nil:
		return got, &loadError{path, err}
	}
	s.seeTokenLimit(got.TokenLimit)
	s.logger.Info(fmt.Sprintf("Done loading RDB, keys loaded: %d, keys expired: %d.", got.Keys, got.Expired))
	s.loadedKeys, s.expiredKeys = got.Keys, got.Expired
	s.found = got.History
	return got, nil
}

// mostLoadWarnings limits the lines in the log about one snapshot.
const mostLoadWarnings = 100

// loadOptions returns the options for reading a snapshot.
func (s *Storage) loadOptions(replace bool) persistence.LoadOptions {
	warned := 0
	warn := func(text string) {
		if warned++; warned <= mostLoadWarnings {
			s.logger.Warn(text, "file", s.loading.file)
		}
	}
	o := persistence.LoadOptions{NoChecksum: !s.config.RDBChecksum || s.trusting, Replace: replace, EachKey: s.delayLoad, Warn: warn,
		Functions: func(code [][]byte) error {
			if err := s.program.LoadLibraries(code, replace); err != nil {
				return &libraryError{err}
			}
			return nil
		}}
	if !replace {
		o.Overdue = func(db int, key, field []byte) {
			s.overdue.add(db, key, field, s.config.Replication.KeptBacklogBytes())
		}
	}
	return o
}

// loadTook returns the duration of the load, in the form in which Redis logs it.
func (s *Storage) loadTook() string {
	return fmt.Sprintf("%.3f seconds", float64(s.opts.Clock.NowUS()-s.loading.startedUS)/1e6)
}

// libraryError says that a library of a snapshot could not be loaded. No key of the snapshot was loaded then.
type libraryError struct{ err error }

func (e *libraryError) Error() string { return "Failed loading library, " + e.err.Error() }
func (e *libraryError) Unwrap() error { return e.err }

// openError names a snapshot that could not be opened.
type openError struct {
	name string
	err  error
}

func (e *openError) Error() string {
	return "Fatal error: can't open the RDB file " + e.name + " for reading: " + reasonOf(e.err)
}
func (e *openError) Unwrap() error { return e.err }

// loadError names a file that could not be loaded.
type loadError struct {
	path string
	err  error
}

func (e *loadError) Error() string {
	return "Fatal error loading the DB: " + e.path + ": " + e.err.Error()
}
func (e *loadError) Unwrap() error { return e.err }

// yieldingReader is a file that gives others the lock before each read.
type yieldingReader struct {
	io.Reader
	storage *Storage
}

// Read implements io.Reader.
func (r *yieldingReader) Read(b []byte) (int, error) {
	if err := r.storage.rest(); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(b[:min(len(b), loadSliceBytes)])
	r.storage.loading.done += int64(n)
	return n, err
}

// Size returns the length of the file; 0 if it is not known.
func (r *yieldingReader) Size() int64 { return r.storage.loading.total }

// loadSliceBytes is the number of bytes between two rests of a load: about a millisecond's work.
const loadSliceBytes = 64 << 10

// giveWay gives others the lock for a time, or for a moment. The error says that the server is about to end.
func (ls *loads) giveWay(d time.Duration) error {
	l := ls.loading
	if l.alone {
		time.Sleep(d)
		return nil
	}
	l.ended = ls.host.Rest(d)
	return l.ended
}

// rest gives others the lock, and reports a long load. The error says that the server is about to end.
func (s *Storage) rest() error {
	l := s.loading
	now := s.opts.Clock.NowUS()
	if l.done >= l.quiet || now-l.startedUS >= reportLoadUS {
		if err := s.giveWay(0); err != nil {
			return err
		}
	}
	if l.reportedUS == 0 {
		l.reportedUS = l.startedUS
	}
	if now-l.reportedUS < reportLoadUS {
		return nil
	}
	l.reportedUS = now
	keys, into := 0, s.store
	if l.aside != nil {
		into = l.aside
	}
	for db := range into.Len() {
		keys += into.DB(db).Len()
	}
	s.reportLoad(keys, l.done*1_000_000/max(1, now-l.startedUS))
	return nil
}

// reportLoad reports the progress of a long load to Options.Progress, or, if that is nil, to the log.
func (s *Storage) reportLoad(keys int, bytesPerSecond int64) {
	l := s.loading
	if w := s.opts.Progress; w != nil {
		_, _ = fmt.Fprintf(w, "loading %s: %d keys, %d of %d bytes, %d %%, %d bytes/s\n", // an error here does not fail the load
			l.file, keys, l.done, l.total, l.percent(), bytesPerSecond)
		return
	}
	s.logger.Info("Loading", "file", l.file, "keys", keys, "bytes", l.done, "percent", l.percent(), "bytes/s", bytesPerSecond)
}

// percent returns the loaded part of the file.
func (l *loading) percent() int64 {
	if l.total == 0 {
		return 100
	}
	return l.done * 100 / l.total
}

// loadLog reads the append-only log and opens it. If the log does not exist yet, it begins with the snapshot,
// if there is one: Redis would begin with no data.
func (s *Storage) loadLog() error {
	dir, err := s.openLogDir()
	if err != nil {
		return err
	}
	l, options := s.newLog()
	log, err := s.continueLog(dir, options)
	if err != nil {
		_ = dir.Close()
		return err
	}
	s.attach(l, log)
	return nil
}

func (s *Storage) continueLog(dir *aof.Dir, options aof.Options) (*aof.Log, error) {
	// plant:load-time
	s.store.SetFrozenTime(true)
	defer s.store.SetFrozenTime(false)
	l := s.loading
	l.file = s.logDir()
	got, err := dir.Load(replay{s, s.program.NewReplayer()}, s.replayOptions())
	if err != nil {
		return nil, logError(err)
	}
	if got.Upgraded {
		s.logger.Info(fmt.Sprintf("Successfully migrated an old-style AOF file (%s) into the AOF directory (%s).",
			s.config.AppendFilename, s.config.AppendDirname))
	}
	if cut := got.Cut; cut != nil {
		name := filepath.Base(cut.File)
		s.logger.Warn(fmt.Sprintf("!!! Warning: short read while loading the AOF file %s!!!", name), "cause", cut.Reason)
		s.logger.Warn(fmt.Sprintf("!!! Truncating the AOF %s at offset %d !!!", name, cut.Offset), "bytes", cut.Bytes)
		s.logger.Warn(fmt.Sprintf("AOF %s loaded anyway because aof-load-truncated is enabled", name))
	}
	if got.Exists {
		s.logger.Info("DB loaded from append only file: "+s.loadTook(), "dir", s.logDir(), "files", got.Files, "bytes", got.Bytes,
			"commands", got.Commands)
	} else {
		s.store.SetFrozenTime(false)
		if err := s.loadSnapshot(); err != nil {
			return nil, err
		}
	}
	return dir.Continue(options, s.baseNow)
}

// replayOptions returns the options for reading a log.
func (s *Storage) replayOptions() aof.LoadOptions {
	began := s.opts.Clock.NowUS()
	loaded := func(e aof.Entry) {
		kind := "incr"
		if e.Type == 'b' {
			kind = "base"
		}
		now := s.opts.Clock.NowUS()
		s.logger.Info(fmt.Sprintf("DB loaded from %s file %s: %.3f seconds", kind, e.Name, float64(now-began)/1e6))
		began = now
	}
	return aof.LoadOptions{CutTorn: s.config.AOFLoadTruncated, FileLoaded: loaded, Progress: func(p aof.Progress) error {
		s.loading.done, s.loading.total = p.Bytes, p.TotalBytes
		return s.rest()
	}, Annotation: func(text []byte) {
		s.seeTokenLimit(aof.TokenLimit(text))
		if at, ok := aof.History(text); ok {
			s.found = persistence.History(at)
		}
	}}
}

// baseNow writes all data as the base of a new log.
func (s *Storage) baseNow(w io.Writer) error {
	snap := s.store.Cut()
	defer snap.Release()
	o := s.saveOptions()
	o.Base = true
	_, err := persistence.Save(w, snap, o)
	return err
}

// replay receives the content of a log: it implements aof.Input.
type replay struct {
	storage  *Storage
	replayer Replayer
}

var _ aof.Input = replay{}

// Begin implements aof.Input.
func (r replay) Begin(file string) error {
	r.storage.loading.file = file
	r.replayer.Begin()
	return nil
}

// Snapshot implements aof.Input.
func (r replay) Snapshot(from io.Reader) (bytes int64, err error) {
	s := r.storage
	got, err := persistence.Load(from, s.store, s.loadOptions(false))
	s.seeTokenLimit(got.TokenLimit)
	s.loadedKeys, s.expiredKeys = got.Keys, got.Expired
	s.found = got.History
	return got.Bytes, err
}

// Command implements aof.Input.
func (r replay) Command(argv [][]byte) error {
	if err := r.replayer.Command(argv); err != nil {
		return err
	}
	r.storage.found = persistence.History{} // the position is unknown until an annotation states it
	return r.storage.delayLoad()
}
