package aof

import (
	"fmt"
	"io"
	"strings"

	"lockserver/persistence/disk"
)

const (
	// snapshotMagic is the beginning of a base that is a snapshot.
	snapshotMagic = "REDIS"
	// valkeyMagic is the beginning of a snapshot of Valkey 9 or later, of the same length. The reader of
	// snapshots refuses such a file.
	valkeyMagic = "VALKE"
	// progressBytes is the number of bytes between two calls of LoadOptions.Progress.
	progressBytes = 64 << 10
)

// isSnapshot reports whether a file with this beginning is a snapshot.
func isSnapshot(text string) bool {
	return strings.HasPrefix(text, snapshotMagic) || strings.HasPrefix(text, valkeyMagic)
}

// Load reads the log into an empty store: the base, and the incremental files in their order. It first moves
// a single-file log of an older Redis into the directory. A fault in a file gives an *Error with its path and
// the offset; only errors of in about a snapshot are returned unchanged. The store then holds a part and must
// be discarded.
//
// Load cuts a torn end of the last file off, if o allows it, so that the file ends with a whole unit. A crash
// in the middle of a write leaves such an end. Nothing else is ever cut: earlier damage is refused.
func (d *Dir) Load(in Input, o LoadOptions) (Loaded, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.readManifest(); err != nil {
		return Loaded{}, err
	}
	upgraded, err := d.upgrade()
	if err != nil {
		return Loaded{}, fmt.Errorf("moving the log of an older Redis: %w", err)
	}
	list := d.manifest.files()
	if len(list) == 0 {
		return Loaded{}, nil
	}
	l := loading{d: d, in: in, o: o}
	l.got = Loaded{Exists: true, Upgraded: upgraded, Files: len(list)}
	last, err := l.measure(list)
	if err != nil {
		return l.got, err
	}
	for i, e := range list {
		if err := l.file(e, l.sizes[i], i >= last); err != nil {
			return l.got, err
		}
	}
	return l.got, nil
}

// loading is the state of a Load.
type loading struct {
	d        *Dir
	in       Input
	o        LoadOptions
	got      Loaded
	sizes    []int64
	done     int64 // bytes of the files before the current file
	progress Progress
	reported int64
	unit     transaction
}

// measure reads the sizes of the files, and finds the last file that is not empty.
func (l *loading) measure(list []Entry) (last int, err error) {
	for i, e := range list {
		path := l.d.path(e.Name)
		size, err := l.d.place.FS.Size(path)
		if err != nil {
			if isMissing(err) {
				err = ErrMissing
			}
			return 0, &Error{path, 0, err}
		}
		l.sizes = append(l.sizes, size)
		l.progress.TotalBytes += size
		if size > 0 {
			last = i
		}
	}
	l.got.Bytes = l.progress.TotalBytes
	return last, nil
}

// file reads one file. last says that no data follows it, so its end may be torn.
func (l *loading) file(e Entry, size int64, last bool) error {
	path := l.d.path(e.Name)
	l.progress.File = path
	if err := l.in.Begin(path); err != nil {
		return &Error{path, 0, err}
	}
	if size == 0 {
		return nil
	}
	f, err := l.d.place.FS.Open(path)
	if err != nil {
		return err
	}
	offset, err := l.snapshot(f, path, size)
	var tear *fault
	if err == nil {
		tear, err = l.commands(f, path, offset, size)
	}
	_ = f.Close()
	if err != nil {
		return err
	}
	l.done += size
	if tear != nil {
		if err := l.cut(path, size, tear, last); err != nil {
			return err
		}
	}
	if l.o.FileLoaded != nil {
		l.o.FileLoaded(e)
	}
	return nil
}

// snapshot reads the snapshot at the beginning of a file, if there is one, and returns its end.
func (l *loading) snapshot(f disk.File, path string, size int64) (int64, error) {
	var magic [len(snapshotMagic)]byte
	n, err := f.ReadAt(magic[:], 0)
	if err != nil && (err != io.EOF || size >= int64(len(magic))) {
		return 0, &Error{path, int64(n), err}
	}
	if !isSnapshot(string(magic[:])) {
		return 0, nil
	}
	l.progress.InSnapshot = true
	took, err := l.in.Snapshot(&metered{SectionReader: io.NewSectionReader(f, 0, size), l: l})
	l.progress.InSnapshot = false
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return took, nil
}

