package older

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	iofs "io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft/engine/raftlog"
)

// The names in a member's directory.
const (
	Dir         = "wal"
	ReachedFile = "reached"
	VotesFile   = "votes"
)

// Exists reports whether a member's directory has such a log, or parts of one.
func Exists(dir string) (bool, error) {
	for _, name := range []string{listFile, "*.wal"} {
		found, err := filepath.Glob(filepath.Join(dir, Dir, name))
		if err != nil || len(found) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// Scan reads and verifies the log in a member's directory. The error is a *raftlog.Damage if it is not what
// was written. snapshot and its term are what the newest snapshot ends with. visit is called with each entry;
// nil: it is not.
func Scan(dir string, snapshot, snapshotTerm uint64, visit func(*hraft.Log) error) (f raftlog.Facts, err error) {
	in := filepath.Join(dir, Dir)
	k, there, err := readKept(in)
	if err != nil {
		return f, err
	}
	if !there {
		return f, &raftlog.Damage{File: in, At: -1, Why: "the list of the log's files is missing, which has this member's votes, too"}
	}
	x, err := readLog(in, k.Segments, visit)
	if err != nil {
		return f, err
	}
	index, term := readReached(dir)
	if last := max(x.last, snapshot); index > last && max(x.term, snapshotTerm) <= term {
		return f, x.lost(in, fmt.Sprintf("the log ends with the entry %d, and %d was acknowledged: entries are lost", last, index))
	}
	f = raftlog.Facts{First: x.first, Last: x.last, Term: x.term, Reached: index, Torn: x.torn, Segments: len(k.Segments), Values: k.stable}
	return f, verifyVotes(dir, &k, index, x.last)
}

// lost is the damage by which the end of the log is lost.
func (x *extent) lost(in, what string) error {
	if x.torn != nil {
		return &raftlog.Damage{File: x.torn.File, At: x.torn.At, Why: x.torn.Why + ": " + what}
	}
	return &raftlog.Damage{File: in, At: -1, Why: what}
}

// inFile names the file in a Damage that has none.
func inFile(err error, path string) error {
	var d *raftlog.Damage
	if errors.As(err, &d) && d.File == "" {
		d.File = path
	}
	return err
}

// reachedFormat is the format of the file reached. Index and term have 20 digits each. A checksum of both and
// of the spaces behind them follows, and a newline.
const reachedFormat = "%020d %020d "

// readReached reads which entry was synced; 0: nothing that is whole.
func readReached(dir string) (index, term uint64) {
	text, err := os.ReadFile(filepath.Join(dir, ReachedFile))
	if err != nil {
		return 0, 0
	}
	if _, err := fmt.Sscanf(string(text), reachedFormat, &index, &term); err != nil {
		return 0, 0
	}
	is := fmt.Sprintf(reachedFormat, index, term)
	if is = fmt.Sprintf("%s%08x\n", is, crc32.Checksum([]byte(is), checksums)); is != string(text) {
		return 0, 0
	}
	return index, term
}

// The format of the file votes: two places. Each has 4 bytes with the length of the values, 4 with their
// checksum, and the values sorted by their keys. A value has 4 bytes with the length of its key, 4 with its
// own, the key, and itself. The list of files is a value, too.
const (
	votesPlaces = 2
	votesBytes  = 64 << 10
	keyList     = "\x00list"
	keyTerm     = "CurrentTerm"
)

// states returns the states of a file that are whole.
func states(file []byte) (all [][]byte) {
	for i := range votesPlaces {
		at := i * votesBytes
		if len(file) <= at+8 {
			continue
		}
		is := file[at:]
		size := int64(binary.LittleEndian.Uint32(is))
		if size == 0 || size > min(int64(len(is)), votesBytes)-8 || crc32.Checksum(is[8:][:size], checksums) != binary.LittleEndian.Uint32(is[4:]) {
			continue
		}
		all = append(all, is[8:][:size])
	}
	return all
}

func encodeValues(values map[string][]byte) (text []byte) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text = binary.LittleEndian.AppendUint32(text, uint32(len(key)))
		text = binary.LittleEndian.AppendUint32(text, uint32(len(values[key])))
		text = append(append(text, key...), values[key]...)
	}
	return text
}

// termIn is the term in an encoded state.
func termIn(text []byte) uint64 {
	for len(text) >= 8 {
		key, value := int(binary.LittleEndian.Uint32(text)), int(binary.LittleEndian.Uint32(text[4:]))
		if text = text[8:]; len(text) < key+value {
			return 0
		}
		if string(text[:key]) == keyTerm && value == 8 {
			return binary.LittleEndian.Uint64(text[key:])
		}
		text = text[key+value:]
	}
	return 0
}

// verifyVotes verifies the list of files and what its stable store has. known is the entry that the log
// reached, and last its last one. If a version without this file has added entries, the list is another.
func verifyVotes(dir string, k *kept, known, last uint64) error {
	file, err := os.ReadFile(filepath.Join(dir, VotesFile))
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	all := maps.Clone(k.stable)
	if all[keyList], err = json.Marshal(k.list); err != nil {
		return err
	}
	is, term := encodeValues(all), uint64(0)
	for _, state := range states(file) {
		if string(state) == string(is) {
			return nil
		}
		term = max(term, termIn(state))
	}
	if now := termIn(is); term > 0 && now <= term && known >= last {
		return &raftlog.Damage{File: filepath.Join(dir, Dir, listFile), At: -1,
			Why: fmt.Sprintf("the term, the vote, the identity of the disk or the list of files is not what was written (term %d, and %d was known)", now, term)}
	}
	return nil
}
