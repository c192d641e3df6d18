package durability

import (
	"os"
	"path/filepath"

	"lockserver/persistence/disk"
)

// What the name of a file begins and ends with that holds a snapshot on its way between servers.
const receivedPrefix, receivedSuffix = "temp-sync-", ".rdb"

// Scratch is a file that nobody needs when the server has ended: beside the snapshots, or, if it keeps none,
// where the system has such files. id is what no other has in its name, in 40 bytes.
func (s *Storage) Scratch(id string) (files disk.FS, path string) {
	name := receivedPrefix + id + receivedSuffix
	if s.own == nil {
		return disk.OS{}, filepath.Join(os.TempDir(), name)
	}
	return s.files, filepath.Join(s.own.dir, name)
}
