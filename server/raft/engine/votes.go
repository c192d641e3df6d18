package engine

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
	"sync"

	"github.com/hashicorp/raft-wal/types"
)

// bbolt has no checksum for what is in its file: the list of the log's files, and the term, the vote and the
// identity of a member. So all of that is written to a second file with one, before it is written to the
// first. The second has the last two states, since a process may end between the two writes. If the first has
// neither state it is damaged, unless a version without the second file has run meanwhile. Then the term is
// higher, which does no harm, or the log has more entries than this version has written.

const (
	// votesFile has the states, at two places. Their format, do not change: 4 bytes with the length of the
	// values, 4 with their checksum, and the values sorted by their keys. A value has 4 bytes with the length
	// of its key, 4 with its own, the key, and itself.
	votesFile   = "votes"
	votesPlaces = 2
	// votesBytes is the most that a state has.
	votesBytes = 64 << 10
)

// keyList is the key of the list of files in a state. No value of the stable store has it.
const keyList = "\x00list"

// votes is the list of a log's files and the values of the stable store, written with a checksum first.
type votes struct {
	types.MetaStore
	path   string
	mu     sync.Mutex
	file   *os.File          // under mu; nil: it is not open
	values map[string][]byte // under mu; what the MetaStore has
	place  int64             // under mu; of the state that the MetaStore does not have
}

var _ types.MetaStore = (*votes)(nil)

// all are the values and the list.
func (k *kept) all() (map[string][]byte, error) {
	all := make(map[string][]byte, len(k.stable)+1)
	for key, value := range k.stable {
		all[key] = slices.Clone(value)
	}
	list, err := json.Marshal(k.PersistentState)
	all[keyList] = list
	return all, err
}

// statesOf returns the states that a file has and that are whole.
func statesOf(file []byte) (all [][]byte) {
	for i := range votesPlaces {
		var is []byte
		if at := i * votesBytes; len(file) > at+8 {
			is = file[at:]
			size := int64(binary.LittleEndian.Uint32(is))
			if sum := binary.LittleEndian.Uint32(is[4:]); size <= int64(len(is)-8) && size <= votesBytes-8 {
				if is = is[8:][:size]; size == 0 || crc32.Checksum(is, checksums) != sum {
					is = nil
				}
			} else {
				is = nil
			}
		}
		all = append(all, is)
	}
	return all
}

// encodeValues is how values are written.
func encodeValues(values map[string][]byte) (text []byte) {
	var keys []string
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
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
		if string(text[:key]) == string(keyTerm) && value == 8 {
			return binary.LittleEndian.Uint64(text[key:])
		}
		text = text[key+value:]
	}
	return 0
}

// verifyVotes verifies the list of files and what its stable store has. known is the entry that the log
// reached, and last its last one. If a version without this file has added entries, the list is another.
func verifyVotes(dir string, k *kept, known, last uint64) error {
	file, err := os.ReadFile(filepath.Join(dir, votesFile))
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	all, err := k.all()
	if err != nil {
		return err
	}
	is, term := encodeValues(all), uint64(0)
	for _, state := range statesOf(file) {
		if string(state) == string(is) {
			return nil
		}
		term = max(term, termIn(state))
	}
	if now := termIn(is); term > 0 && now <= term && known >= last {
		return &Damage{File: filepath.Join(dir, "wal", listFile), At: -1,
			Why: fmt.Sprintf("the term, the vote, the identity of the disk or the list of files is not what was written (term %d, and %d was known)", now, term)}
	}
	return nil
}

// openVotes opens the file of a directory, for a MetaStore that has what was read.
func openVotes(dir string, k kept, of types.MetaStore) (*votes, error) {
	all, err := k.all()
	if err != nil {
		return nil, err
	}
	v := &votes{MetaStore: of, path: filepath.Join(dir, votesFile), values: all}
	file, err := os.ReadFile(v.path)
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return nil, err
	}
	is := string(encodeValues(all))
	for i, state := range statesOf(file) {
		if string(state) == is {
			v.place = 1 - int64(i)
			return v, nil
		}
	}
	if err := v.write(all); err != nil {
		return nil, errors.Join(err, v.closeFile())
	}
	v.place = 1 - v.place
	return v, nil
}

// write writes values at the free place, and syncs.
func (v *votes) write(values map[string][]byte) error {
	text := encodeValues(values)
	if len(text) > votesBytes-8 {
		return fmt.Errorf("%s: %d bytes are too many", v.path, len(text))
	}
	if v.file == nil {
		f, err := os.OpenFile(v.path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		v.file = f
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(text, checksums))
	if _, err := v.file.WriteAt(append(head, text...), v.place*votesBytes); err != nil {
		return err
	}
	return v.file.Sync()
}

// SetStable implements types.MetaStore.
func (v *votes) SetStable(key, value []byte) error {
	return v.set(string(key), value, func() error { return v.MetaStore.SetStable(key, value) })
}

// CommitState implements types.MetaStore.
func (v *votes) CommitState(s types.PersistentState) error {
	list, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return v.set(keyList, list, func() error { return v.MetaStore.CommitState(s) })
}

// set writes a value, and then has the MetaStore write it.
func (v *votes) set(key string, value []byte, write func() error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	next := maps.Clone(v.values)
	if next[key] = slices.Clone(value); value == nil {
		delete(next, key)
	}
	if err := v.write(next); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	v.values, v.place = next, 1-v.place
	return nil
}

// Close implements types.MetaStore.
func (v *votes) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return errors.Join(v.MetaStore.Close(), v.closeFile())
}

func (v *votes) closeFile() error {
	if v.file == nil {
		return nil
	}
	f := v.file
	v.file = nil
	return f.Close()
}
