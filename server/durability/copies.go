package durability

import (
	"errors"
	"io"
	"io/fs"

	"lockserver/persistence"
	"lockserver/persistence/digest"
	"lockserver/store"
)

// Copies of the data that are sent to other servers, or come from another server.

// Copy is a cut of the data that is sent to others.
type Copy struct {
	snap    *store.Snapshot
	options persistence.SaveOptions
	empty   bool
}

// Copy takes a cut at a position of the history. Without keys it contains only the functions, without
// functions only the keys.
func (s *Storage) Copy(at persistence.History, keys, functions bool) *Copy {
	c := &Copy{snap: s.store.Cut(), options: s.saveOptions(), empty: !keys}
	c.options.History, c.options.Checksum = at, true
	if !functions {
		c.options.Functions = nil
	}
	return c
}

// Tell adds what a raft group has agreed on beside its data.
func (c *Copy) Tell(a persistence.Agreed) { c.options.Agreed = a }

// Write writes the cut once. It needs no lock, and yields to urgent work.
func (c *Copy) Write(w io.Writer) error {
	bg := newBackgroundSave(c.snap)
	bg.prompt = true
	c.options.Breathe = bg.breathe
	return bg.work(func() error {
		if c.empty {
			return persistence.SaveFunctions(w, c.options)
		}
		_, err := persistence.Save(w, c.snap, c.options)
		return err
	})
}

// Digest returns the exact digest of the cut, which can only be released afterwards. ok is false if off ended
// the work. It needs no lock, and yields to urgent work.
func (c *Copy) Digest(off func() bool) (d digest.Digest, ok bool) {
	bg := newBackgroundSave(c.snap)
	_ = bg.work(func() error {
		d, ok = digest.Exact(c.snap, digest.ExactOptions{Functions: c.options.Functions, Breathe: bg.breathe, Off: off})
		return nil
	})
	return d, ok
}

// Release releases the cut.
func (c *Copy) Release() { c.snap.Release() }

// Incoming is a snapshot that another server sends.
type Incoming struct {
	From io.Reader // is read without the lock
	Size int64     // size in bytes; 0: not known
	// Aside says that the new data is loaded beside the old data, and replaces it when it is complete. Serves
	// says that clients see the old data meanwhile.
	Aside, Serves bool
	// Gone is called when the old data is about to be removed. If it returns an error, the old data stays. It
	// may be nil.
	Gone func() error
	// Keep gives the file of the snapshot a name; it is nil without a file.
	Keep func(as string) error
}

// gone calls Gone.
func (in *Incoming) gone() error {
	if in.Gone == nil {
		return nil
	}
	return in.Gone()
}

// Receive replaces the data with data that another server sends. Unless in.Serves is set, clients get
// -LOADING meanwhile. The log is rewritten before it returns. After an error there is no data; if the new
// data was loaded aside, the old data is still there.
//
// Another load may go on: a link that has been ended may be in the middle of its snapshot. Two
// loads at a time would mix their data, so Receive waits for the end of the other one.
func (s *Storage) Receive(in Incoming) (got persistence.Loaded, err error) {
	if err := s.awaitLoad(); err != nil {
		return got, err
	}
	s.endBackgroundSave() // it would replace the new snapshot by older data
	unsaved := s.store.Dirty() - s.snapshots.dirtyAtSave
	defer func() {
		if err == nil && in.Keep == nil {
			unsaved++ // as in Redis: save points must see that the data is not on disk
		}
		s.snapshots.dirtyAtSave = s.store.Dirty() - unsaved
	}()
	s.begin(loading{startedUS: s.opts.Clock.NowUS(), file: "the master's data", total: in.Size, serves: in.Serves})
	defer s.end()
	if in.Aside {
		return s.receiveAside(&in)
	}
	if err := in.gone(); err != nil {
		return got, err
	}
	s.host.HandOn()
	s.store.Record(false)
	defer func() { s.store.Record(s.Records()) }()
	s.forgetAll()
	s.store.SetFrozenTime(true) // the sender may extend overdue deadlines in the commands that follow
	got, err = persistence.Load(&unlockedReader{in.From, s}, s.store, s.loadOptions(true))
	s.store.SetFrozenTime(false)
	if err != nil {
		s.forgetAll()
	} else {
		s.keep(&in)
	}
	s.received(got, err)
	return got, err
}

