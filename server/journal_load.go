package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"lockserver/persistence"
	"lockserver/persistence/aof"
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
func (srv *Server) load() (err error) {
	ex := &srv.executor
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.begin()
	if err := srv.claimAtStart(); err != nil {
		return err
	}
	defer func() {
		if err != nil && srv.own != nil { // a server that does not start leaves nothing behind
			srv.own.undo(srv.files)
			srv.own = nil
		}
	}()
	srv.snapshots.lastSaveS = ex.store.NowMS() / 1000
	srv.snapshots.durationMS = -1
	srv.rewrites.durationMS = -1
	ex.store.Record(false)
	if srv.config.AppendOnly {
		err = srv.loadLog()
	} else {
		err = srv.loadSnapshot()
	}
	ex.store.Record(srv.journal != nil)
	if err != nil {
		return err
	}
	ex.begin()
	srv.seeTokens()
	if err := srv.startTokens(); err != nil {
		return err
	}
	if srv.own != nil {
		srv.removeStaleFiles()
	}
	srv.snapshots.dirtyAtSave = ex.store.Dirty()
	ex.store.ResetStats()
	srv.housekeeping.Of = srv
	ex.timers.set(&srv.housekeeping, ex.store.NowMS()+housekeepingMS)
	srv.loading = nil
	return nil
}

// loadSnapshot reads the snapshot, if there is one. What is overdue is left out.
func (srv *Server) loadSnapshot() error {
	if srv.config.DBFilename == "" {
		return nil
	}
	path := srv.snapshotPath()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err == nil {
		srv.loading.total = st.Size()
	}
	srv.loading.file = path
	got, err := persistence.Load(&patient{f, srv}, srv.store, srv.config.RDBChecksum)
	if errors.Is(err, errClosed) {
		return err
	}
	srv.seeTokenLimit(got.TokenLimit)
	if err == nil {
		err = srv.loadFunctions(got.Functions)
	}
	if err != nil {
		return &loadError{path, err}
	}
	srv.log.Info("DB loaded from disk", "file", path, "keys", got.Keys, "expired", got.Expired,
		"bytes", got.Bytes, "rdb-version", got.Version, "ms", (srv.clock.NowUS()-srv.loading.startedUS)/1000)
	return nil
}

// loadError says which file could not be loaded.
type loadError struct {
	path string
	err  error
}

func (e *loadError) Error() string { return e.path + ": " + e.err.Error() }
func (e *loadError) Unwrap() error { return e.err }

// patient is a file that lets others have the executor before each read.
type patient struct {
	io.Reader
	server *Server
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	if err := p.server.restWhileLoading(); err != nil {
		return 0, err
	}
	n, err := p.Reader.Read(b[:min(len(b), loadSliceBytes)])
	p.server.loading.done += int64(n)
	return n, err
}

// Size is the length of the file, 0 if it is not known.
func (p *patient) Size() int64 { return p.server.loading.total }

// loadSliceBytes is how much is loaded at most between two rests: about a millisecond's work.
const loadSliceBytes = 64 << 10

// restWhileLoading lets others have the executor and reports a load that takes long. The error
// says that the server is to end.
func (srv *Server) restWhileLoading() error {
	ex := &srv.executor
	ex.mu.Unlock()
	runtime.Gosched()
	ex.mu.Lock()
	if srv.ending {
		return errClosed
	}
	l := srv.loading
	now := srv.clock.NowUS()
	if l.reportedUS == 0 {
		l.reportedUS = l.startedUS
	}
	if now-l.reportedUS < reportLoadUS {
		return nil
	}
	l.reportedUS = now
	keys := 0
	for db := range srv.store.Len() {
		keys += srv.store.DB(db).Len()
	}
	srv.reportLoad(keys, l.done*1_000_000/max(1, now-l.startedUS))
	return nil
}

// reportLoad says how far a long load is, where an operator looks for it:
// Options.Progress, and otherwise the log.
func (srv *Server) reportLoad(keys int, bytesPerSecond int64) {
	l := srv.loading
	if w := srv.opts.Progress; w != nil {
		_, _ = fmt.Fprintf(w, "loading %s: %d keys, %d of %d bytes, %d %%, %d bytes/s\n", // a load does not fail by it
			l.file, keys, l.done, l.total, l.percent(), bytesPerSecond)
		return
	}
	srv.log.Info("Loading", "file", l.file, "keys", keys, "bytes", l.done, "percent", l.percent(), "bytes/s", bytesPerSecond)
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
func (srv *Server) loadLog() error {
	dir, err := srv.openLogDir()
	if err != nil {
		return err
	}
	j, options := srv.newJournal()
	log, err := srv.continueLog(dir, options)
	if err != nil {
		_ = dir.Close()
		return err
	}
	srv.attach(j, log)
	return nil
}

func (srv *Server) continueLog(dir *aof.Dir, options aof.Options) (*aof.Log, error) {
	srv.store.SetFrozenTime(true)
	defer srv.store.SetFrozenTime(false)
	l := srv.loading
	l.file = srv.logDir()
	got, err := dir.Load(srv.newReplayer(), aof.LoadOptions{CutTorn: srv.config.AOFLoadTruncated, Progress: func(p aof.Progress) error {
		l.done, l.total, l.commands = p.Bytes, p.TotalBytes, p.Commands
		return srv.restWhileLoading()
	}, Annotation: func(text []byte) { srv.seeTokenLimit(aof.TokenLimit(text)) }})
	if err != nil {
		return nil, err
	}
	if got.Upgraded {
		srv.log.Info("the append-only file of an older Redis is now in " + srv.logDir())
	}
	if cut := got.Cut; cut != nil {
		srv.log.Warn("the end of the append-only file was torn and has been cut off", "file", cut.File, "offset", cut.Offset,
			"bytes", cut.Bytes, "cause", cut.Reason)
	}
	if got.Exists {
		srv.log.Info("DB loaded from append only file", "dir", srv.logDir(), "files", got.Files, "bytes", got.Bytes,
			"commands", got.Commands, "ms", (srv.clock.NowUS()-l.startedUS)/1000)
	} else {
		srv.store.SetFrozenTime(false)
		if err := srv.loadSnapshot(); err != nil {
			return nil, err
		}
	}
	return dir.Continue(options, srv.baseNow)
}

// baseNow writes all data as the base of a log that has none.
func (srv *Server) baseNow(w io.Writer) error {
	snap := srv.store.Cut()
	defer snap.Release()
	o := srv.saveOptions()
	o.Base = true
	_, err := persistence.Save(w, snap, o)
	return err
}
