package server

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"lockserver/persistence"
	"lockserver/store"
)

// backgroundSave is one save that runs beside everything else. It can be called off: a save that began
// earlier must not replace the file of one that ended sooner.
type backgroundSave struct {
	off     atomic.Bool
	written chan struct{} // closed when the file has been replaced, or will not be any more
}

// errCalledOff ends a background save that something newer has made pointless.
var errCalledOff = errors.New("the save was called off")

// run writes the snapshot; it returns errCalledOff, and leaves the old file, if it was called off in time.
func (bg *backgroundSave) run(path string, snap *store.Snapshot, o persistence.SaveOptions) (bytes int64, err error) {
	o.Breathe = breathe
	err = bg.work(func() error {
		return persistence.ReplaceFile(path, func(w io.Writer) (err error) {
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
	go func() { // on a thread of its own, that gives way to the others; what needs the executor is done on another
		defer close(done)
		becomeBackground()
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

// hurry makes everyone who is at work stop soon: sessions with commands left, and a background save.
func (ex *executor) hurry() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.ending = true
	if ex.snapshots.running {
		ex.snapshots.background.off.Store(true)
	}
	if ex.rewrites.running {
		ex.rewrites.background.off.Store(true)
	}
}

// awaitNoSave calls a running background save off and waits until it cannot replace the
// file any more; under the executor.
func (ex *executor) awaitNoSave() {
	if ex.snapshots.running {
		ex.snapshots.background.off.Store(true)
		<-ex.snapshots.background.written
	}
}

// removeStaleFiles removes what a process that was killed in the middle of a save has left behind; at start.
func (ex *executor) removeStaleFiles() {
	for _, name := range []string{ex.config.DBFilename, tokenFile} {
		if name == "" {
			continue
		}
		stale, err := filepath.Glob(filepath.Join(escapeGlob(ex.config.Dir), "temp-*-"+escapeGlob(name)))
		if err != nil {
			ex.log.Warn("could not look for files left behind", "cause", err)
		}
		for _, path := range stale {
			ex.removeStale(path, name)
		}
	}
}

// removeStale removes one file if its name is one that persistence.ReplaceFile gives,
// with a number in the middle.
func (ex *executor) removeStale(path, name string) {
	number := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "temp-"), "-"+name)
	_, err := strconv.ParseUint(number, 10, 64)
	st, statErr := os.Lstat(path)
	if err != nil || statErr != nil || !st.Mode().IsRegular() {
		return
	}
	if err := os.Remove(path); err != nil {
		ex.log.Warn("could not remove a file that an interrupted save left behind", "file", path, "cause", err)
		return
	}
	ex.log.Info("removed a file that an interrupted save left behind", "file", path)
}

// escapeGlob makes every character of a path stand for itself in filepath.Glob.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // no escapes there; a wrong match fails on the number
	}
	return strings.NewReplacer("*", "\\*", "?", "\\?", "[", "\\[", "\\", "\\\\").Replace(path)
}
