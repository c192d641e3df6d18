package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/persistence/aof"
	"lockserver/persistence/disk"
	"lockserver/persistence/rdb"
	"lockserver/server/raft"
	"lockserver/server/raft/engine/raftlog"
)

// Check verifies the directory of a member: each entry of the log, the snapshots with their data, and that
// the log begins at the newest snapshot. It describes them on w. The error is the reason for which a member
// could not start with these files. Nothing is changed. The member may be running, and then the log may
// seem to end in the middle of an entry.
func Check(dir string, w io.Writer) (err error) {
	member, err := MemberOf(dir)
	if err != nil {
		return err
	}
	c := checking{dir: dir, out: w}
	c.printf("%s: the directory of '%s' (id and group)\n", dir, member)
	if lock, err := (disk.OS{}).Lock(filepath.Join(dir, lockFile)); err != nil {
		c.printf("  a server is running on it\n")
	} else {
		_ = lock.Close()
	}
	if err := errors.Join(refuseUnreadable(dir), c.snapshots()); err != nil {
		return err
	}
	if err := c.log(); err != nil {
		return err
	}
	return c.failed
}

// checking is a check of one directory.
type checking struct {
	dir    string
	out    io.Writer
	failed error // of writing to out
	newest *hraft.SnapshotMeta
	chain  raft.Chain
}

func (c *checking) printf(format string, words ...any) {
	_, err := fmt.Fprintf(c.out, format, words...)
	c.failed = errors.Join(c.failed, err)
}

// snapshots verifies all snapshots, and begins the chain of places at the newest.
func (c *checking) snapshots() error {
	in := filepath.Join(c.dir, diskDir, snapshotsDir)
	names, err := os.ReadDir(in)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var all []*writtenSnapshot
	for _, e := range names {
		switch {
		case strings.HasSuffix(e.Name(), unfinished):
			c.printf("  %s: an unfinished snapshot, which a start removes\n", e.Name())
		case e.IsDir():
			s, err := readMeta(filepath.Join(in, e.Name()))
			if err != nil {
				return err
			}
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *writtenSnapshot) int {
		return -cmp.Or(cmp.Compare(a.Term, b.Term), cmp.Compare(a.Index, b.Index), cmp.Compare(a.ID, b.ID))
	})
	for i, s := range all {
		if err := c.snapshot(s, i == 0); err != nil {
			return fmt.Errorf("%s: %w", s.dir, err)
		}
	}
	return nil
}

// writtenSnapshot is the library's description of a snapshot, in a file beside the data.
type writtenSnapshot struct {
	hraft.SnapshotMeta
	CRC []byte
	dir string
}

// readMeta reads the description of a snapshot.
func readMeta(dir string) (*writtenSnapshot, error) {
	s := &writtenSnapshot{dir: dir}
	path := filepath.Join(dir, "meta.json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// snapshot verifies one.
func (c *checking) snapshot(s *writtenSnapshot, newest bool) error {
	from, err := os.Open(filepath.Join(s.dir, "state.bin"))
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	in := io.TeeReader(from, sum)
	head, data, err := raft.CheckSnapshot(in)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), s.CRC) {
		return fmt.Errorf("its checksum is %x, its bytes give %x", s.CRC, sum.Sum(nil))
	}
	c.printf("  snapshot %s: index %d, term %d, %s, %d keys, fencing tokens up to %d\n", s.ID, s.Index, s.Term, timeOf(head.ClockMS), keysOf(data), head.Token)
	if !newest {
		return nil
	}
	c.newest = &s.SnapshotMeta
	c.members(s.Configuration)
	history, offset := placeOf(data)
	if history == "" {
		return errors.New("it has no position in the history")
	}
	c.chain.StartAt(history, offset)
	return nil
}

// keysOf counts the keys of a snapshot.
func keysOf(data *aof.CheckedSnapshot) (keys int64) {
	for _, n := range data.Keys {
		keys += n
	}
	return keys
}

// placeOf is the place in the history that a snapshot states.
func placeOf(data *aof.CheckedSnapshot) (history string, offset int64) {
	for _, a := range data.Aux {
		switch a.Name {
		case rdb.AuxHistoryID:
			history = a.Value
		case rdb.AuxHistoryOffset:
			offset, _ = strconv.ParseInt(a.Value, 10, 64)
		}
	}
	return history, offset
}

// members prints a configuration.
func (c *checking) members(conf hraft.Configuration) {
	for _, s := range conf.Servers {
		p := peerOf(s.ID, s.Address)
		kind := "voter"
		if s.Suffrage != hraft.Voter {
			kind = "learner"
		}
		c.printf("    member %s: %s, clients at %s, a %s\n", p.ID, p.Raft, p.Client, kind)
	}
}

// timeOf is a time as it is printed.
func timeOf(ms int64) string {
	if ms == 0 {
		return "without a time"
	}
	return "of " + time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

// log verifies the log, and that it goes on from the newest snapshot.
func (c *checking) log() error {
	var s snapshotPlace
	if c.newest != nil {
		s = snapshotPlace{c.newest.Index, c.newest.Term}
	}
	in := filepath.Join(c.dir, diskDir, logDir)
	e := entries{checking: c, snapshot: s.index}
	f, err := c.read(in, s, e.take)
	if err != nil {
		return err
	}
	if f.Torn != nil {
		c.printf("  %s: behind the offset %d is a write that was not finished, which a start cuts off\n", filepath.Base(f.Torn.File), f.Torn.At)
	}
	c.printf("  the id of the group is '%s', and that of the disk '%s'\n", f.Values[string(keyGroup)], f.Values[string(keyIncarnation)])
	known, at, err := readCommitted(c.dir)
	if err != nil {
		return err
	}
	if known > 0 {
		c.printf("  committed up to %d at least, at %s\n", known, at.UTC().Format(time.RFC3339))
	}
	if err := verifyWhole(c.dir, in, f, s); err != nil {
		return err
	}
	if f.Last == 0 {
		c.printf("  the log has no entry\n")
		return nil
	}
	c.printf("  log: entries %d to %d in %d files, up to term %d, the last %s\n", f.First, f.Last, f.Segments, f.Term, timeOf(e.clockMS))
	if c.chain.Void > 0 {
		c.printf("  %d entries have no effect: former leaders have left them\n", c.chain.Void)
	}
	return nil
}

// read reads and verifies the log.
func (c *checking) read(in string, s snapshotPlace, visit func(*hraft.Log) error) (*raftlog.Facts, error) {
	if _, err := os.Stat(in); errors.Is(err, iofs.ErrNotExist) {
		return &raftlog.Facts{New: true}, nil
	}
	found, err := raftlog.Scan(disk.OS{}, in, visit)
	if err != nil {
		return nil, err
	}
	return &found.Facts, nil
}

// entries looks at each entry of a log.
type entries struct {
	*checking
	snapshot uint64 // the last entry in the newest snapshot
	clockMS  int64
}

func (e *entries) take(l *hraft.Log) error {
	switch l.Type {
	case hraft.LogCommand:
		is, err := raft.ReadEntry(l.Data)
		if err != nil {
			return fmt.Errorf("%s: the entry %d of the log: %w", e.dir, l.Index, err)
		}
		if e.clockMS = max(e.clockMS, is.ClockMS); l.Index > e.snapshot {
			e.chain.Take(is)
		}
	case hraft.LogConfiguration:
		e.printf("  entry %d: a change of the members\n", l.Index)
		e.members(hraft.DecodeConfiguration(l.Data))
	}
	return nil
}
