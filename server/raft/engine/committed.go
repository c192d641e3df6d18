package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A log does not say which of its entries are committed. Recovery from a lost majority has to tell what may
// be missing. So a member writes down now and then up to which entry it knows the log to be committed. The
// file is not synced: what it says was true when it was written, and more may be true.

const (
	// committedFile has the number. Its format, do not change: the index with 20 digits, a space, the time in
	// milliseconds since 1970 with 13 digits, and a newline.
	committedFile   = "committed"
	committedFormat = "%020d %013d\n"
	// writeCommittedEvery is how often it is written at most.
	writeCommittedEvery = time.Second
)

// committed writes up to which entry the log is known to be committed.
type committed struct {
	path  string
	index uint64
	at    time.Time
}

// write writes an index if it has risen, unless it was written a moment ago. A failure is ignored: a full
// disk makes itself known elsewhere.
func (c *committed) write(index uint64, now time.Time) {
	if c == nil || index <= c.index || now.Sub(c.at) < writeCommittedEvery {
		return
	}
	c.at = now
	if writeCommitted(c.path, index, now) == nil {
		c.index = index
	}
}

// writeCommitted writes an index at a time.
func writeCommitted(path string, index uint64, now time.Time) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, committedFormat, index, now.UnixMilli())
	return errors.Join(err, f.Close())
}

// readCommitted reads what a member of a directory has written, and when; 0: nothing.
func readCommitted(dir string) (index uint64, at time.Time, err error) {
	text, err := os.ReadFile(filepath.Join(dir, committedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, at, nil
	}
	ms := int64(0)
	if err == nil {
		if _, bad := fmt.Sscanf(string(text), committedFormat, &index, &ms); bad != nil {
			return 0, at, nil // it was torn, and is worth nothing
		}
	}
	return index, time.UnixMilli(ms), err
}
