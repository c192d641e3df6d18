package aof

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"lockserver/persistence/disk"
)

// Dir is the locked directory of a log.
type Dir struct {
	place Location
	lock  io.Closer

	mu sync.Mutex
	// manifest is the manifest on disk. After a failed sync of the directory it is the manifest that a reader
	// sees.
	manifest Manifest
	read     bool // manifest has been read
}

// OpenDir makes the directory if necessary, and locks it. The error is disk.ErrLocked if another server uses
// it.
func OpenDir(p Location) (*Dir, error) {
	d := &Dir{place: p}
	_, err := p.FS.MakeDir(d.dir())
	if err != nil {
		return nil, err
	}
	// Without this sync a crash might remove the directory with all its synced files, even if another process
	// made it just before.
	// plant:new-directory
	if err := p.FS.SyncDir(p.Dir); err != nil {
		return nil, err
	}
	if d.lock, err = p.FS.Lock(d.path(p.Filename + ".lock")); err != nil {
		return nil, err
	}
	return d, nil
}

// Close releases the lock. A log from Continue or Replace releases it itself.
func (d *Dir) Close() error { return d.lock.Close() }

// dir returns the path of the directory.
func (d *Dir) dir() string { return filepath.Join(d.place.Dir, d.place.Sub) }

// path returns the path of a file in the directory.
func (d *Dir) path(name string) string { return filepath.Join(d.dir(), name) }

func (d *Dir) manifestName() string { return d.place.Filename + ".manifest" }

// temporary returns the name of an unfinished file.
func (d *Dir) temporary(name string) string { return "temp-" + name }

// temporaryBase returns the path of a base while it is being written.
func (d *Dir) temporaryBase() string { return d.path(d.temporary(d.place.Filename + ".base")) }

// baseEntry returns the entry for the next base file.
func (d *Dir) baseEntry(asRDB bool) Entry {
	form := "aof"
	if asRDB {
		form = "rdb"
	}
	seq := d.manifest.nextBase()
	return Entry{fmt.Sprintf("%s.%d.base.%s", d.place.Filename, seq, form), seq, typeBase}
}

// incrEntry returns the entry for the next incremental file.
func (d *Dir) incrEntry() Entry {
	seq := d.manifest.nextIncr()
	return Entry{fmt.Sprintf("%s.%d.incr.aof", d.place.Filename, seq), seq, typeIncr}
}

// readManifest reads the manifest on disk. Without a manifest, it is empty. Load, Continue and Replace begin
// with it.
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

// publish replaces the manifest. seen reports whether a reader sees the new manifest. It is true together
// with an error if only the last sync failed; a crash may then bring back the old manifest.
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

// writeSynced writes a file and syncs it. After an error it removes the file.
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

// dropHistory deletes the replaced files that the manifest lists, and removes them from the manifest. The
// manifest is published afterwards: if a crash comes in between, the next start finds them in it.
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

// removeTemporary removes the unfinished files that a crash has left.
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

// upgrade moves the single-file log of an older Redis (appendfilename in the server's directory) into the
// directory, where it becomes the base. As in Redis, the manifest comes first and the rename second. The last
// condition of mustUpgrade detects a crash between them.
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

// mustUpgrade reports whether the single file is the log: there is no manifest, or it lists only that file,
// which has not been moved yet.
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