// commands reads the commands from offset on. It returns a torn end as a fault, not as an error.
func (l *loading) commands(f disk.File, path string, offset, size int64) (*fault, error) {
	r := newReader(io.NewSectionReader(f, offset, size-offset), offset, size)
	r.annotation = l.o.Annotation
	for {
		args, bad := r.next()
		switch {
		case bad != nil && bad.err != nil:
			return nil, &Error{path, bad.offset, bad.err}
		case bad != nil && !bad.torn:
			return nil, &Error{path, bad.offset, corrupt("%s", bad.reason)}
		case bad != nil:
			return l.tear(r, bad), nil
		case args == nil && l.unit.open:
			return l.tear(r, &fault{reason: "the file ends in the middle of a transaction"}), nil
		case args == nil:
			return nil, nil
		}
		if err := l.command(args, r); err != nil {
			return nil, &Error{path, r.offset() - commandBytes(args), err}
		}
		if err := l.report(l.done + r.offset()); err != nil {
			return nil, err
		}
	}
}

// tear returns the torn end, which begins with the first incomplete unit.
func (l *loading) tear(r *reader, bad *fault) *fault {
	bad.offset = r.offset()
	if l.unit.open {
		bad.offset = l.unit.begin
		l.unit.open = false
	}
	return bad
}

// command executes a command, or keeps it until its transaction is complete.
func (l *loading) command(args [][]byte, r *reader) error {
	switch {
	case isMulti(args):
		if l.unit.open || len(args) != 1 {
			return corrupt("MULTI where it cannot stand")
		}
		l.unit.start(r.offset() - commandBytes(args))
		return nil
	case isExec(args):
		if !l.unit.open || len(args) != 1 {
			return corrupt("EXEC where it cannot stand")
		}
		l.got.Units++
		return l.unit.each(l.execute)
	case l.unit.open:
		// plant:load-unit
		l.unit.add(args)
		return nil
	}
	l.got.Units++
	return l.execute(args)
}

func (l *loading) execute(args [][]byte) error {
	l.got.Commands++
	return l.in.Command(args)
}

// report reports the progress of the load about every progressBytes.
func (l *loading) report(bytes int64) error {
	if l.o.Progress == nil || bytes-l.reported < progressBytes {
		return nil
	}
	l.reported = bytes
	l.progress.Bytes, l.progress.Commands = bytes, l.got.Commands
	return l.o.Progress(l.progress)
}

// cut removes a torn end from the file.
func (l *loading) cut(path string, size int64, tear *fault, last bool) error {
	switch {
	case !last:
		return &Error{path, tear.offset, corrupt("%s: the truncated file is not the last file", tear.reason)}
	case !l.o.CutTorn:
		return &Error{path, tear.offset, fmt.Errorf("%w: %s", ErrTorn, tear.reason)}
	}
	f, err := l.d.place.FS.Append(path)
	if err != nil {
		return err
	}
	// plant:torn-end
	err = f.Truncate(tear.offset)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("cutting the torn end off %s: %w", path, err)
	}
	l.got.Cut = &Cut{File: path, Offset: tear.offset, Bytes: size - tear.offset, Reason: tear.reason}
	return nil
}

// metered is a snapshot that reports the progress of reading.
type metered struct {
	*io.SectionReader
	at int64
	l  *loading
}

// Read implements io.Reader.
func (m *metered) Read(b []byte) (int, error) {
	n, err := m.SectionReader.Read(b)
	m.at += int64(n)
	if stop := m.l.report(m.l.done + m.at); stop != nil {
		return n, stop
	}
	return n, err
}

// commandBytes returns the length of a command in a file.
func commandBytes(args [][]byte) int64 {
	n := headerBytes(len(args))
	for _, a := range args {
		n += headerBytes(len(a)) + len(a) + 2
	}
	return int64(n)
}

// headerBytes returns the length of a line with a length.
func headerBytes(n int) int {
	digits := 1
	for ; n >= 10; n /= 10 {
		digits++
	}
	return 1 + digits + 2
}
