package aof

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"lockserver/persistence/disk"
)

// Dir is the directory of a log, locked.
type Dir struct {
	place Place
	lock  io.Closer

	mu sync.Mutex
	// manifest is what stands on disk, or, after a failed sync of the directory, what a reader sees there.
	manifest Manifest
	read     bool // manifest has been read
}

// OpenDir makes the directory if need be and locks it. The error is disk.ErrLocked if another server has it.
func OpenDir(p Place) (*Dir, error) {
	d := &Dir{place: p}
	_, err := p.FS.MakeDir(d.dir())
	if err != nil {
		return nil, err
	}
	// Or a crash may take the directory, with all that was synced in it; also if another
	// process has made it, just before.
	// plant:new-directory
	if err := p.FS.SyncDir(p.Dir); err != nil {
		return nil, err
	}
	if d.lock, err = p.FS.Lock(d.path(p.Filename + ".lock")); err != nil {
		return nil, err
	}
	return d, nil
}

// Close lets go of the lock. A log that Continue or Replace gave does so itself.
func (d *Dir) Close() error { return d.lock.Close() }

// dir is the directory's path.
func (d *Dir) dir() string { return filepath.Join(d.place.Dir, d.place.Sub) }

// path is that of a file in the directory.
func (d *Dir) path(name string) string { return filepath.Join(d.dir(), name) }

func (d *Dir) manifestName() string { return d.place.Filename + ".manifest" }

// temporary is the name of a file that is not finished.
func (d *Dir) temporary(name string) string { return "temp-" + name }

// temporaryBase is the path of a base that is being written.
func (d *Dir) temporaryBase() string { return d.path(d.temporary(d.place.Filename + ".base")) }

// baseEntry is the next base file.
func (d *Dir) baseEntry(asRDB bool) Entry {
	form := "aof"
	if asRDB {
		form = "rdb"
	}
	seq := d.manifest.nextBase()
	return Entry{fmt.Sprintf("%s.%d.base.%s", d.place.Filename, seq, form), seq, typeBase}
}

// incrEntry is the next incremental file.
func (d *Dir) incrEntry() Entry {
	seq := d.manifest.nextIncr()
	return Entry{fmt.Sprintf("%s.%d.incr.aof", d.place.Filename, seq), seq, typeIncr}
}

// readManifest brings manifest up to what is on disk; no manifest is an empty one. Load,
// Continue and Replace begin so.
func (d *Dir) readManifest() error {
	if d.read {
		return nil
	}
	m, err := readManifest(d.place.FS, d.path(d.manifestName()))
	if err != nil && !isMissing(err) {
		return err
	}
	d.manifest, d.read = m, true
	return nil
}

// publish replaces the manifest. seen reports whether a reader sees the new one. It is true together with an
// error if only the last sync failed; a crash may then bring back the old one.
func (d *Dir) publish(m Manifest) (seen bool, err error) {
	files, name := d.place.FS, d.manifestName()
	tmp := d.path(d.temporary(name))
	if err := writeSynced(files, tmp, func(w disk.File) error {
		_, err := w.Write(m.AppendText(nil))
		return err
	}); err != nil {
		return false, err
	}
	if err := files.Rename(tmp, d.path(name)); err != nil {
		return false, err
	}
	d.manifest = m
	// plant:manifest-name
	return true, files.SyncDir(d.dir())
}

// writeSynced writes a file and syncs it; what is there after an error is removed.
func writeSynced(files disk.FS, path string, write func(disk.File) error) error {
	f, err := files.Create(path)
	if err != nil {
		return err
	}
	err = write(f)
	// plant:write-sync
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = files.Remove(path)
	}
	return err
}

// dropHistory deletes the files that the manifest lists as replaced and forgets them; the manifest is
// published after that, or they would stay when a crash comes in between.
func (d *Dir) dropHistory() error {
	if len(d.manifest.History) == 0 {
		return nil
	}
	for _, e := range d.manifest.History {
		if err := d.place.FS.Remove(d.path(e.Name)); err != nil && !isMissing(err) {
			return err
		}
	}
	m := d.manifest
	m.History = nil
	_, err := d.publish(m)
	return err
}

// removeTemporary removes what a crash has left unfinished.
func (d *Dir) removeTemporary() error {
	names, err := d.place.FS.List(d.dir())
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, d.temporary(d.place.Filename+".")) {
			if err := d.place.FS.Remove(d.path(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// upgrade moves a log of a single file, as older Redis have it (appendfilename in the server's directory),
// into the directory, where it becomes the base. As Redis does it, the manifest comes first and the rename
// second; a crash between them is what the last condition of mustUpgrade sees.
func (d *Dir) upgrade() (done bool, err error) {
	files, old := d.place.FS, filepath.Join(d.place.Dir, d.place.Filename)
	if _, err := files.Size(old); err != nil {
		if isMissing(err) {
			return false, nil
		}
		return false, err
	}
	must, err := d.mustUpgrade()
	if !must || err != nil {
		return false, err
	}
	if d.manifest.isEmpty() {
		m := Manifest{Base: &Entry{d.place.Filename, 1, typeBase}}
		if _, err := d.publish(m); err != nil {
			return false, err
		}
	}
	if err := files.Rename(old, d.path(d.place.Filename)); err != nil {
		return false, err
	}
	if err := files.SyncDir(d.dir()); err != nil {
		return false, err
	}
	return true, files.SyncDir(d.place.Dir)
}

// mustUpgrade says whether the single file is the log: there is no manifest, or it lists nothing but that
// file, which has not been moved yet.
func (d *Dir) mustUpgrade() (bool, error) {
	m := d.manifest
	if m.isEmpty() {
		return true, nil
	}
	if m.Base == nil || len(m.Incrs) > 0 || m.Base.Name != d.place.Filename {
		return false, nil
	}
	_, err := d.place.FS.Size(d.path(d.place.Filename))
	if isMissing(err) {
		return true, nil
	}
	return false, err
}
