package raftlog

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/persistence/disk"
)

// ErrClosed is returned by a log that was closed.
var ErrClosed = errors.New("the log is closed")

const (
	// segmentBytes is how large a segment gets.
	segmentBytes = 64 << 20
	// allocateBytes is how much space is allocated ahead of the entries.
	allocateBytes = 4 << 20
)

// Log is a log and a stable store.
type Log struct {
	fs  disk.FS
	dir string
	id  uint64
	// SegmentBytes is how large a segment gets: another begins behind that. It must not change while entries
	// are stored.
	SegmentBytes int64
	onSync       func(took time.Duration) // nil: there is none

	valuesMu  sync.Mutex
	state     pair                              // under valuesMu
	values    map[string][]byte                 // under valuesMu
	published atomic.Pointer[map[string][]byte] // values, for readers

	writing sync.Mutex // held while entries are changed
	reached pair       // under writing
	tail    disk.File  // under writing; the last segment, for writing; nil: there is none
	synced  int64      // under writing; up to where the last segment is synced
	space   int64      // under writing; the last segment's size, with allocated space
	// broken: a write has failed. The last segment is cut back before the next one. Under writing.
	broken bool
	left   []string // under writing: files that are to be removed, in this order
	number uint64   // under writing; of the segment that was made last
	buf    []byte   // under writing

	mu       sync.RWMutex
	segments []*segment // under mu; changed by the holder of writing
	first    uint64     // under mu; the first entry that was not deleted; 0: there is none

	closed atomic.Bool
}

var _ hraft.MonotonicLogStore = (*Log)(nil)

// Open opens the log for writing. What is torn is cut off.
func (c *Scanned) Open() (l *Log, err error) {
	l = &Log{fs: c.fs, dir: c.dir, id: c.id, SegmentBytes: segmentBytes, state: c.state, reached: c.reached, values: c.Values, segments: c.segments, first: c.First}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if err := l.clear(); err != nil {
		return l, err
	}
	if c.New {
		if err := l.create(); err != nil {
			return l, err
		}
	}
	values := l.values
	l.published.Store(&values)
	if c.tornPath != "" {
		if err := errors.Join(c.fs.Remove(c.tornPath), c.fs.SyncDir(c.dir)); err != nil {
			return l, err
		}
	}
	for _, s := range l.segments {
		if s.read, err = l.fs.Open(s.path); err != nil {
			return l, err
		}
		l.number = s.number
	}
	if len(l.segments) == 0 {
		return l, l.putAnew()
	}
	last := l.segments[len(l.segments)-1]
	if l.tail, err = l.fs.Append(last.path); err != nil {
		return l, err
	}
	l.synced = last.end()
	return l, l.writeAnew(last, c)
}

// OnSync has f called with how long each sync of entries took. It is to be called before entries are stored.
func (l *Log) OnSync(f func(took time.Duration)) { l.onSync = f }

// clear removes files that were being made.
func (l *Log) clear() error {
	names, err := l.fs.List(l.dir)
	for _, name := range names {
		if strings.HasSuffix(name, newSuffix) {
			err = errors.Join(err, l.fs.Remove(filepath.Join(l.dir, name)))
		}
	}
	return err
}

// create makes the files of a new log.
func (l *Log) create() error {
	var id [8]byte
	_, _ = rand.Read(id[:])
	l.id = binary.LittleEndian.Uint64(id[:])
	l.values = map[string][]byte{}
	l.state.id, l.reached.id = l.id, l.id
	l.state.number, l.reached.number = 0, 0
	if err := l.reached.create(make([]byte, 8)); err != nil {
		return err
	}
	return l.state.create(nil)
}

// writeAnew makes sure that what can be read of the last segment is on the disk: the process before may have
// had a sync that failed. What was torn is cut off.
func (l *Log) writeAnew(s *segment, c *Scanned) error {
	from, end := c.unsynced, s.end()
	if c.Reached >= s.base && c.Reached <= s.last() {
		from = max(from, s.endOf(int(c.Reached-s.base)+1))
	}
	size, err := l.tail.Size()
	if err != nil {
		return err
	}
	if l.space = size; c.Torn != nil {
		l.space = end
		if err := l.tail.Truncate(end); err != nil {
			return err
		}
	}
	b := make([]byte, end-from)
	if len(b) > 0 {
		if _, err := s.read.ReadAt(b, from); err != nil {
			return err
		}
		if _, err := l.tail.WriteAt(b, from); err != nil {
			return err
		}
	}
	if err := errors.Join(l.tail.Sync(), l.fs.SyncDir(l.dir)); err != nil {
		return fmt.Errorf("%s cannot be written anew: %w", s.path, err)
	}
	return l.putAnew()
}

// putAnew makes sure that what was read of state and reached is on the disk.
func (l *Log) putAnew() error {
	return errors.Join(l.reached.putBoth(binary.LittleEndian.AppendUint64(nil, l.last())), l.state.putBoth(encodeValues(l.values)))
}

