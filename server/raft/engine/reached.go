package engine

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	hraft "github.com/hashicorp/raft"
)

// A log with a damaged last batch, or without its newest file, looks like one that ends before it: the end
// of a process may leave a batch that was not written whole. So a member writes down, behind each sync of
// the log, up to which entry the log is kept. The file is not synced. What it says was true when it was
// written, so it says too little after the machine has lost its power, and never too much: before entries at
// the end are deleted, the file is lowered and synced.

const (
	// reachedFile has the entry. Its format, do not change: the index with 20 digits, the term with 20
	// digits, a checksum of both and of the spaces behind them, and a newline.
	reachedFile   = "reached"
	reachedFormat = "%020d %020d "
	reachedBytes  = 42 + 8 + 1
)

// place is an entry.
type place struct{ index, term uint64 }

// reached writes up to which entry the log is kept.
type reached struct {
	path string
	file *os.File // nil: it is not open
}

func (p place) text() string {
	text := fmt.Sprintf(reachedFormat, p.index, p.term)
	return fmt.Sprintf("%s%08x\n", text, crc32.Checksum([]byte(text), checksums))
}

// write writes a place. The file is made if need be.
func (r *reached) write(p place) error {
	if r == nil {
		return nil
	}
	if r.file == nil {
		f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		r.file = f
	}
	_, err := r.file.WriteAt([]byte(p.text()), 0)
	return err
}

// lower writes a place that is before the one that is written, and syncs it.
func (r *reached) lower(p place) error {
	if r == nil {
		return nil
	}
	if err := r.write(p); err != nil {
		return err
	}
	return r.file.Sync()
}

// close closes the file.
func (r *reached) close() error {
	if r == nil || r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}

// readReached reads what a member of a directory has written; index 0: nothing that is whole.
func readReached(dir string) (p place) {
	text, err := os.ReadFile(filepath.Join(dir, reachedFile))
	if err != nil || len(text) != reachedBytes {
		return place{}
	}
	if _, err := fmt.Sscanf(string(text), reachedFormat, &p.index, &p.term); err != nil || p.text() != string(text) {
		return place{}
	}
	return p
}

// keep is the place of the last of some entries that were stored.
func keep(all []*hraft.Log) place {
	last := all[len(all)-1]
	return place{last.Index, last.Term}
}
