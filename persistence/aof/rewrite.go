package aof

import (
	"errors"
	"io"
)

// errTooSlow ends a rewrite if the disk writes the log more slowly than the log grows.
var errTooSlow = errors.New("aof: the disk is too slow for the rewrite")

// Rewrite replaces the log by a new base and the units appended after its beginning. Run does the whole
// rewrite; Write and Commit are its two halves.
type Rewrite struct {
	l *Log
	// begun is closed by the writer when the new incremental file is in use, or will never be used.
	begun chan struct{}
	asRDB bool
	// listed says that the log is in effect, and the manifest lists the new incremental file as soon as it is
	// used. Otherwise the file means nothing without the new base, and both are listed together.
	listed bool
	incr   Entry // set before begun is closed; its Name is empty if there is no file
	err    error // why the rewrite cannot succeed; under Log.mu
	over   bool  // Commit or Abort has been called; under Log.mu
}

// BeginRewrite cuts the log: units appended before go to the current file, later units go to a new file. It
// is called in the moment of the store's cut, and does not wait for the disk. asRDB says whether the base
// will be a snapshot, or commands (aof-use-rdb-preamble no). Errors are ErrRewriting and ErrClosed. The
// caller must then call Run or Abort.
func (l *Log) BeginRewrite(asRDB bool) (*Rewrite, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, ErrClosed
	case l.rewrite != nil:
		return nil, ErrRewriting
	}
	rw := &Rewrite{l: l, begun: make(chan struct{}), asRDB: asRDB, listed: l.active}
	// plant:rewrite-begins
	l.keep = true
	// plant:rewrite-database
	l.enc.db, l.marked = -1, false
	l.rewrite, l.order, l.orderAt, l.turning = rw, rw, len(l.buf), true
	l.setDue()
	l.rouse()
	return rw, nil
}

// breakOff records why the rewrite cannot succeed; under Log.mu.
func (rw *Rewrite) breakOff(err error) {
	if rw.err == nil {
		rw.err = err
	}
}

// change makes the writer continue in the new file, and reports whether it can write at all. If only the new
// file cannot be created, the old file stays in use: then the rewrite has failed, but the log has not.
func (l *Log) change(rw *Rewrite) bool {
	if rw.listed {
		// A file must be whole before another file is listed; otherwise a crash could leave a hole in the
		// middle.
		// plant:rewrite-sync
		if l.file == nil || !l.syncFile() {
			return false
		}
		l.report()
	}
	d := l.dir
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.incrEntry()
	f, err := d.create(e)
	if err == nil && rw.listed {
		m := d.manifest
		m.Incrs = append(m.Incrs[:len(m.Incrs):len(m.Incrs)], e)
		var seen bool
		if seen, err = d.publish(m); err != nil {
			_ = f.Close()
			if !seen {
				_ = d.place.FS.Remove(d.path(e.Name))
			}
		}
	}
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		rw.breakOff(err)
		if !rw.listed {
			l.drop()
		}
		return rw.listed
	}
	rw.incr = e
	l.closeFile()
	l.syncing.Lock()
	l.file = f
	l.syncing.Unlock()
	return true
}

// Run writes the base, which the function base makes from the data at the cut, and puts it into effect. After
// an error the log continues as before: with the old base and all units appended since, or, if it had failed
// before, in the failed state. After some errors it is unknown which base a crash would leave; both are then
// on disk, and give the same data.
func (rw *Rewrite) Run(base func(io.Writer) error) error {
	if err := rw.Write(base); err != nil {
		rw.Abort()
		return err
	}
	return rw.Commit()
}

// Write writes the base to a temporary file and syncs it.
func (rw *Rewrite) Write(base func(io.Writer) error) error {
	return rw.l.dir.writeBase(base)
}

