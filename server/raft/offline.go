package raft

import (
	"bufio"
	"io"

	"lockserver/persistence/aof"
)

// Head is the part of a snapshot before its data.
type Head struct {
	ClockMS int64 // the group's time, in milliseconds since 1970; 0: there was none
	Token   int64 // no fencing token was above it
	// Rules: there have been delayed entries that recur, so that older versions must not read the snapshot.
	Rules bool
	// Moves: slots have moved to another group or from it. Versions that know moves know rules, too, so Rules
	// is true when such a head was read.
	Moves bool
}

// WriteHead writes the part of a snapshot before the RDB file. No slots arrive.
func WriteHead(w io.Writer, h Head) error {
	err := writeHead(w, h)
	if err == nil && h.Moves {
		err = savedStagings(nil).write(w) // none
	}
	return err
}

// ReadHead reads the part of a snapshot before the RDB file, without slots that arrive. Later bytes stay in
// r.
func ReadHead(r *bufio.Reader) (h Head, err error) {
	h, err = readHead(r)
	if err == nil && h.Moves {
		_, err = readStagings(r, nil)
	}
	return h, err
}

// CheckSnapshot verifies a snapshot of a group: its head, and all of the RDB file.
func CheckSnapshot(r io.Reader) (h Head, data *aof.CheckedSnapshot, err error) {
	from := bufio.NewReader(r)
	if h, err = ReadHead(from); err == nil {
		data, err = aof.CheckSnapshot(from)
	}
	return h, data, err
}

// EntryInfo describes an entry of the log.
type EntryInfo struct {
	ClockMS, Token int64
	Bytes          int
	// Mark says that the entry has no effects: members compare their data there.
	Mark bool

	after, end place
}

// ReadEntry reads an entry of the log. The error says why a member would stop at it.
func ReadEntry(b []byte) (EntryInfo, error) {
	e, err := parseEntry(b)
	if err != nil {
		return EntryInfo{}, err
	}
	_, mark := e.marks()
	return EntryInfo{ClockMS: e.clockMS, Token: e.token, Bytes: len(e.bytes), Mark: mark, after: e.after, end: e.end()}, nil
}

// Chain checks that entries follow each other, as members do.
type Chain struct {
	at    place
	known bool
	// Void counts entries that begin at another place than the last one ended. They have no effect on any
	// member.
	Void int
}

// StartAt begins at the place of a snapshot.
func (c *Chain) StartAt(historyID string, offset int64) {
	c.at, c.known = place{historyID, offset}, true
}

// Take takes the next entry. Without a snapshot, the first entry sets the place.
func (c *Chain) Take(e EntryInfo) {
	switch {
	case e.Mark:
	case c.known && e.after != c.at:
		c.Void++
	default:
		c.at, c.known = e.end, true
	}
}
