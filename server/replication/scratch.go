package replication

import (
	"errors"
	"path/filepath"

	"lockserver/persistence/disk"
)

// scratch is a file that holds a snapshot on its way: what is written is read from its beginning.
type scratch struct {
	disk.File           // that reads
	to        disk.File // that writes
	remove    func() error
}

// newScratch makes one. It loses its name at once where the system lets it, so that nothing of it is left
// even if the server is killed.
func (n *Node) newScratch() (*scratch, error) {
	files, dir := n.host.Scratch()
	path := filepath.Join(dir, "temp-sync-"+n.host.NewID()+".rdb")
	to, err := files.Create(path)
	if err != nil {
		return nil, err
	}
	from, err := files.Open(path)
	if err != nil {
		return nil, errors.Join(err, to.Close(), files.Remove(path))
	}
	s := &scratch{File: from, to: to, remove: func() error { return nil }}
	if files.Remove(path) != nil { // Windows keeps the name as long as the file is open
		s.remove = func() error { return files.Remove(path) }
	}
	return s, nil
}

// Write implements io.Writer.
func (s *scratch) Write(b []byte) (int, error) { return s.to.Write(b) }

// Close lets go of the file.
func (s *scratch) Close() error { return errors.Join(s.File.Close(), s.to.Close(), s.remove()) }
