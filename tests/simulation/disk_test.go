//go:build simulation

package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// disk is the storage of a member: its log, its votes and terms, and its snapshots. Acknowledged writes stay.
// A write that a crash interrupts has happened or not, as the seed decides. The same holds for a failed
// write, if nothing was written since: the next start of the member may find it.
type disk struct {
	chance *chance

	mu        sync.Mutex
	logs      map[uint64]*hraft.Log
	low, high uint64
	kept      map[string][]byte
	numbers   map[string]uint64
	snapshots []*image // the oldest first

	slowMS int64 // additional time of a write
	full   bool  // nothing more can be written
	breaks int   // one in this many writes fails; 0 means none
	writes int   // number of successful writes
	failed int   // number of failed writes
}

// image is a snapshot.
type image struct {
	meta hraft.SnapshotMeta
	data []byte
}

func newDisk(c *chance) *disk {
	return &disk{chance: c, logs: map[uint64]*hraft.Log{}, kept: map[string][]byte{}, numbers: map[string]uint64{}}
}

// set changes the state of the disk, but not breaks.
func (d *disk) set(full bool, slowMS int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full, d.slowMS, d.breaks = full, slowMS, 0
}

// fail makes one in the given number of writes fail.
func (d *disk) fail(oneIn int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.breaks = oneIn
}

// mount is a disk during one life of a member.
type mount struct {
	*disk
	dead    bool // guarded by mu: the member has crashed
	pending []*change
	unsure  []*change // failed writes after which nothing was written
}

// change is a write that is not done yet.
type change struct{ do func() }

var (
	errDead = errors.New("this member has crashed")
	errFull = errors.New("no space left on device")
	errIO   = errors.New("input/output error")
)

var (
	_ hraft.LogStore          = (*mount)(nil)
	_ hraft.MonotonicLogStore = (*mount)(nil)
	_ hraft.StableStore       = (*mount)(nil)
	_ hraft.SnapshotStore     = (*mount)(nil)
)

// crash ends the access of a member's life to its disk.
func (m *mount) crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	for _, c := range slices.Concat(m.unsure, m.pending) {
		if m.chance.oneIn(2) {
			c.do()
		}
	}
	m.pending, m.unsure = nil, nil
}

// write makes a change, which takes time.
func (m *mount) write(do func()) error {
	m.mu.Lock()
	if err := m.refuses(); err != nil {
		m.mu.Unlock()
		return err
	}
	c := &change{do}
	m.pending = append(m.pending, c)
	slow := m.slowMS
	m.mu.Unlock()
	d := m.chance.between(50*time.Microsecond, time.Millisecond)
	if slow > 0 {
		d += m.chance.between(0, time.Duration(slow)*time.Millisecond)
	}
	time.Sleep(d)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	m.pending = slices.DeleteFunc(m.pending, func(o *change) bool { return o == c })
	if m.breaks > 0 && m.chance.oneIn(m.breaks) {
		m.failed++
		m.unsure = []*change{c}
		return errIO
	}
	do()
	m.writes++
	m.unsure = nil
	return nil
}

// refuses returns the reason why nothing can be written, or nil.
func (m *mount) refuses() error {
	switch {
	case m.dead:
		return errDead
	case m.full:
		return errFull
	}
	return nil
}

// FirstIndex implements hraft.LogStore, as do the methods below.
func (m *mount) FirstIndex() (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.low, nil
}

func (m *mount) LastIndex() (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.high, nil
}

func (m *mount) GetLog(index uint64, to *hraft.Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.logs[index]
	if !ok {
		return hraft.ErrLogNotFound
	}
	*to = *copiedLog(l)
	return nil
}

func (m *mount) IsMonotonic() bool { return true }

func (m *mount) StoreLog(l *hraft.Log) error { return m.StoreLogs([]*hraft.Log{l}) }

func (m *mount) StoreLogs(logs []*hraft.Log) error {
	var all []*hraft.Log
	for _, l := range logs {
		all = append(all, copiedLog(l))
	}
	if last, _ := m.LastIndex(); last > 0 && all[0].Index != last+1 {
		return fmt.Errorf("entry %d behind entry %d", all[0].Index, last)
	}
	return m.write(func() {
		for _, l := range all {
			m.logs[l.Index] = l
			if m.low == 0 {
				m.low = l.Index
			}
			m.high = max(m.high, l.Index)
		}
	})
}

func (m *mount) DeleteRange(from, to uint64) error {
	return m.write(func() {
		for i := max(from, m.low); i <= min(to, m.high); i++ {
			delete(m.logs, i)
		}
		switch {
		case from <= m.low && to >= m.high:
			m.low, m.high = 0, 0
		case from <= m.low:
			m.low = max(m.low, to+1)
		case to >= m.high:
			m.high = min(m.high, from-1)
		}
	})
}

// Set implements hraft.StableStore, as do the methods below.
func (m *mount) Set(key, val []byte) error {
	name, val := string(key), slices.Clone(val)
	return m.write(func() { m.kept[name] = val })
}

func (m *mount) Get(key []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.kept[string(key)]), nil
}

func (m *mount) SetUint64(key []byte, val uint64) error {
	name := string(key)
	return m.write(func() { m.numbers[name] = val })
}

func (m *mount) GetUint64(key []byte) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.numbers[string(key)], nil
}

// keptImages is the number of newest snapshots that are kept; the second one exists while a new one is
// written.
const keptImages = 2

// sink is a snapshot that is being written. It implements hraft.SnapshotSink.
type sink struct {
	to     *mount
	image  image
	closed bool
}

// Create implements hraft.SnapshotStore, as do the methods below.
func (m *mount) Create(version hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, _ hraft.Transport) (hraft.SnapshotSink, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.refuses(); err != nil {
		return nil, err
	}
	return &sink{to: m, image: image{meta: hraft.SnapshotMeta{Version: version, ID: fmt.Sprintf("%d-%d-%d", term, index, m.writes), Index: index,
		Term: term, Configuration: c, ConfigurationIndex: at}}}, nil
}

func (m *mount) List() (all []*hraft.SnapshotMeta, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range slices.Backward(m.snapshots) {
		meta := i.meta
		all = append(all, &meta)
	}
	return all, nil
}

func (m *mount) Open(id string) (*hraft.SnapshotMeta, io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range m.snapshots {
		if i.meta.ID == id {
			meta := i.meta
			return &meta, io.NopCloser(bytes.NewReader(i.data)), nil
		}
	}
	return nil, nil, fmt.Errorf("no snapshot is called %s", id)
}

func (s *sink) ID() string    { return s.image.meta.ID }
func (s *sink) Cancel() error { return nil }

func (s *sink) Write(b []byte) (int, error) {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	if err := s.to.refuses(); err != nil {
		return 0, err
	}
	s.image.data = append(s.image.data, b...)
	return len(b), nil
}

func (s *sink) Close() error {
	if s.closed { // the machine closes it, and the library again
		return nil
	}
	s.closed = true
	s.image.meta.Size = int64(len(s.image.data))
	return s.to.write(func() {
		s.to.snapshots = append(s.to.snapshots, &s.image)
		slices.SortStableFunc(s.to.snapshots, func(a, b *image) int {
			if a.meta.Term != b.meta.Term {
				return int(int64(a.meta.Term) - int64(b.meta.Term))
			}
			return int(int64(a.meta.Index) - int64(b.meta.Index))
		})
		s.to.snapshots = s.to.snapshots[max(0, len(s.to.snapshots)-keptImages):]
	})
}
