package durability

import (
	"os"

	"lockserver/persistence/disk"
)

// Scratch is where files may be made that nobody needs when the server has ended: beside the snapshots, or,
// if it keeps none, where the system has such files.
func (s *Storage) Scratch() (files disk.FS, dir string) {
	if s.own == nil {
		return disk.OS{}, os.TempDir()
	}
	return s.files, s.own.dir
}
