package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	hraft "github.com/hashicorp/raft"
)

// unfinished is the end of the name of what a snapshot is written to until it is complete.
const unfinished = ".tmp"

// clearUnfinished removes what is left of incomplete snapshots in a member's directory. The process has
// ended, or the disk was full; they would take the space of the next one.
func clearUnfinished(dir, name string) error {
	left, err := filepath.Glob(filepath.Join(dir, "snapshots", name+unfinished))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// tidied is a store of snapshots in a directory that leaves nothing of one that could not be written.
type tidied struct {
	hraft.SnapshotStore
	dir string
}

// Create implements hraft.SnapshotStore.
func (t *tidied) Create(v hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, over hraft.Transport) (hraft.SnapshotSink, error) {
	s, err := t.SnapshotStore.Create(v, index, term, c, at, over)
	if err != nil {
		return nil, errors.Join(err, clearUnfinished(t.dir, fmt.Sprintf("%d-%d-*", term, index)))
	}
	return &tidySink{s, t.dir}, nil
}

// tidySink is a snapshot that is being written.
type tidySink struct {
	hraft.SnapshotSink
	dir string
}

// Close implements hraft.SnapshotSink.
func (s *tidySink) Close() error { return s.tidy(s.SnapshotSink.Close()) }

// Cancel implements hraft.SnapshotSink.
func (s *tidySink) Cancel() error { return s.tidy(s.SnapshotSink.Cancel()) }

func (s *tidySink) tidy(err error) error {
	if err != nil {
		err = errors.Join(err, clearUnfinished(s.dir, s.ID()))
	}
	return err
}

// openSnapshots opens the snapshots of a member's directory.
func openSnapshots(dir string, log *slog.Logger) (hraft.SnapshotStore, error) {
	if err := clearUnfinished(dir, "*"); err != nil {
		return nil, err
	}
	kept, err := hraft.NewFileSnapshotStoreWithLogger(dir, keptSnapshots, newLogger(log))
	if err != nil {
		return nil, err
	}
	return &tidied{kept, dir}, nil
}
