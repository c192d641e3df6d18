package engine

import (
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	hraft "github.com/hashicorp/raft"
	"lockserver/persistence"
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

// tidied is a store of snapshots in a directory. It removes the files of a snapshot that could not be
// written.
type tidied struct {
	hraft.SnapshotStore
	dir string
}

// Create implements hraft.SnapshotStore. The library names a snapshot by term, index and millisecond. A
// second snapshot of one millisecond waits for the next one, because it could not get its name when it is
// complete.
func (t *tidied) Create(v hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, over hraft.Transport) (hraft.SnapshotSink, error) {
	for {
		s, err := t.SnapshotStore.Create(v, index, term, c, at, over)
		if err != nil {
			return nil, errors.Join(err, clearUnfinished(t.dir, fmt.Sprintf("%d-%d-*", term, index)))
		}
		sink := &tidySink{s, t.dir}
		if _, err := os.Stat(filepath.Join(t.dir, "snapshots", s.ID())); errors.Is(err, fs.ErrNotExist) {
			return sink, nil
		}
		if err := sink.Cancel(); err != nil {
			return nil, err
		}
		time.Sleep(time.Millisecond)
	}
}

// tidySink is a snapshot that is being written.
type tidySink struct {
	hraft.SnapshotSink
	dir string
}

// Close implements hraft.SnapshotSink.
func (s *tidySink) Close() error {
	err := s.tidy(s.SnapshotSink.Close())
	if err == nil {
		err = writeMetaSum(filepath.Join(s.dir, "snapshots", s.ID()))
	}
	return err
}

// Cancel implements hraft.SnapshotSink.
func (s *tidySink) Cancel() error { return s.tidy(s.SnapshotSink.Cancel()) }

func (s *tidySink) tidy(err error) error {
	if err != nil {
		err = errors.Join(err, clearUnfinished(s.dir, s.ID()))
	}
	return err
}

// metaSumFile of a snapshot has the checksum of its description, which the library writes without one. Its
// format, do not change: a CRC-64 with 16 hexadecimal digits, and a newline. A version without the file has
// written the snapshot, or the process ended just before it was written.
const metaSumFile = "meta.sum"

func metaSum(text []byte) string {
	return fmt.Sprintf("%016x\n", crc64.Checksum(text, crc64.MakeTable(crc64.ECMA)))
}

// writeMetaSum writes the checksum of the description of a snapshot.
func writeMetaSum(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if errors.Is(err, fs.ErrNotExist) { // the machine has closed it already, and a newer one took its place
		return nil
	}
	if err != nil {
		return err
	}
	return persistence.ReplaceFile(filepath.Join(dir, metaSumFile), 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, metaSum(text))
		return err
	})
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

// verifying is a store of snapshots that says which file is damaged if a snapshot cannot be opened.
type verifying struct {
	hraft.SnapshotStore
	verify func() error
}

// Open implements hraft.SnapshotStore.
func (v *verifying) Open(id string) (*hraft.SnapshotMeta, io.ReadCloser, error) {
	meta, from, err := v.SnapshotStore.Open(id)
	if err != nil {
		if bad := v.verify(); bad != nil {
			err = bad
		}
	}
	return meta, from, err
}