// Close closes the files.
func (l *Log) Close() (err error) {
	l.closed.Store(true)
	l.writing.Lock()
	defer l.writing.Unlock()
	l.valuesMu.Lock()
	defer l.valuesMu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		if s.read != nil {
			err = errors.Join(err, s.read.Close())
			s.read = nil
		}
	}
	if l.tail != nil {
		err = errors.Join(err, l.tail.Close())
		l.tail = nil
	}
	return errors.Join(err, l.reached.close(), l.state.close())
}

// IsMonotonic implements hraft.MonotonicLogStore: entries follow each other.
func (l *Log) IsMonotonic() bool { return true }

// FirstIndex implements hraft.LogStore.
func (l *Log) FirstIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.first, nil
}

// LastIndex implements hraft.LogStore.
func (l *Log) LastIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.last(), nil
}

// last is the last entry; 0: there is none. Under mu or writing.
func (l *Log) last() uint64 {
	if l.first == 0 {
		return 0
	}
	return l.segments[len(l.segments)-1].last()
}

// GetLog implements hraft.LogStore. The entry is verified: the error may be a *Damage.
func (l *Log) GetLog(index uint64, to *hraft.Log) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.first == 0 || index < l.first || index > l.last() {
		return hraft.ErrLogNotFound
	}
	if l.closed.Load() {
		return ErrClosed
	}
	s := l.segments[sort.Search(len(l.segments), func(i int) bool { return l.segments[i].base > index })-1]
	n := int(index - s.base)
	at := s.endOf(n)
	b := make([]byte, s.endOf(n+1)-at)
	if got, err := s.read.ReadAt(b, at); err != nil && got < len(b) {
		size, bad := s.read.Size()
		if bad == nil && size < at+int64(len(b)) {
			return &Damage{File: s.path, At: at, Why: fmt.Sprintf("it ends before the entry %d does", index)}
		}
		return unreadable(s.path, at, fmt.Errorf("the entry %d: %w", index, err))
	}
	var is record
	if !is.decode(b, s.seed, at) || is.sum != s.sums[n] || is.bytes() != int64(len(b)) || checksum(b[recordBytes:]) != is.body {
		return &Damage{File: s.path, At: at, Why: fmt.Sprintf("the checksum of the entry %d is wrong", index)}
	}
	is.entry(b[recordBytes:][:is.data:is.data], to)
	return nil
}

// StoreLog implements hraft.LogStore.
func (l *Log) StoreLog(e *hraft.Log) error { return l.StoreLogs([]*hraft.Log{e}) }