// Commit puts the result of Write into effect: the new base and the files since the cut are the log, and
// earlier files are deleted. After an error the rewrite has been aborted.
func (rw *Rewrite) Commit() error {
	<-rw.begun
	err := rw.failure()
	if err == nil {
		err = rw.publish()
	}
	if err == nil {
		err = rw.activate()
	}
	if err != nil {
		rw.Abort()
		return err
	}
	rw.l.report()
	d := rw.l.dir
	d.mu.Lock()
	err = d.dropHistory()
	d.mu.Unlock()
	if err != nil {
		rw.l.o.Warn(err)
	}
	rw.end()
	return nil
}

// failure returns the reason why the rewrite cannot succeed, or nil.
func (rw *Rewrite) failure() error {
	rw.l.mu.Lock()
	defer rw.l.mu.Unlock()
	if rw.over {
		return errors.New("aof: the rewrite is over")
	}
	return rw.err
}

// publish gives the base its name and adds it to the manifest.
func (rw *Rewrite) publish() error {
	d := rw.l.dir
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.baseEntry(rw.asRDB)
	base := d.path(e.Name)
	if err := d.place.FS.Rename(d.temporaryBase(), base); err != nil {
		return err
	}
	// Sync the name first: two renames may become durable in any order.
	// plant:base-name
	err := d.place.FS.SyncDir(d.dir())
	seen := false
	if err == nil {
		seen, err = d.publish(rw.replaced(d.manifest, e))
	}
	if err != nil && !seen {
		_ = d.place.FS.Remove(base)
	}
	return err
}

// replaced returns the manifest with the new base. The earlier files become history.
func (rw *Rewrite) replaced(m Manifest, base Entry) Manifest {
	next := Manifest{Base: &base, History: m.History[:len(m.History):len(m.History)]}
	retire := func(e Entry) {
		e.Type = typeHistory
		next.History = append(next.History, e)
	}
	if m.Base != nil {
		retire(*m.Base)
	}
	for _, e := range m.Incrs {
		if e.Seq < rw.incr.Seq {
			retire(e)
		} else {
			next.Incrs = append(next.Incrs, e)
		}
	}
	if !rw.listed {
		next.Incrs = []Entry{rw.incr}
	}
	return next
}

// activate puts the log into effect, if it was not, and updates the figures.
func (rw *Rewrite) activate() error {
	l := rw.l
	l.dir.mu.Lock()
	sum, err := l.dir.bytes()
	l.dir.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if rw.err != nil {
		return rw.err // the files on disk are right, but memory is ahead of them
	}
	if err == nil {
		l.sizes.start, l.sizes.current = sum, sum
	}
	l.active, l.err = true, nil
	// The base contains the units that were dropped when the log failed. A reply that is sent before the next
	// write depends on them, and calls Write.
	l.written.Store(max(l.written.Load(), l.wrote))
	l.setDue()
	return nil
}

// Abort ends a rewrite without a commit.
func (rw *Rewrite) Abort() {
	<-rw.begun
	l := rw.l
	l.mu.Lock()
	over := rw.over
	rw.over = true
	l.mu.Unlock()
	if over {
		return
	}
	d := l.dir
	d.mu.Lock()
	if err := d.place.FS.Remove(d.temporaryBase()); err != nil && !isMissing(err) {
		l.o.Warn(err)
	}
	listed := false
	for _, e := range d.manifest.Incrs {
		listed = listed || e.Name == rw.incr.Name
	}
	d.mu.Unlock()
	l.mu.Lock()
	if !rw.listed { // the log is as far behind memory as before
		l.drop()
		l.giveUp = true
		if rw.incr.Name != "" && !listed {
			l.orphan = d.path(rw.incr.Name)
		}
	}
	l.mu.Unlock()
	rw.end()
	l.rouse()
}

// end allows the next rewrite.
func (rw *Rewrite) end() {
	l := rw.l
	l.mu.Lock()
	defer l.mu.Unlock()
	rw.over = true
	l.rewrite = nil
	l.move()
}
