package engine

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
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
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"

	"lockserver/persistence/aof"
	"lockserver/persistence/disk"
	"lockserver/persistence/rdb"
	"lockserver/server/raft"
)

// Check verifies the directory of a member: each batch and each entry of the log, the snapshots with their
// data, and that the log goes on from the newest snapshot. It writes to w what they hold. The error is what
// would keep a member from going on with them. Nothing is changed; the member may be running, and then the
// log may seem to end in the middle of a batch.
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
	if err := c.snapshots(); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "lockserver-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := c.log(tmp); err != nil {
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
	in := filepath.Join(c.dir, "snapshots")
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

// writtenSnapshot is what the library writes beside a snapshot's data.
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

// log verifies the log. Its list of files is read from a copy, in a directory.
func (c *checking) log(tmp string) error {
	in := filepath.Join(c.dir, "wal")
	list, err := os.ReadFile(filepath.Join(in, metadb.FileName))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, metadb.FileName), list, 0o600); err != nil {
		return err
	}
	kept := &metadb.BoltMetaDB{}
	state, err := kept.Load(tmp)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(in, metadb.FileName), err)
	}
	defer func() { _ = kept.Close() }()
	for i, s := range state.Segments {
		torn, err := verifyFile(filepath.Join(in, segment.FileName(s)), i == len(state.Segments)-1)
		if err != nil {
			return err
		}
		if torn > 0 {
			c.printf("  %s: %d bytes behind the last whole batch, which a start cuts off\n", segment.FileName(s), torn)
		}
	}
	log, err := wal.Open(tmp, wal.WithSegmentFiler(segment.NewFiler(in, readOnly{system{fs.New()}, tmp})), wal.WithMetaStore(kept))
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	defer func() { _ = log.Close() }()
	group, _ := log.Get(keyGroup)
	disk, _ := log.Get(keyIncarnation)
	c.printf("  the id of the group is '%s', and that of the disk '%s'\n", group, disk)
	return c.entries(log, len(state.Segments))
}

// entries verifies each entry, and that the log goes on from the newest snapshot.
func (c *checking) entries(log *wal.WAL, files int) error {
	first, err := log.FirstIndex()
	if err != nil {
		return err
	}
	last, err := log.LastIndex()
	if err != nil {
		return err
	}
	snapshot := uint64(0)
	if c.newest != nil {
		snapshot = c.newest.Index
	}
	known, at, err := readCommitted(c.dir)
	if err != nil {
		return err
	}
	if known > 0 {
		c.printf("  committed up to %d at least, at %s\n", known, at.UTC().Format(time.RFC3339))
	}
	if known > max(last, snapshot) {
		return fmt.Errorf("%s: the log ends with the entry %d, and was committed up to %d: entries are lost", c.dir, max(last, snapshot), known)
	}
	if last == 0 {
		c.printf("  the log has no entry\n")
		return nil
	}
	if first > snapshot+1 {
		return fmt.Errorf("%s: the log begins with the entry %d, and the newest snapshot ends with %d: entries are missing", c.dir, first, snapshot)
	}
	term, clockMS := uint64(0), int64(0)
	for i := first; i <= last; i++ {
		var l hraft.Log
		if err := log.GetLog(i, &l); err != nil {
			return fmt.Errorf("%s: the entry %d of the log: %w", c.dir, i, err)
		}
		if l.Index != i || l.Term < term {
			return fmt.Errorf("%s: the entry %d of the log has the index %d and the term %d, behind the term %d", c.dir, i, l.Index, l.Term, term)
		}
		term = l.Term
		switch l.Type {
		case hraft.LogCommand:
			e, err := raft.ReadEntry(l.Data)
			if err != nil {
				return fmt.Errorf("%s: the entry %d of the log: %w", c.dir, i, err)
			}
			if clockMS = max(clockMS, e.ClockMS); i > snapshot {
				c.chain.Take(e)
			}
		case hraft.LogConfiguration:
			c.printf("  entry %d: a change of the members\n", i)
			c.members(hraft.DecodeConfiguration(l.Data))
		}
	}
	c.printf("  log: entries %d to %d in %d files, up to term %d, the last %s\n", first, last, files, term, timeOf(clockMS))
	if c.chain.Void > 0 {
		c.printf("  %d entries have no effect: former leaders have left them\n", c.chain.Void)
	}
	return nil
}

// verifyFile verifies the checksums of a file of the log, and returns how many bytes are behind the last
// whole batch. Only the last file may have any.
func verifyFile(path string, last bool) (torn int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, iofs.ErrNotExist) && last {
		return 0, nil // it was listed and not made yet
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	from, at := int64(0), int64(fileHeaderBytes)
	var head [frameHeaderBytes]byte
	bad := int64(-1) // a batch with a wrong checksum
	for {
		if n, err := f.ReadAt(head[:], at); n < len(head) {
			if !errors.Is(err, io.EOF) {
				return 0, err
			}
			break
		}
		number := binary.LittleEndian.Uint32(head[4:])
		size := (int64(number) + frameHeaderBytes - 1) / frameHeaderBytes * frameHeaderBytes
		if head[0] == 0 {
			break
		}
		if head[0] != frameEntry && head[0] != frameIndex && head[0] != frameCommit || head[1]|head[2]|head[3] != 0 || bad >= 0 {
			return 0, fmt.Errorf("%s: offset %d: corrupt", path, max(bad, from))
		}
		if head[0] == frameCommit {
			sum := crc32.New(checksums)
			if _, err := io.Copy(sum, io.NewSectionReader(f, from, at-from)); err != nil {
				return 0, err
			}
			if size = 0; sum.Sum32() != number {
				bad = from
			}
		}
		if at += frameHeaderBytes + size; head[0] == frameCommit && bad < 0 {
			from = at
		}
	}
	if (bad >= 0 || at > from && from > 0) && !last {
		return 0, fmt.Errorf("%s: offset %d: corrupt", path, from)
	}
	return at - max(from, fileHeaderBytes), nil
}

// readOnly is a file system on which nothing is changed: what is made goes to another directory.
type readOnly struct {
	system
	to string
}

// Create implements types.VFS.
func (r readOnly) Create(_, name string, size uint64) (types.WritableFile, error) {
	return r.system.Create(r.to, name, size)
}

// Delete implements types.VFS.
func (readOnly) Delete(string, string) error { return nil }

// OpenWriter implements types.VFS.
func (r readOnly) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	return unwritable{f}, nil
}

// unwritable is a file that is only read.
type unwritable struct{ *os.File }

// errReadOnly is returned for a write to a directory that is checked.
var errReadOnly = errors.New("the directory is only read")

// WriteAt implements types.WritableFile.
func (unwritable) WriteAt([]byte, int64) (int, error) { return 0, errReadOnly }

// Sync implements types.WritableFile.
func (unwritable) Sync() error { return nil }