// KeepsReceived reports whether the file of a snapshot from another server becomes the server's own snapshot.
func (s *Storage) KeepsReceived() bool { return s.own != nil && s.config.DBFilename != "" }

// keep makes the file of the loaded snapshot the server's own snapshot, as Redis does. With
// rdb-del-sync-files a server without save points then has no snapshot, even if it has a log, as in Redis. If
// keep fails, the old snapshot stays, which is an earlier state, and an error is logged.
func (s *Storage) keep(in *Incoming) {
	if in.Keep == nil || !s.KeepsReceived() || s.loading.ended != nil {
		return
	}
	path := s.snapshotPath()
	do := func() error { return in.Keep(path) }
	if s.config.RDBDelSyncFiles && len(s.config.Save) == 0 {
		s.logger.Info("Removing the RDB file obtained from the master. This replica has persistence disabled")
		do = func() error { return s.files.Remove(path) }
	}
	var err error
	s.loading.ended = s.host.Wait(func() { err = do() })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.logger.Warn("the master's snapshot is loaded, but the file was not kept", "file", path, "cause", err)
	}
}

// receiveAside does the work of Receive for a snapshot that is loaded aside. Nothing changes until it is
// complete.
func (s *Storage) receiveAside(in *Incoming) (persistence.Loaded, error) {
	aside := s.store.Aside()
	aside.SetFrozenTime(true)
	s.loading.aside = aside
	if in.Serves { // as in Redis no overdue key expires during a load
		s.store.SetFrozenTime(true)
		defer s.store.SetFrozenTime(false)
	}
	var libraries [][]byte
	o := s.loadOptions(true)
	o.Functions = func(code [][]byte) error {
		libraries = append(libraries, code...)
		return nil
	}
	got, err := persistence.Load(&unlockedReader{in.From, s}, aside, o)
	if err != nil {
		return got, err
	}
	s.host.AwaitIdle() // a script may be using the data
	if err := in.gone(); err != nil {
		return got, err
	}
	if err := s.program.ReplaceLibraries(libraries); err != nil {
		return got, &libraryError{err}
	}
	s.host.HandOn()
	s.store.Record(false)
	defer func() { s.store.Record(s.Records()) }()
	s.store.CountFreed(s.store.Adopt(aside))
	s.loading.aside, s.loading.adopted = nil, true
	s.received(got, nil)
	return got, nil
}

// received ends a load, with its result.
func (s *Storage) received(got persistence.Loaded, err error) {
	if err == nil {
		s.seeTokenLimit(got.TokenLimit)
		s.loadedKeys, s.expiredKeys = got.Keys, got.Expired
	}
	s.KeepArrived()
	if s.loading.ended == nil { // the server is about to end: the files on disk are complete
		s.rebase(func(write func()) { s.loading.ended = s.host.Wait(write) })
	}
}

// Forget removes all data and does not touch the log: for a server without a log.
func (s *Storage) Forget() {
	s.host.HandOn()
	s.store.Record(false)
	defer func() { s.store.Record(s.Records()) }()
	s.forgetAll()
}

func (s *Storage) forgetAll() {
	s.store.FlushAll()
	s.program.DropLibraries()
}

// unlockedReader reads without the host's lock.
type unlockedReader struct {
	from    io.Reader
	storage *Storage
}

// Read implements io.Reader.
func (r *unlockedReader) Read(b []byte) (n int, err error) {
	s := r.storage
	if s.loading.ended = s.host.Wait(func() { n, err = r.from.Read(b[:min(len(b), loadSliceBytes)]) }); s.loading.ended != nil {
		return 0, s.loading.ended
	}
	s.loading.done += int64(n)
	if a := s.loading.aside; a != nil {
		a.SetNow(s.store.NowUS())
	}
	return n, err
}

// Size returns the size of the input; 0 if it is not known.
func (r *unlockedReader) Size() int64 { return r.storage.loading.total }
