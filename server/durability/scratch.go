package durability

import (
	"os"
	"path/filepath"

	"lockserver/persistence/disk"
)

// What the name of a file begins and ends with that holds a snapshot on its way between servers.
const receivedPrefix, receivedSuffix = "temp-sync-", ".rdb"

// Scratch returns a file that is not needed after the server has ended. It is beside the snapshots, or in the
// system's temporary directory if the server keeps none. id is a unique part of the name, of 40 bytes.
func (s *Storage) Scratch(id string) (files disk.FS, path string) {
	name := receivedPrefix + id + receivedSuffix
	if s.own == nil {
		return disk.OS{}, filepath.Join(os.TempDir(), name)
	}
	return s.files, filepath.Join(s.own.dir, name)
}
