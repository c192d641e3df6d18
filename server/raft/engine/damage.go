package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"
	"lockserver/persistence"
	"lockserver/persistence/disk"
	"lockserver/server/raft/engine/raftlog"
)

// A member trusts no disk that it has not verified. At the start, before it answers any other member, it
// verifies all of its log, its votes, and the newest snapshot. An entry at the end of the log that was not
// written whole was never acknowledged, and is cut off. Anything else means that what the member has
// acknowledged, or its votes, may be lost. Then its files are moved to a directory of their own, and it is a
// member with a new disk: it has no vote until the leader has given it everything.
//
// Each entry is verified again when it is read. If it was damaged meanwhile, the member stops, and the next
// start moves its files.

const (
	// damagedPrefix begins the names of directories with damaged files. The rest is the time.
	damagedPrefix = "damaged-"
	// whyFile of such a directory says what is wrong.
	whyFile = "why"
	// moving is the state of such a directory while files are moved to it. The next start continues the
	// move.
	moving = "moving"
	// timeFormat is that of times in names.
	timeFormat = "20060102T150405.000Z"
)

// setAside lists the files and directories that are moved. The rest says which member this is.
var setAside = []string{committedFile, diskDir}

// unreadable lists the names of the log's directory in builds before version 0.1.0. The second one is that of
// a log with a conversion that did not end.
var unreadable = [...]string{"wal", "wal.old"}

// refuseUnreadable returns an error if a build before version 0.1.0 wrote the member's log.
func refuseUnreadable(dir string) error {
	for _, name := range unreadable {
		in := filepath.Join(dir, name)
		if _, err := os.Stat(in); err == nil {
			return fmt.Errorf("%s is the log of a build before version 0.1.0, which this one does not read: move the directory %s away, "+
				"one member after the other, and the leader gives the member everything", in, dir)
		}
	}
	return nil
}

// snapshotsDir is where the library keeps snapshots in a directory.
const snapshotsDir = "snapshots"

// logAt is where the log of a member's directory is.
func (o *Options) logAt(dir string) (on disk.FS, in string) {
	if o.Disk != nil {
		return o.Disk, logDir
	}
	return disk.OS{Blocking: true}, filepath.Join(dir, diskDir, logDir)
}

// openVerified verifies the directory of a member, and opens its log. The error is a *Damage if the disk is
// not to be trusted.
func (o *Options) openVerified(dir string) (*raftlog.Log, error) {
	if err := refuseUnreadable(dir); err != nil {
		return nil, err
	}
	on, in := o.logAt(dir)
	err := os.MkdirAll(filepath.Join(dir, diskDir, logDir), 0o700)
	if err == nil {
		err = errors.Join(disk.OS{}.SyncDir(filepath.Join(dir, diskDir)), disk.OS{}.SyncDir(dir))
	}
	if err == nil && o.Disk != nil {
		if _, err = on.MakeDir(in); err == nil {
			err = on.SyncDir(".")
		}
	}
	if err != nil {
		return nil, err
	}
	c, _, err := verify(dir, on, in, nil)
	if err != nil {
		return nil, err
	}
	log, err := c.Open()
	if err == nil && o.segmentBytes > 0 {
		log.SegmentBytes = o.segmentBytes
	}
	return log, err
}

// verify verifies a log, the newest snapshot, and that they fit together. visit is called with each entry;
// nil: it is not.
func verify(dir string, on disk.FS, in string, visit func(*hraft.Log) error) (c *raftlog.Scanned, s snapshotPlace, err error) {
	snapshot := make(chan error, 1)
	go func() {
		var err error
		s, err = verifySnapshots(filepath.Join(dir, diskDir, snapshotsDir))
		snapshot <- err
	}()
	c, err = raftlog.Scan(on, in, visit)
	if bad := <-snapshot; err == nil {
		err = bad
	}
	if err != nil {
		return nil, s, err
	}
	return c, s, verifyWhole(dir, in, &c.Facts, s)
}

// verifyWhole verifies that log, snapshot, term and what was acknowledged fit together.
func verifyWhole(dir, in string, f *raftlog.Facts, s snapshotPlace) error {
	committed, _, err := readCommitted(dir)
	last := max(f.Last, s.index)
	switch {
	case err != nil:
		return err
	case f.New && (s.index > 0 || committed > 0):
		return &Damage{File: in, At: -1, Why: "it is missing, and it has this member's votes, too"}
	case f.Last > 0 && f.First > s.index+1:
		return &Damage{File: in, At: -1, Why: fmt.Sprintf("the log begins with the entry %d, and the newest snapshot ends with %d: entries are missing", f.First, s.index)}
	case committed > last:
		d := &Damage{File: in, At: -1, Why: fmt.Sprintf("the log ends with the entry %d, and was committed up to %d: entries are lost", last, committed)}
		if f.Torn != nil {
			d.File, d.At, d.Why = f.Torn.File, f.Torn.At, f.Torn.Why+": "+d.Why
		}
		return d
	}
	if term, most := f.Uint64(keyTerm), max(f.Term, s.term); term < most {
		return &Damage{File: in, At: -1, Why: fmt.Sprintf("this member was in the term %d, and the log has %d: votes are lost", term, most)}
	}
	return nil
}

// snapshotPlace is the last entry in a snapshot.
type snapshotPlace struct{ index, term uint64 }

