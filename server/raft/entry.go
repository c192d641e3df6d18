package raft

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// place is a place in a history: the name of the history, and its length up to there. The name changes with
// each leader. The zero place is the beginning of a group.
type place struct {
	id     string
	offset int64
}

// entry is an entry of the group's log.
type entry struct {
	// after is the place at which the entry begins. The entry is void if the log has come to another place.
	after place
	// id names the history from here on. Each leader has a name of its own.
	id string
	// clockMS is the leader's time. token is at least as high as each fencing token that the leader has
	// given out.
	clockMS, token int64
	// bytes are the next bytes of the history. The next entry may continue a unit.
	bytes []byte
	// rules: the bytes may store delayed entries that recur, which versions before historyRules do not know.
	rules bool
}

// end returns the place behind the entry.
func (e *entry) end() place { return place{e.id, e.after.offset + int64(len(e.bytes))} }

// The format of an entry, do not change:
//   - a version, which is rulesVersion for an entry with rules;
//   - two names, of after and of the history, each a length in a byte and so many bytes;
//   - offset, clock and token with eight bytes each, the lowest first;
//   - the bytes.
const (
	entryVersion = 1
	// rulesVersion makes an older version stop at an entry that it would misread.
	rulesVersion = 2
)

// appendTo appends the entry in its format.
func (e *entry) appendTo(dst []byte) []byte {
	version := byte(entryVersion)
	if e.rules {
		version = rulesVersion
	}
	dst = append(dst, version)
	for _, name := range []string{e.after.id, e.id} {
		dst = append(append(dst, byte(len(name))), name...)
	}
	for _, n := range []int64{e.after.offset, e.clockMS, e.token} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
	}
	return append(dst, e.bytes...)
}

// A mark is an entry that changes nothing, and names a place in the history. Members that are at just that
// place when they apply it compare their data (check.go). It is an entry of version 1 that goes on from a
// history that cannot exist, so that it is void for a lockserver that knows no marks. Its format, do not
// change: the name of that history is markID, offset and id are those of the place.
const markID = "mark"

// markOf makes a mark.
func markOf(at place, clockMS, token int64) *entry {
	return &entry{after: place{markID, at.offset}, id: at.id, clockMS: clockMS, token: token}
}

// marks returns the place that a mark names; false: the entry is no mark.
func (e *entry) marks() (at place, ok bool) { return place{e.id, e.after.offset}, e.after.id == markID }

var errShort = errors.New("it is cut off")

// parseEntry reads an entry. The entry shares the memory of b.
func parseEntry(b []byte) (e entry, err error) {
	if len(b) == 0 {
		return e, errShort
	}
	if b[0] > rulesVersion || b[0] < entryVersion {
		return e, fmt.Errorf("it has version %d, and this lockserver knows %d: a newer one wrote it", b[0], rulesVersion)
	}
	e.rules = b[0] == rulesVersion
	b = b[1:]
	for _, name := range []*string{&e.after.id, &e.id} {
		if len(b) == 0 || len(b) < 1+int(b[0]) {
			return e, errShort
		}
		*name = string(b[1 : 1+int(b[0])])
		b = b[1+int(b[0]):]
	}
	for _, n := range []*int64{&e.after.offset, &e.clockMS, &e.token} {
		if len(b) < 8 {
			return e, errShort
		}
		*n = int64(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	e.bytes = b
	return e, nil
}

// snapshotMagic begins a snapshot, rulesMagic that of a group that has had delayed entries that recur, and
// movesMagic that of a group that has moved slots. Older versions refuse these. The format of a snapshot, do
// not change:
//   - one of these lines;
//   - clock and token with eight bytes each, the lowest first;
//   - four bytes of their CRC (IEEE);
//   - in the snapshot of a group that has moved slots, the slots that arrive (savedStagings);
//   - an RDB file that has the place in the history.
const (
	snapshotMagic = "lockserver raft snapshot 1\n"
	rulesMagic    = "lockserver raft snapshot 2\n"
	movesMagic    = "lockserver raft snapshot 4\n"
)

// headBytes is the length of the part of a snapshot before the RDB file.
const headBytes = len(snapshotMagic) + 20

// writeHead writes the part of a snapshot before the slots that arrive, and before the RDB file.
func writeHead(w io.Writer, h Head) error {
	head := []byte(snapshotMagic)
	switch {
	case h.Moves:
		head = []byte(movesMagic)
	case h.Rules:
		head = []byte(rulesMagic)
	}
	for _, n := range []int64{h.ClockMS, h.Token} {
		head = binary.LittleEndian.AppendUint64(head, uint64(n))
	}
	head = binary.LittleEndian.AppendUint32(head, crc32.ChecksumIEEE(head))
	_, err := w.Write(head)
	return err
}

// readHead reads the result of writeHead.
func readHead(r *bufio.Reader) (h Head, err error) {
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(r, head); err != nil {
		return h, fmt.Errorf("a snapshot of the group: %w", err)
	}
	switch magic := string(head[:len(snapshotMagic)]); magic {
	case snapshotMagic, rulesMagic, movesMagic:
		h.Rules, h.Moves = magic != snapshotMagic, magic == movesMagic
	default:
		return h, fmt.Errorf("a snapshot of the group begins with %.40q: a newer lockserver wrote it", head)
	}
	numbers, sum := head[len(snapshotMagic):len(head)-4], head[len(head)-4:]
	if crc32.ChecksumIEEE(head[:len(head)-4]) != binary.LittleEndian.Uint32(sum) {
		return h, errors.New("a snapshot of the group is damaged at its beginning")
	}
	h.ClockMS, h.Token = int64(binary.LittleEndian.Uint64(numbers)), int64(binary.LittleEndian.Uint64(numbers[8:]))
	return h, nil
}
