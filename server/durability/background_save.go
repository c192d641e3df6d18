package durability

import (
	"errors"
	"io"
	"sync/atomic"

	"lockserver/internal/background"
	"lockserver/persistence"
	"lockserver/store"
)

// backgroundSave is one save that runs beside everything else. It can be called off: a save that began
// earlier must not replace the file of one that ended sooner.
type backgroundSave struct {
	off     atomic.Bool
	written chan struct{} // closed when the file has been replaced, or will not be any more
	keys    int           // how many there are to be written
	saved   atomic.Int64  // about how many have been
	prompt  bool          // a caller waits for it: it pauses for other work only for moments
}

// newBackgroundSave is one of a cut.
func newBackgroundSave(snap *store.Snapshot) *backgroundSave {
	bg := &backgroundSave{written: make(chan struct{})}
	for db := range snap.DBs() {
		keys, _ := snap.Len(db)
		bg.keys += keys
	}
	return bg
}

// breathe gives way, when so many keys have been written.
func (bg *backgroundSave) breathe(keys int) {
	bg.saved.Store(int64(keys))
	if bg.prompt {
		background.BreatheShortly()
	} else {
		background.Breathe()
	}
}

// errCalledOff ends a background save that something newer has made pointless.
var errCalledOff = errors.New("the save was called off")

// run writes the snapshot; it returns errCalledOff, and leaves the old file, if it was called off in time.
func (bg *backgroundSave) run(path string, snap *store.Snapshot, o persistence.SaveOptions) (bytes int64, err error) {
	o.Breathe = bg.breathe
	err = bg.work(func() error {
		return persistence.ReplaceFile(path, persistence.SnapshotMode, func(w io.Writer) (err error) {
			bytes, err = persistence.Save(calledOff{bg, w}, snap, o)
			return err
		})
	})
	return bytes, err
}

// work does what writes a file; its error becomes errCalledOff if that is why.
func (bg *backgroundSave) work(write func() error) (err error) {
	defer close(bg.written)
	done := make(chan struct{})
	go func() { // on a thread of its own, that gives way to the others; what needs the lock is done on another
		defer close(done)
		if bg.prompt {
			background.EnterPromptly()
		} else {
			background.Enter()
		}
		err = write()
	}()
	<-done
	if bg.off.Load() && err != nil {
		err = errCalledOff
	}
	return err
}

// calledOff fails as soon as its save has been called off.
type calledOff struct {
	bg *backgroundSave
	to io.Writer
}

func (c calledOff) Write(b []byte) (int, error) {
	if c.bg.off.Load() {
		return 0, errCalledOff
	}
	return c.to.Write(b)
}