// verifySnapshots verifies the newest snapshot.
func verifySnapshots(in string) (p snapshotPlace, err error) {
	names, err := os.ReadDir(in)
	if errors.Is(err, iofs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	newest, has := "", snapshotPlace{}
	for _, e := range names {
		if !e.IsDir() || strings.HasSuffix(e.Name(), unfinished) {
			continue
		}
		var is snapshotPlace
		if _, err := fmt.Sscanf(e.Name(), "%d-%d-", &is.term, &is.index); err != nil {
			return p, &Damage{File: filepath.Join(in, e.Name()), At: -1, Why: "it has not the name of a snapshot"}
		}
		if newest == "" || cmp.Or(cmp.Compare(is.term, has.term), cmp.Compare(is.index, has.index), cmp.Compare(e.Name(), newest)) > 0 {
			newest, has = e.Name(), is
		}
	}
	if newest == "" {
		return p, nil
	}
	return has, verifySnapshot(filepath.Join(in, newest), newest, has)
}

// verifyAgain verifies the newest snapshot while the member runs, and that the log goes on from it.
func verifyAgain(in string, log hraft.LogStore) error {
	s, err := verifySnapshots(in)
	if err != nil {
		return err
	}
	first, err := log.FirstIndex()
	if err == nil && first > s.index+1 {
		return &Damage{File: in, At: -1, Why: fmt.Sprintf("the log begins with the entry %d, and the newest snapshot ends with %d: entries are missing", first, s.index)}
	}
	return err
}

// verifySnapshot verifies a snapshot by the checksums of its description and its data.
func verifySnapshot(dir, name string, is snapshotPlace) error {
	path := filepath.Join(dir, "meta.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, iofs.ErrNotExist) {
		return &Damage{File: path, At: -1, Why: "it is missing"}
	}
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(dir, metaSumFile))
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	if err == nil && string(sum) != metaSum(text) {
		return &Damage{File: path, At: -1, Why: "its checksum is wrong"}
	}
	s, err := readMeta(dir)
	if err != nil {
		return &Damage{File: path, At: -1, Why: err.Error()}
	}
	if s.ID != name || s.Index != is.index || s.Term != is.term {
		return &Damage{File: path, At: -1, Why: "it describes another snapshot than its directory has"}
	}
	path = filepath.Join(dir, "state.bin")
	from, err := os.Open(path)
	if errors.Is(err, iofs.ErrNotExist) {
		return &Damage{File: path, At: -1, Why: "it is missing"}
	}
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	hash := crc64.New(crc64.MakeTable(crc64.ECMA))
	n, err := io.CopyBuffer(onlyWriter{hash}, from, make([]byte, 1<<20))
	switch {
	case err != nil:
		return err
	case n != s.Size:
		return &Damage{File: path, At: min(n, s.Size), Why: fmt.Sprintf("it has %d bytes, and %d were written", n, s.Size)}
	case !bytes.Equal(hash.Sum(nil), s.CRC):
		return &Damage{File: path, At: -1, Why: "its checksum is wrong"}
	}
	return nil
}

// onlyWriter hides what a writer can do besides.
type onlyWriter struct{ io.Writer }

// admit verifies the directory of a member, and opens its log. Damaged files are moved aside if o says so.
func (o *Options) admit(dir string) (log *raftlog.Log, err error) {
	begun := filepath.Join(dir, damagedPrefix+moving)
	_, err = os.Stat(filepath.Join(begun, whyFile))
	moves := err == nil
	if !moves {
		log, err = o.openVerified(dir)
		var d *Damage
		if !errors.As(err, &d) || !o.MoveDamaged {
			if err == nil {
				o.damaged, err = findDamaged(dir)
			}
			return log, err
		}
		if err := beginMoving(begun, d); err != nil {
			return nil, err
		}
	}
	if o.damaged, err = moveAside(dir, begun); err != nil {
		return nil, err
	}
	o.Log.Error("raft: the disk of this member is damaged. It is not used: its files were moved away, and nothing of them is deleted. This member has no vote until the "+
		"member that leads has given it all data. If no majority of members has a whole disk there is no leader: see 'A damaged disk' in docs/HA.md",
		"cause", o.damaged.why, "moved", o.damaged.path)
	return o.openVerified(dir)
}

// beginMoving writes down what is wrong. From then on the files count no more.
func beginMoving(begun string, d *Damage) error {
	if err := os.MkdirAll(begun, 0o700); err != nil {
		return err
	}
	if err := (disk.OS{}).SyncDir(filepath.Dir(begun)); err != nil {
		return err
	}
	return persistence.ReplaceFile(filepath.Join(begun, whyFile), 0o600, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, d.Error())
		return err
	})
}

// moveAside moves the files of a member's directory to the directory that was begun.
func moveAside(dir, begun string) (*damaged, error) {
	for _, name := range setAside {
		err := os.Rename(filepath.Join(dir, name), filepath.Join(begun, name))
		if err != nil && !errors.Is(err, iofs.ErrNotExist) {
			return nil, err
		}
	}
	if err := errors.Join(disk.OS{}.SyncDir(begun), disk.OS{}.SyncDir(dir)); err != nil {
		return nil, err
	}
	to := filepath.Join(dir, damagedPrefix+time.Now().UTC().Format(timeFormat))
	if err := os.Rename(begun, to); err != nil {
		return nil, err
	}
	if err := (disk.OS{}).SyncDir(dir); err != nil {
		return nil, err
	}
	return findDamaged(dir)
}

// findDamaged finds the newest directory with damaged files.
func findDamaged(dir string) (*damaged, error) {
	all, err := filepath.Glob(filepath.Join(dir, damagedPrefix+"*", whyFile))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	newest := slices.Max(all)
	why, err := os.ReadFile(newest)
	return &damaged{path: filepath.Dir(newest), why: strings.TrimSpace(string(why))}, err
}
