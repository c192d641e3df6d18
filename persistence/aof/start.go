package aof

import (
	"bufio"
	"errors"
	"io"
	"time"

	"lockserver/internal/histogram"
	"lockserver/persistence/disk"
)

const (
	// baseBuffer is the number of bytes of a base that are collected for one write.
	baseBuffer = 256 << 10
	// baseSyncBytes is the number of bytes of a base between two syncs. So the last sync is short, and does
	// not delay the syncs of the log.
	baseSyncBytes = 4 << 20
)

// errNotRead says that the directory's log was not loaded before it is continued.
var errNotRead = errors.New("aof: Continue comes after Load")

// sizes holds the figures for Stats; under Log.mu.
type sizes struct {
	start   int64 // of all files when the log was opened or rewritten
	current int64 // of all files now
	syncing bool
	delayed int64
	syncs   histogram.Histogram
	slowest int64 // the longest sync since the last call of SlowestSync, in microseconds
}

// Stats returns the figures of the log.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	pending := max(0, l.end-l.wrote)
	return Stats{Bytes: l.sizes.current + pending, StartBytes: l.sizes.start, Pending: pending,
		Syncing: l.sizes.syncing, Delayed: l.sizes.delayed}
}

// SyncTimes returns the durations of the log's syncs.
func (l *Log) SyncTimes() histogram.Histogram {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sizes.syncs
}

// SlowestSync returns the longest sync since the last call.
func (l *Log) SlowestSync() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	us := l.sizes.slowest
	l.sizes.slowest = 0
	return time.Duration(us) * time.Microsecond
}

// Continue continues the log that Load has read. If there is none, it makes one with the base that base
// writes: a snapshot of the data at the start. From then on the Log owns the directory's lock.
func (d *Dir) Continue(o Options, base func(io.Writer) error) (*Log, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.read {
		return nil, errNotRead
	}
	if err := d.removeTemporary(); err != nil {
		return nil, err
	}
	l := newLog(d, o)
	if err := d.dropHistory(); err != nil {
		l.o.Warn(err) // the manifest still lists them: the next start tries again
	}
	var err error
	if n := len(d.manifest.Incrs); n > 0 {
		l.file, err = d.reopen(d.manifest.Incrs[n-1])
	} else {
		l.file, err = d.firstIncr(base)
	}
	if err != nil {
		return nil, err
	}
	if l.sizes.start, err = d.bytes(); err != nil {
		_ = l.file.Close()
		return nil, err
	}
	l.sizes.current = l.sizes.start
	l.active, l.keep = true, true
	l.run()
	return l, nil
}

// Replace returns a log that is in effect only after its first rewrite, which replaces any log in the
// directory. It turns the log on while the server runs.
func (d *Dir) Replace(o Options) (*Log, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.readManifest(); err != nil {
		return nil, err
	}
	if err := d.removeTemporary(); err != nil {
		return nil, err
	}
	l := newLog(d, o)
	l.run()
	return l, nil
}

func newLog(d *Dir, o Options) *Log {
	l := &Log{dir: d, o: o.withDefaults(), wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		ended: make(chan struct{}), stop: make(chan struct{}), enc: Encoder{db: -1}}
	l.policy.Store(int32(o.Policy))
	return l
}

// run starts the log's goroutines.
func (l *Log) run() {
	go l.write()
	l.syncer.Go(l.keepSyncing)
}

// reopen opens the last incremental file. If the previous process was killed, the loaded bytes may not be on
// disk yet: they are synced before any client sees their data.
func (d *Dir) reopen(e Entry) (disk.File, error) {
	f, err := d.place.FS.Append(d.path(e.Name))
	if err != nil {
		return nil, err
	}
	err = f.Sync()
	if err == nil {
		err = d.place.FS.SyncDir(d.dir())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// firstIncr makes the first incremental file, and a base if the log has no base.
func (d *Dir) firstIncr(base func(io.Writer) error) (disk.File, error) {
	m := d.manifest
	if m.Base == nil {
		e := d.baseEntry(true)
		if err := d.writeBase(base); err != nil {
			return nil, err
		}
		if err := d.place.FS.Rename(d.temporaryBase(), d.path(e.Name)); err != nil {
			return nil, err
		}
		m.Base = &e
	}
	e := d.incrEntry()
	f, err := d.create(e)
	if err != nil {
		return nil, err
	}
	m.Incrs = []Entry{e}
	if _, err := d.publish(m); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// create makes an empty file with a durable name; all other names in the directory become durable, too. A
// crash may have left an unlisted file with that name. It must be removed by name, because truncating it
// would be durable only after a sync.
func (d *Dir) create(e Entry) (disk.File, error) {
	// plant:left-file
	if err := d.place.FS.Remove(d.path(e.Name)); err != nil && !isMissing(err) {
		return nil, err
	}
	f, err := d.place.FS.Create(d.path(e.Name))
	if err != nil {
		return nil, err
	}
	// plant:new-file
	if err := d.place.FS.SyncDir(d.dir()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// writeBase writes a base under its temporary name and syncs it.
func (d *Dir) writeBase(base func(io.Writer) error) error {
	if base == nil {
		return errors.New("aof: no function that writes a base")
	}
	// plant:base-sync
	return writeSynced(d.place.FS, d.temporaryBase(), func(f disk.File) error {
		w := bufio.NewWriterSize(&periodicSync{f: f}, baseBuffer)
		if err := base(w); err != nil {
			return err
		}
		return w.Flush()
	})
}

// periodicSync is a file that is synced after every baseSyncBytes bytes.
type periodicSync struct {
	f        disk.File
	unsynced int
}

// Write implements io.Writer.
func (s *periodicSync) Write(b []byte) (int, error) {
	n, err := s.f.Write(b)
	if s.unsynced += n; err == nil && s.unsynced >= baseSyncBytes {
		s.unsynced = 0
		err = s.f.Sync()
	}
	return n, err
}

// bytes returns the total size of the log's files.
func (d *Dir) bytes() (int64, error) {
	sum := int64(0)
	for _, e := range d.manifest.files() {
		n, err := d.place.FS.Size(d.path(e.Name))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
