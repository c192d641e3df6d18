package durability

import (
	"os"
	"path/filepath"

	"lockserver/persistence/disk"
)

// The beginning and the end of the name of a file with a snapshot in transfer between servers.
const receivedPrefix, receivedSuffix = "temp-sync-", ".rdb"

// Scratch returns the path of a file that is only needed while the server runs. It is beside the snapshots,
// or in the system's temporary directory if the server keeps no snapshots. id is a unique part of the name,
// of 40 bytes.
func (s *Storage) Scratch(id string) (files disk.FS, path string) {
	name := receivedPrefix + id + receivedSuffix
	if s.own == nil {
		return disk.OS{}, filepath.Join(os.TempDir(), name)
	}
	return s.files, filepath.Join(s.own.dir, name)
}
