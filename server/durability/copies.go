package durability

import (
	"io"

	"lockserver/persistence"
	"lockserver/store"
)

// Copies of the data that leave for other servers, or come from one.

// Copy is a cut of the data that is sent to others.
type Copy struct {
	snap    *store.Snapshot
	options persistence.SaveOptions
	empty   bool
}

// Copy takes a cut at a place of the history. Without keys it has the functions alone, without functions the
// keys.
func (s *Storage) Copy(at persistence.History, keys, functions bool) *Copy {
	c := &Copy{snap: s.store.Cut(), options: s.saveOptions(), empty: !keys}
	c.options.History, c.options.Checksum = at, true
	if !functions {
		c.options.Functions = nil
	}
	return c
}

// Write writes it out, once. It needs no lock, and gives way to what cannot wait.
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

// Release lets go of the cut.
func (c *Copy) Release() { c.snap.Release() }

// Receive forgets all data and loads what another server sends, while clients are told -LOADING. read is
// called without the lock. Size is how much there is; 0: that is not known. The log is written anew before it
// returns. After an error there is no data.
func (s *Storage) Receive(from io.Reader, size int64) (persistence.History, error) {
	s.host.HandOn()
	s.store.Record(false)
	defer func() { s.store.Record(s.Records()) }()
	s.loading = &loading{startedUS: s.opts.Clock.NowUS(), file: "the master's data", total: size}
	defer func() { s.loading = nil }()
	s.forgetAll()
	s.store.SetFrozenTime(true) // who sends it may give what is overdue more time in what follows
	got, err := persistence.Load(&unlockedReader{from, s}, s.store, s.loadOptions(true))
	s.store.SetFrozenTime(false)
	if err != nil {
		s.forgetAll()
	} else {
		s.seeTokenLimit(got.TokenLimit)
		s.loadedKeys, s.expiredKeys = got.Keys, got.Expired
	}
	s.seeTokens()
	s.snapshots.dirtyAtSave = s.store.Dirty()
	if s.loading.ended == nil { // the server is to end: what is on disk is whole
		s.rebase(func(write func()) { s.loading.ended = s.host.Wait(write) })
	}
	return got.History, err
}

// Forget forgets all data. The log is as it was: for who has none.
func (s *Storage) Forget() {
	s.host.HandOn()
	s.store.Record(false)
	defer func() { s.store.Record(s.Records()) }()
	s.forgetAll()
}

func (s *Storage) forgetAll() {
	s.store.FlushAll()
	s.host.DropLibraries()
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
	return n, err
}

// Size is how much there is, 0 if that is not known.
func (r *unlockedReader) Size() int64 { return r.storage.loading.total }
