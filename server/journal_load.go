package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"

	"lockserver/commands"
	"lockserver/persistence"
	"lockserver/persistence/aof"
	"lockserver/server/transport"
)

// Loading. The addresses are bound first, and what is on disk is read in slices, between which clients are
// answered: most of them with -LOADING.

// loading is how far the start has come. It is only touched under the executor.
type loading struct {
	startedUS  int64
	file       string
	done       int64 // bytes
	total      int64
	commands   int64
	reportedUS int64 // when it was last told
}

// reportLoadUS is how often a long load is reported.
const reportLoadUS = 2_000_000

// load fills the empty databases with what is on disk: the append-only log if it is on, and otherwise, or if
// there is none yet, the snapshot. When it returns nil the server is ready.
func (ex *executor) load() (err error) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.begin()
	if err := ex.claimAtStart(); err != nil {
		return err
	}
	defer func() {
		if err != nil && ex.own != nil { // a server that does not start leaves nothing behind
			ex.own.undo(ex.files)
			ex.own = nil
		}
	}()
	ex.snapshots.lastSaveS = ex.store.NowMS() / 1000
	ex.snapshots.durationMS = -1
	ex.rewrites.durationMS = -1
	ex.store.Record(false)
	if ex.config.AppendOnly {
		err = ex.loadLog()
	} else {
		err = ex.loadSnapshot()
	}
	ex.store.Record(ex.journal != nil)
	if err != nil {
		return err
	}
	ex.begin()
	ex.seeTokens()
	if err := ex.startTokens(); err != nil {
		return err
	}
	if ex.own != nil {
		ex.removeStaleFiles()
	}
	ex.snapshots.dirtyAtSave = ex.store.Dirty()
	ex.store.ResetStats()
	ex.housekeeping.Of = housekeeper{}
	ex.timers.set(&ex.housekeeping, ex.store.NowMS()+housekeepingMS)
	ex.loading = nil
	return nil
}

// loadSnapshot reads the snapshot, if there is one. What is overdue is left out.
func (ex *executor) loadSnapshot() error {
	if ex.config.DBFilename == "" {
		return nil
	}
	path := ex.snapshotPath()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err == nil {
		ex.loading.total = st.Size()
	}
	ex.loading.file = path
	got, err := persistence.Load(&yieldingReader{f, ex}, ex.store, ex.config.RDBChecksum)
	if errors.Is(err, errClosed) {
		return err
	}
	ex.seeTokenLimit(got.TokenLimit)
	if err == nil {
		err = ex.scripts.LoadLibraries(got.Functions)
	}
	if err != nil {
		return &loadError{path, err}
	}
	ex.log.Info("DB loaded from disk", "file", path, "keys", got.Keys, "expired", got.Expired,
		"bytes", got.Bytes, "rdb-version", got.Version, "ms", (ex.clock.NowUS()-ex.loading.startedUS)/1000)
	return nil
}

// loadError says which file could not be loaded.
type loadError struct {
	path string
	err  error
}

func (e *loadError) Error() string { return e.path + ": " + e.err.Error() }
func (e *loadError) Unwrap() error { return e.err }

// yieldingReader is a file that lets others have the executor before each read.
type yieldingReader struct {
	io.Reader
	executor *executor
}

// Read implements io.Reader.
func (p *yieldingReader) Read(b []byte) (int, error) {
	if err := p.executor.restWhileLoading(); err != nil {
		return 0, err
	}
	n, err := p.Reader.Read(b[:min(len(b), loadSliceBytes)])
	p.executor.loading.done += int64(n)
	return n, err
}

// Size is the length of the file, 0 if it is not known.
func (p *yieldingReader) Size() int64 { return p.executor.loading.total }

// loadSliceBytes is how much is loaded at most between two rests: about a millisecond's work.
const loadSliceBytes = 64 << 10

// restWhileLoading lets others have the executor and reports a load that takes long. The error
// says that the server is to end.
func (ex *executor) restWhileLoading() error {
	ex.mu.Unlock()
	runtime.Gosched()
	ex.mu.Lock()
	if ex.ending {
		return errClosed
	}
	l := ex.loading
	now := ex.clock.NowUS()
	if l.reportedUS == 0 {
		l.reportedUS = l.startedUS
	}
	if now-l.reportedUS < reportLoadUS {
		return nil
	}
	l.reportedUS = now
	keys := 0
	for db := range ex.store.Len() {
		keys += ex.store.DB(db).Len()
	}
	ex.reportLoad(keys, l.done*1_000_000/max(1, now-l.startedUS))
	return nil
}

// reportLoad says how far a long load is, where an operator looks for it:
// Options.Progress, and otherwise the log.
func (ex *executor) reportLoad(keys int, bytesPerSecond int64) {
	l := ex.loading
	if w := ex.opts.Progress; w != nil {
		_, _ = fmt.Fprintf(w, "loading %s: %d keys, %d of %d bytes, %d %%, %d bytes/s\n", // a load does not fail by it
			l.file, keys, l.done, l.total, l.percent(), bytesPerSecond)
		return
	}
	ex.log.Info("Loading", "file", l.file, "keys", keys, "bytes", l.done, "percent", l.percent(), "bytes/s", bytesPerSecond)
}

// percent is how much has been loaded.
func (l *loading) percent() int64 {
	if l.total == 0 {
		return 100
	}
	return l.done * 100 / l.total
}

