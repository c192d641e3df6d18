package raftlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	hraft "github.com/hashicorp/raft"

	"lockserver/persistence/disk"
)

// The names of the files, do not change.
const (
	stateFile   = "state"
	reachedFile = "reached"
	suffix      = ".log"
	nameFormat  = "%016d" + suffix
	newSuffix   = ".new"

	// The sizes of the two places in state and reached. Format, do not change.
	stateBytes   = 16 << 10
	reachedBytes = 512
)

const (
	// readBytes is how much of a segment is read at once.
	readBytes = 1 << 20
	// mostBytes is the most data that an entry has, and the most bytes that a segment has.
	mostBytes = math.MaxUint32 - 1<<20
)

// Facts are what was found in a directory.
type Facts struct {
	// New: there is no log yet.
	New bool
	// First and Last are the first and the last entry, and Term is the last one's. 0: there is no entry.
	First, Last, Term uint64
	// Reached is the last entry that was synced for certain; there may be more.
	Reached uint64
	// Torn is a write at the end that was not finished, and that Open cuts off; nil: there is none.
	Torn *Damage
	// Segments is how many files have entries.
	Segments int
	// Values are those of the stable store.
	Values map[string][]byte
}

// Uint64 is a number of the stable store; 0: it has none.
func (f *Facts) Uint64(key []byte) uint64 {
	if is := f.Values[string(key)]; len(is) == 8 {
		return binary.LittleEndian.Uint64(is)
	}
	return 0
}

// Scanned is a directory that was read and verified.
type Scanned struct {
	Facts
	fs       disk.FS
	dir      string
	state    pair
	reached  pair
	segments []*segment
	id       uint64
	// torn is where the last file has its last whole record, and unsynced from where on it may not be on the
	// disk. 0: not even its head is whole.
	torn, unsynced int64
	tornPath       string // the last file, if it has no head
}

// segment is a file of entries.
type segment struct {
	path   string
	number uint64
	base   uint64   // index of the first entry
	seed   uint32   // begins the checksums
	start  uint32   // checksum of the head
	ends   []uint32 // where the record of each entry ends
	sums   []uint32 // checksum of each record
	term   uint64   // the last entry's
	first  uint64   // the first entry's term
	read   disk.File
}

// last is the index of the last entry; base-1: there is none.
func (s *segment) last() uint64 { return s.base + uint64(len(s.ends)) - 1 }

// end is where the last record ends.
func (s *segment) end() int64 { return s.endOf(len(s.ends)) }

// endOf is where the first n records end.
func (s *segment) endOf(n int) int64 {
	if n == 0 {
		return headBytes
	}
	return int64(s.ends[n-1])
}

// sumOf is the checksum of the last of the first n records.
func (s *segment) sumOf(n int) uint32 {
	if n == 0 {
		return s.start
	}
	return s.sums[n-1]
}

// Scan reads and verifies a directory, which must exist, and changes nothing. The error is a *Damage if files
// are not what was written. visit is called with each entry, in their order; nil: it is not.
func Scan(in disk.FS, dir string, visit func(l *hraft.Log) error) (*Scanned, error) {
	c := &Scanned{fs: in, dir: dir, state: pair{fs: in, path: filepath.Join(dir, stateFile), size: stateBytes},
		reached: pair{fs: in, path: filepath.Join(dir, reachedFile), size: reachedBytes}}
	numbers, err := c.list()
	if err != nil {
		return nil, err
	}
	if err := c.readState(len(numbers) > 0); err != nil {
		return nil, err
	}
	found, err := c.readSegments(numbers, visit)
	if err != nil {
		return nil, err
	}
	return c, c.join(found)
}

