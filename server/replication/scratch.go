package replication

import (
	"errors"
	"path/filepath"

	"lockserver/persistence/disk"
)

// scratch is a file for a snapshot in transfer: its bytes are read from the beginning after they were
// written.
type scratch struct {
	disk.File           // the reading end
	to        disk.File // the writing end
	files     disk.FS
	path      string // empty: the file has no name any more
	closed    bool
	synced    bool  // the file may become permanent
	unsynced  int64 // bytes written since the last Sync
}

// scratchPlace is NodeServer.Scratch, which says where such a file goes.
type scratchPlace func() (files disk.FS, path string, keeps bool)

// newScratch makes a file. It removes the file's name at once, if the system allows that.
func newScratch(place scratchPlace) (*scratch, error) {
	s, err := newReceived(place)
	if err == nil {
		s.loseName()
	}
	return s, err
}

// newReceived makes a file that keep may turn into the server's own snapshot, if the server has such a file.
// If the server is killed, the next start removes the file.
func newReceived(place scratchPlace) (*scratch, error) {
	files, path, keeps := place()
	to, err := files.Create(path)
	if err != nil {
		return nil, err
	}
	from, err := files.Open(path)
	if err != nil {
		return nil, errors.Join(err, to.Close(), files.Remove(path))
	}
	s := &scratch{File: from, to: to, files: files, path: path, synced: keeps}
	if !keeps {
		s.loseName()
	}
	return s, nil
}

// loseName removes the file's name. The file disappears when the process ends.
func (s *scratch) loseName() {
	if s.synced = false; s.path != "" && s.files.Remove(s.path) == nil { // Windows keeps the name as long as the file is open
		s.path = ""
	}
}

// syncBytes is the number of bytes between two syncs of a file that may become permanent, so that no sync
// takes long.
const syncBytes = 8 << 20

// Write implements io.Writer.
func (s *scratch) Write(b []byte) (int, error) {
	n, err := s.to.Write(b)
	if s.unsynced += int64(n); err == nil && s.synced && s.unsynced >= syncBytes {
		err = s.sync()
	}
	return n, err
}

// sync makes the written bytes durable, if the file may become permanent.
func (s *scratch) sync() error {
	s.unsynced = 0
	if !s.synced {
		return nil
	}
	return s.to.Sync()
}

// keep gives the file a permanent name. It is not read any more.
func (s *scratch) keep(as string) error {
	if s.path == "" {
		return errors.New("it has no name")
	}
	if err := s.hangUp(); err != nil {
		return err
	}
	if err := s.files.Rename(s.path, as); err != nil {
		return err
	}
	s.path = ""
	return s.files.SyncDir(filepath.Dir(as))
}

// hangUp closes the file.
func (s *scratch) hangUp() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.File.Close(), s.to.Close())
}

// Close releases the file.
func (s *scratch) Close() error {
	err := s.hangUp()
	if s.path != "" {
		err = errors.Join(err, s.files.Remove(s.path))
	}
	return err
}
