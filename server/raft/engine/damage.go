package engine

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	iofs "io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockserver/persistence"
	"lockserver/persistence/disk"
)

// A member trusts no disk that it has not verified. At the start, before it answers any other member, it
// verifies all of its log, the list of the log's files, and the newest snapshot. A batch at the end of the
// log that was not written whole was never acknowledged, and is cut off. Anything else means that what the
// member has acknowledged, or its votes, may be lost. Then its files are moved to a directory of their own,
// and it is a member with a new disk: it has no vote until the leader has given it everything.

// Damage is what is wrong with the files of a member.
type Damage struct {
	File string
	At   int64 // the offset in the file; below 0: it is about the whole file
	Why  string
}

// Error implements error.
func (d *Damage) Error() string {
	if d.At < 0 {
		return fmt.Sprintf("%s: damaged: %s", d.File, d.Why)
	}
	return fmt.Sprintf("%s: damaged at the offset %d: %s", d.File, d.At, d.Why)
}

// inFile names the file in a Damage that has none.
func inFile(err error, path string) error {
	var d *Damage
	if errors.As(err, &d) && d.File == "" {
		d.File = path
	}
	return err
}

const (
	// damagedPrefix begins the names of directories with damaged files. The rest is the time.
	damagedPrefix = "damaged-"
	// whyFile of such a directory says what is wrong.
	whyFile = "why"
	// moving is what such a directory is while files are moved to it: the next start goes on with that.
	moving = "moving"
)

// setAside are the files and directories that are moved. What is left says which member this is.
var setAside = []string{committedFile, reachedFile, "snapshots", votesFile, "wal"}

// verify verifies the directory of a member. The error is a *Damage if the disk is not to be trusted.
func verify(dir string) error {
	in := filepath.Join(dir, "wal")
	k, there, err := readKept(in)
	if err != nil {
		return err
	}
	s, err := verifySnapshots(filepath.Join(dir, "snapshots"))
	if err != nil {
		return err
	}
	if !there {
		return verifyNew(dir, in, s)
	}
	x, err := readLog(in, k.Segments)
	if err != nil {
		return err
	}
	if err := verifyWhole(dir, in, k, x, s); err != nil {
		return err
	}
	return verifyVotes(dir, &k, readReached(dir).index, x.last)
}

// verifyNew verifies that a directory without a list of files has nothing else, either.
func verifyNew(dir, in string, s snapshotPlace) error {
	logs, err := filepath.Glob(filepath.Join(in, "*.wal"))
	if err != nil {
		return err
	}
	committed, _, err := readCommitted(dir)
	if err == nil && (len(logs) > 0 || s.index > 0 || committed > 0 || readReached(dir).index > 0) {
		return &Damage{File: in, At: -1, Why: "the list of the log's files is missing, which has this member's votes, too"}
	}
	return err
}

// verifyWhole verifies that log, snapshot, term and what was acknowledged fit together.
func verifyWhole(dir, in string, k kept, x extent, s snapshotPlace) error {
	last := max(x.last, s.index)
	if x.last > 0 && x.first > s.index+1 {
		return &Damage{File: in, At: -1, Why: fmt.Sprintf("the log begins with the entry %d, and the newest snapshot ends with %d: entries are missing", x.first, s.index)}
	}
	committed, _, err := readCommitted(dir)
	if err != nil {
		return err
	}
	if committed > last {
		return x.lost(in, fmt.Sprintf("the log ends with the entry %d, and was committed up to %d: entries are lost", last, committed))
	}
	if r := readReached(dir); r.index > last && max(x.term, s.term) <= r.term {
		return x.lost(in, fmt.Sprintf("the log ends with the entry %d, and %d was acknowledged: entries are lost", last, r.index))
	}
	term := uint64(0)
	if is := k.stable[string(keyTerm)]; len(is) == 8 {
		term = binary.LittleEndian.Uint64(is)
	}
	if most := max(x.term, s.term); term < most {
		return &Damage{File: filepath.Join(in, listFile), At: -1, Why: fmt.Sprintf("it has the term %d, and the log %d: votes are lost", term, most)}
	}
	return nil
}

// lost is the damage by which the end of the log is lost.
func (x *extent) lost(in, what string) error {
	if x.torn != nil {
		return &Damage{File: x.torn.File, At: x.torn.At, Why: x.torn.Why + ": " + what}
	}
	return &Damage{File: in, At: -1, Why: what}
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

// damaged is the directory with a member's damaged files; nil: there is none.
type damaged struct{ path, why string }

// is says what was wrong, until the directory is removed; empty: nothing is.
func (d *damaged) is() string {
	if d == nil {
		return ""
	}
	if _, err := os.Stat(d.path); err != nil {
		return ""
	}
	return d.why
}

// admit verifies the directory of a member before it is used. Damaged files are moved aside if mayMove.
func admit(dir string, mayMove bool, log *slog.Logger) (*damaged, error) {
	begun := filepath.Join(dir, damagedPrefix+moving)
	if _, err := os.Stat(filepath.Join(begun, whyFile)); err != nil {
		var d *Damage
		if err := verify(dir); err != nil && (!mayMove || !errors.As(err, &d)) {
			return nil, err
		}
		if d == nil {
			return findDamaged(dir)
		}
		if err := beginMoving(begun, d); err != nil {
			return nil, err
		}
	}
	is, err := moveAside(dir, begun)
	if err == nil {
		log.Error("raft: the disk of this member is damaged. It is not used: its files were moved away, and nothing of them is deleted. This member has no vote until the "+
			"member that leads has given it all data. If no majority of members has a whole disk there is no leader: see 'A damaged disk' in docs/HA.md",
			"cause", is.why, "moved", is.path)
	}
	return is, err
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

// moveAside moves what is in a member's directory to the one that was begun.
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
	to := filepath.Join(dir, damagedPrefix+time.Now().UTC().Format("20060102T150405.000Z"))
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