// list returns the numbers of the segments, in their order.
func (c *Scanned) list() (numbers []uint64, err error) {
	names, err := c.fs.List(c.dir)
	for _, name := range names {
		if !strings.HasSuffix(name, suffix) {
			continue
		}
		var n uint64
		if _, err := fmt.Sscanf(name, nameFormat, &n); err != nil || name != fmt.Sprintf(nameFormat, n) {
			return nil, &Damage{File: filepath.Join(c.dir, name), At: -1, Why: "it has not the name of a segment"}
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers, err
}

// readState reads state and reached.
func (c *Scanned) readState(segments bool) error {
	reached, err := c.reached.read()
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	switch {
	case len(reached) == 8:
		c.Reached = binary.LittleEndian.Uint64(reached)
	case !missing:
		return &Damage{File: c.reached.path, At: 0, Why: "it is another file"}
	}
	state, err := c.state.read()
	switch {
	case errors.Is(err, fs.ErrNotExist) && (segments || c.Reached > 0):
		return &Damage{File: c.state.path, At: -1, Why: "it is missing, and it has this member's votes"}
	case errors.Is(err, fs.ErrNotExist):
		c.New = true
		return nil
	case err != nil:
		return err
	case missing:
		return &Damage{File: c.reached.path, At: -1, Why: "it is missing"}
	case c.reached.id != c.state.id:
		return &Damage{File: c.reached.path, At: 0, Why: "it is another log's"}
	}
	c.id = c.state.id
	c.Values, err = decodeValues(state)
	if err != nil {
		return &Damage{File: c.state.path, At: 0, Why: err.Error()}
	}
	return nil
}

// readSegment is a segment that was read, up to a record that is not whole.
type readSegment struct {
	segment
	head   head
	whole  bool  // it has a head
	size   int64 // of the file
	end    int64 // of the last whole record
	synced int64 // the most that a record says was synced
	empty  bool  // all behind end is zeros
	why    string
}

// readSegments reads segments, some at once unless entries are to be visited in their order.
func (c *Scanned) readSegments(numbers []uint64, visit func(l *hraft.Log) error) ([]*readSegment, error) {
	found, errs := make([]*readSegment, len(numbers)), make([]error, len(numbers))
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	if visit != nil {
		free = make(chan struct{}, 1)
	}
	var all sync.WaitGroup
	for i, n := range numbers {
		free <- struct{}{}
		all.Go(func() {
			found[i], errs[i] = c.readSegment(n, visit)
			<-free
		})
	}
	all.Wait()
	return found, errors.Join(errs...)
}

// readSegment reads a segment.
func (c *Scanned) readSegment(number uint64, visit func(l *hraft.Log) error) (r *readSegment, err error) {
	r = &readSegment{segment: segment{path: filepath.Join(c.dir, fmt.Sprintf(nameFormat, number)), number: number, seed: seedOf(c.id, number)}}
	f, err := c.fs.Open(r.path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if r.size, err = f.Size(); err != nil {
		return r, err
	}
	w := window{path: r.path, file: f, size: r.size}
	b, err := w.at(0, headBytes)
	if err != nil {
		return r, err
	}
	if r.head, r.whole = decodeHead(b); !r.whole {
		r.why = "its head is not whole"
		return r, nil
	}
	r.base, r.start, r.end = r.head.base, r.head.sum, headBytes
	prev := r.start
	for r.end < r.size {
		var is record
		if is, b, r.why, err = r.next(&w, prev); err == nil && r.why != "" {
			err = r.endsHere(&w)
		}
		if err != nil || r.why != "" || r.empty {
			return r, err
		}
		if visit != nil {
			var l hraft.Log
			is.entry(slices.Clone(b[:is.data]), &l)
			if err := visit(&l); err != nil {
				return r, err
			}
		}
		if len(r.ends) == 0 {
			r.first = is.term
		}
		r.end += is.bytes()
		r.ends, r.sums = append(r.ends, uint32(r.end)), append(r.sums, is.sum)
		r.synced, r.term, prev = max(r.synced, int64(is.synced)), is.term, is.sum
	}
	return r, nil
}

// endsHere looks whether nothing but zeros follows: space that was allocated.
func (r *readSegment) endsHere(w *window) error {
	for at := r.end; at < r.size; {
		b, err := w.at(at, min(int64(len(zeros)), r.size-at))
		if err != nil {
			return err
		}
		if !bytes.Equal(b, zeros[:len(b)]) {
			return nil
		}
		at += int64(len(b))
	}
	r.empty, r.why = true, ""
	return nil
}

var zeros = make([]byte, 64<<10)

// next reads and verifies the record behind those that were read.
func (r *readSegment) next(w *window, prev uint32) (is record, body []byte, why string, err error) {
	b, err := w.at(r.end, recordBytes)
	if err != nil {
		return is, nil, "", err
	}
	if !is.decode(b, r.seed, r.end) {
		return is, nil, "there is no whole entry", nil
	}
	body, err = w.at(r.end+recordBytes, int64(padded(is.data)))
	switch {
	case err != nil:
		return is, nil, "", err
	case int64(len(body)) < int64(padded(is.data)):
		return is, nil, "an entry has no end", nil
	case checksum(body) != is.body:
		return is, nil, "the checksum of an entry is wrong", nil
	case is.prev != prev || is.index != r.base+uint64(len(r.ends)) || is.term < r.term:
		return is, nil, fmt.Sprintf("at the place of the entry %d is %d, with the term %d behind %d", r.base+uint64(len(r.ends)), is.index, is.term, r.term), nil
	}
	return is, body, "", nil
}

// saysSynced reports whether a record behind the place where a segment breaks off says that it was synced
// there.
func (c *Scanned) saysSynced(r *readSegment) (bool, error) {
	f, err := c.fs.Open(r.path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	w := window{path: r.path, file: f, size: r.size}
	for at := (r.end + align) / align * align; at+recordBytes <= r.size; at += align {
		b, err := w.at(at, recordBytes)
		if err != nil {
			return false, err
		}
		var is record
		if is.decode(b, r.seed, at) && int64(is.synced) > r.end {
			return true, nil
		}
	}
	return false, nil
}

// join verifies that segments follow each other, and that the last one reaches what was synced.
func (c *Scanned) join(found []*readSegment) error {
	for i, r := range found {
		last := i == len(found)-1
		damage := func(at int64, why string) error { return &Damage{File: r.path, At: at, Why: why} }
		switch {
		case !r.whole && (!last || c.Reached > c.Last):
			return damage(0, r.why)
		case !r.whole: // it was being made
			c.Torn = &Damage{File: r.path, At: 0, Why: r.why}
			c.tornPath = r.path
			continue
		case r.head.id != c.id:
			return damage(0, "it is another log's")
		case r.head.number != r.number:
			return damage(0, fmt.Sprintf("it is the segment %d by its name, and %d by its content", r.number, r.head.number))
		}
		if i > 0 {
			before := found[i-1]
			switch {
			case r.number != before.number+1:
				return damage(-1, fmt.Sprintf("the segment before it is %d: segments are missing", before.number))
			case r.base != before.last()+1 || r.head.prev != before.sumOf(len(before.ends)):
				return damage(0, fmt.Sprintf("it begins with the entry %d, and the file before it ends with %d", r.base, before.last()))
			case len(r.ends) > 0 && r.first < c.Term:
				return damage(headBytes, fmt.Sprintf("it begins with the term %d, behind %d", r.first, c.Term))
			}
		}
		if len(r.ends) > 0 {
			if c.First == 0 {
				c.First = r.base
			}
			c.Last, c.Term = r.last(), r.term
			c.Segments++
		}
		if r.why == "" {
			c.segments = append(c.segments, &r.segment)
			c.torn, c.unsynced = r.end, max(r.synced, 0)
			continue
		}
		if !last || c.Reached > r.last() {
			return damage(r.end, r.why)
		}
		synced, err := c.saysSynced(r)
		if err != nil {
			return err
		}
		if synced {
			return damage(r.end, r.why)
		}
		c.Torn = &Damage{File: r.path, At: r.end, Why: r.why}
		c.segments = append(c.segments, &r.segment)
		c.torn, c.unsynced = r.end, r.synced
	}
	if c.Reached > c.Last {
		at := c.dir
		if len(found) > 0 {
			at = found[len(found)-1].path
		}
		return &Damage{File: at, At: -1, Why: fmt.Sprintf("the log ends with the entry %d, and %d was acknowledged: entries are lost", c.Last, c.Reached)}
	}
	return nil
}

// window reads a file in large pieces.
type window struct {
	path string
	file disk.File
	size int64
	buf  []byte
	from int64 // of buf
}

// at returns n bytes from an offset on, or fewer at the end of the file. They are valid until the next call.
func (w *window) at(from, n int64) ([]byte, error) {
	n = min(n, w.size-from)
	if n <= 0 {
		return nil, nil
	}
	if from < w.from || from+n > w.from+int64(len(w.buf)) {
		want := min(max(n, readBytes), w.size-from)
		if int64(cap(w.buf)) < want {
			w.buf = make([]byte, want)
		}
		w.buf, w.from = w.buf[:want], from
		got, err := w.file.ReadAt(w.buf, from)
		if err != nil && !(errors.Is(err, io.EOF) && int64(got) == want) {
			return nil, unreadable(w.path, from, err)
		}
	}
	return w.buf[from-w.from:][:n], nil
}