// StoreLogs implements hraft.LogStore. Entries follow the last one; to an empty log any may be added. After
// an error none is stored.
func (l *Log) StoreLogs(all []*hraft.Log) error {
	if len(all) == 0 {
		return nil
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.mend(); err != nil {
		return err
	}
	next := all[0].Index
	if last := l.last(); last > 0 {
		next = last + 1
	}
	bytes := int64(0)
	for i, e := range all {
		if err := storable(e, next+uint64(i)); err != nil {
			return err
		}
		bytes += recordBytes + int64(padded(uint32(len(e.Data))))
	}
	s, err := l.segmentFor(next, bytes)
	if err != nil {
		return err
	}
	ends, sums, prev, at := make([]uint32, len(all)), make([]uint32, len(all)), s.sumOf(len(s.ends)), s.end()
	l.buf = l.buf[:0]
	for i, e := range all {
		l.buf, prev = appendRecord(l.buf, e, s.seed, uint32(at)+uint32(len(l.buf)), uint32(l.synced), prev)
		ends[i], sums[i] = uint32(at)+uint32(len(l.buf)), prev
	}
	l.broken = true
	if need := at + int64(len(l.buf)); need > l.space {
		l.space = min(need+allocateBytes, max(need, l.SegmentBytes))
		_ = l.tail.Allocate(l.space) // it is only slower without
	}
	if _, err := l.tail.WriteAt(l.buf, at); err != nil {
		return err
	}
	begun := time.Now()
	if err := l.tail.Sync(); err != nil {
		return err
	}
	if l.onSync != nil {
		l.onSync(time.Since(begun))
	}
	last := all[len(all)-1]
	if err := l.reached.put(binary.LittleEndian.AppendUint64(nil, last.Index)); err != nil {
		return err
	}
	l.broken, l.synced = false, at+int64(len(l.buf))
	if cap(l.buf) > readBytes {
		l.buf = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.ends, s.sums, s.term = append(s.ends, ends...), append(s.sums, sums...), last.Term
	if l.first == 0 {
		l.first = next
	}
	return nil
}

// mend does what is left over from a write that failed, or from a deletion. Under writing.
func (l *Log) mend() error {
	if l.closed.Load() {
		return ErrClosed
	}
	if l.broken {
		if err := l.reached.putBoth(binary.LittleEndian.AppendUint64(nil, l.last())); err != nil {
			return err
		}
	}
	for len(l.left) > 0 {
		if err := l.fs.Remove(l.left[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := l.fs.SyncDir(l.dir); err != nil {
			return err
		}
		l.left = l.left[1:]
	}
	if n := len(l.segments); l.broken && n > 0 {
		if err := l.cutTail(l.segments[n-1]); err != nil {
			return err
		}
	}
	l.broken = false
	return nil
}

// cutTail cuts off what is behind the last entry. Under writing.
func (l *Log) cutTail(s *segment) (err error) {
	if l.tail == nil {
		if l.tail, err = l.fs.Append(s.path); err != nil {
			l.tail = nil
			return err
		}
	}
	if err := l.tail.Truncate(s.end()); err != nil {
		return err
	}
	if err := l.tail.Sync(); err != nil {
		return err
	}
	l.synced, l.space = s.end(), s.end()
	return nil
}

func (l *Log) path(number uint64) string {
	return filepath.Join(l.dir, fmt.Sprintf(nameFormat, number))
}

// segmentFor returns the segment to which entries are written. Under writing.
func (l *Log) segmentFor(index uint64, bytes int64) (*segment, error) {
	prev, number := uint32(0), l.number+1
	if n := len(l.segments); n > 0 {
		s := l.segments[n-1]
		switch fits := s.end()+bytes <= mostBytes; {
		case len(s.ends) == 0 && s.base != index: // its first entries could not be written
			l.drop(n - 1)
			if err := l.mend(); err != nil {
				return nil, err
			}
			return l.segmentFor(index, bytes)
		case s.end() < l.SegmentBytes && fits:
			return s, nil
		}
		prev, number = s.sumOf(len(s.ends)), s.number+1
	}
	if headBytes+bytes > mostBytes {
		return nil, fmt.Errorf("%d bytes of entries at once are too many", bytes)
	}
	s := &segment{path: l.path(number), number: number, base: index, seed: seedOf(l.id, number)}
	b := encodeHead(l.id, number, index, prev)
	s.start = binary.LittleEndian.Uint32(b[headBytes-4:])
	l.left = append(l.left, s.path) // unless all goes well
	f, err := l.fs.Create(s.path)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = l.fs.SyncDir(l.dir)
	}
	if err == nil {
		s.read, err = l.fs.Open(s.path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if l.tail != nil { // all entries in it are synced, and zeros behind them do no harm
		_ = l.tail.Truncate(l.segments[len(l.segments)-1].end())
		_ = l.tail.Close()
	}
	l.left, l.tail, l.number, l.synced, l.space = nil, f, number, headBytes, headBytes
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = append(l.segments, s)
	return s, nil
}

// DeleteRange implements hraft.LogStore. The entries are at the beginning of the log or at its end. After an
// error some of them may be deleted, and LastIndex says which are left.
func (l *Log) DeleteRange(from, to uint64) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.mend(); err != nil {
		return err
	}
	first, last := l.first, l.last()
	switch {
	case first == 0 || to < first || from > last || from > to:
		return nil
	case from > first && to < last:
		return fmt.Errorf("the entries %d to %d are in the middle of the log", from, to)
	case to >= last:
		return l.cutEnd(max(from, first))
	}
	return l.cutBegin(to + 1)
}

// cutBegin deletes the segments that have only entries before an index. Under writing.
func (l *Log) cutBegin(first uint64) error {
	l.mu.Lock()
	l.first = first
	l.mu.Unlock()
	for len(l.segments) > 1 && l.segments[1].base <= first {
		l.drop(0)
	}
	return l.mend()
}

// cutEnd deletes the entries from an index on. Under writing.
func (l *Log) cutEnd(from uint64) error {
	to := from - 1
	if from <= l.first {
		to = 0
	}
	for n := len(l.segments); n > 0 && (to == 0 || l.segments[n-1].base > to); n-- {
		l.drop(n - 1)
	}
	l.broken = true
	l.mu.Lock()
	if to == 0 {
		l.first = 0
	} else {
		s := l.segments[len(l.segments)-1]
		n := to - s.base + 1
		s.ends, s.sums = s.ends[:n], s.sums[:n]
	}
	l.mu.Unlock()
	return l.mend()
}

// drop takes the first or the last segment away, and has mend remove it. Under writing.
func (l *Log) drop(i int) {
	s := l.segments[i]
	l.mu.Lock()
	defer l.mu.Unlock()
	if i == len(l.segments)-1 {
		l.segments = l.segments[:i]
		if l.tail != nil {
			_ = l.tail.Close() // nothing of it is kept
			l.tail = nil
		}
	} else {
		l.segments = l.segments[1:]
	}
	_ = s.read.Close()
	l.left = append(l.left, s.path)
}
