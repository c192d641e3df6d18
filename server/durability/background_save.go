package durability

import (
	"errors"
	"io"
	"sync/atomic"

	"lockserver/internal/background"
	"lockserver/persistence"
	"lockserver/store"
)

// backgroundSave is a save in the background. It can be called off: a save that began earlier must not
// replace the file of a save that ended sooner.
type backgroundSave struct {
	off     atomic.Bool
	written chan struct{} // closed when the file was replaced, or will never be
	keys    int           // number of keys to write
	saved   atomic.Int64  // about the number of written keys
	prompt  bool          // a caller waits for the save: it only makes short pauses for other work
}

// newBackgroundSave returns a save of a cut.
func newBackgroundSave(snap *store.Snapshot) *backgroundSave {
	bg := &backgroundSave{written: make(chan struct{})}
	for db := range snap.DBs() {
		keys, _ := snap.Len(db)
		bg.keys += keys
	}
	return bg
}

// breathe yields the processor after a number of keys.
func (bg *backgroundSave) breathe(keys int) {
	bg.saved.Store(int64(keys))
	if bg.prompt {
		background.BreatheShortly()
	} else {
		background.Breathe()
	}
}

// errCalledOff ends a background save that a newer save has replaced.
var errCalledOff = errors.New("the save was called off")

// run writes the snapshot. If the save was called off in time, it returns errCalledOff and leaves the old
// file.
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

// work runs a function that writes a file. Its error becomes errCalledOff if the save was called off.
func (bg *backgroundSave) work(write func() error) (err error) {
	defer close(bg.written)
	done := make(chan struct{})
	go func() { // on a thread with low priority; work that needs the lock runs on another thread
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

// calledOff is a writer that fails when its save has been called off.
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