// loadLog reads the append-only log and opens it. If there is none yet it begins with the snapshot, if there
// is one: Redis would begin with nothing.
func (ex *executor) loadLog() error {
	dir, err := ex.openLogDir()
	if err != nil {
		return err
	}
	j, options := ex.newJournal()
	log, err := ex.continueLog(dir, options)
	if err != nil {
		_ = dir.Close()
		return err
	}
	ex.attach(j, log)
	return nil
}

func (ex *executor) continueLog(dir *aof.Dir, options aof.Options) (*aof.Log, error) {
	ex.store.SetFrozenTime(true)
	defer ex.store.SetFrozenTime(false)
	l := ex.loading
	l.file = ex.logDir()
	got, err := dir.Load(ex.newReplayer(), aof.LoadOptions{CutTorn: ex.config.AOFLoadTruncated, Progress: func(p aof.Progress) error {
		l.done, l.total, l.commands = p.Bytes, p.TotalBytes, p.Commands
		return ex.restWhileLoading()
	}, Annotation: func(text []byte) { ex.seeTokenLimit(aof.TokenLimit(text)) }})
	if err != nil {
		return nil, err
	}
	if got.Upgraded {
		ex.log.Info("the append-only file of an older Redis is now in " + ex.logDir())
	}
	if cut := got.Cut; cut != nil {
		ex.log.Warn("the end of the append-only file was torn and has been cut off", "file", cut.File, "offset", cut.Offset,
			"bytes", cut.Bytes, "cause", cut.Reason)
	}
	if got.Exists {
		ex.log.Info("DB loaded from append only file", "dir", ex.logDir(), "files", got.Files, "bytes", got.Bytes,
			"commands", got.Commands, "ms", (ex.clock.NowUS()-l.startedUS)/1000)
	} else {
		ex.store.SetFrozenTime(false)
		if err := ex.loadSnapshot(); err != nil {
			return nil, err
		}
	}
	return dir.Continue(options, ex.baseNow)
}

// baseNow writes all data as the base of a log that has none.
func (ex *executor) baseNow(w io.Writer) error {
	snap := ex.store.Cut()
	defer snap.Release()
	o := ex.saveOptions()
	o.Base = true
	_, err := persistence.Save(w, snap, o)
	return err
}

// replayer puts what a log holds into the server's data; it implements aof.Input. Commands run as
// their clients' would have, but that nobody waits, nobody is told, and time stands still: only
// the log's own DEL removes a key.
//
// It runs under the executor.
type replayer struct {
	executor *executor
	session  *session
	ctx      commands.Ctx
	// settings are those of the server, without the bounds that may be narrower
	// than when the log was written.
	settings commands.Settings
}

func (ex *executor) newReplayer() *replayer {
	s := &session{executor: ex, conn: nobody{}, db: ex.store.DB(0), authenticated: true}
	s.out.Proto = 2
	return &replayer{executor: ex, session: s,
		settings: commands.Settings{MaxStringBytes: math.MaxInt64, LockWatchdogMS: ex.settings.LockWatchdogMS}}
}

// Begin implements aof.Input.
func (r *replayer) Begin(file string) error {
	r.session.db = r.executor.store.DB(0)
	if r.executor.loading != nil {
		r.executor.loading.file = file
	}
	return nil
}

// Snapshot implements aof.Input.
func (r *replayer) Snapshot(from io.Reader) (bytes int64, err error) {
	got, err := persistence.Load(from, r.executor.store, r.executor.config.RDBChecksum)
	r.executor.seeTokenLimit(got.TokenLimit)
	if err == nil {
		err = r.executor.scripts.LoadLibraries(got.Functions)
	}
	return got.Bytes, err
}

// Command implements aof.Input.
func (r *replayer) Command(argv [][]byte) error {
	ex := r.executor
	row, err := ex.table.Resolve(argv)
	if err != nil {
		return fmt.Errorf("%.40q: %w", argv[0], err)
	}
	if row.Flags&(commands.Write|commands.MayReplicate|commands.InLog) == 0 {
		return fmt.Errorf("%s changes no data and has no place in a log", row.FullName())
	}
	c, s := &r.ctx, r.session
	ex.prepare(c, s, row, argv)
	c.Settings, c.MayBlock = &r.settings, false
	err = ex.contain(row, func() error { return row.Run(c) })
	s.out.Buf = s.out.Buf[:0]
	if cap(s.out.Buf) > batchOutput {
		s.out.Buf = nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", row.FullName(), err)
	}
	r.executor.seeTokenLimit(aof.TokenIn(argv))
	return nil
}

// nobody is the connection of a session without a client.
type nobody struct{}

func (nobody) Kick(*transport.Loop)            {}
func (nobody) Send([]byte, bool) (bool, error) { return false, nil }
func (nobody) Buffered() int                   { return 0 }
func (nobody) Unsent() int                     { return 0 }
func (nobody) Unacked() int                    { return 0 }
func (nobody) GuardPeer(int64)                 {}
func (nobody) Heard() transport.Silence        { return transport.Silence{} }
func (nobody) HangUp()                         {}
func (nobody) Attach(transport.Session)        {}
func (nobody) WhileBusy()                      {}
func (nobody) PeerGone() bool                  { return false }
func (nobody) AwaitDrain(int) bool             { return false }

var _ aof.Input = (*replayer)(nil)
