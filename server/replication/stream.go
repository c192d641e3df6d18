package replication

import (
	"cmp"
	"slices"
	"sync"
)

const (
	// blockBytes is the size of a piece of a stream.
	blockBytes = 64 << 10
	// spareBlocks is how many empty blocks a transfer keeps besides those that it may be ahead. A transfer
	// goes as fast as it can. Without these blocks it would leave garbage of its own size, and the collector
	// would work while clients wait.
	spareBlocks = 8
)

// stream is the newest part of a growing sequence of bytes, shared by all its readers. Each reader has its
// place; bytes that no reader needs are released. It has a lock of its own, which is held for moments only,
// so that a reader needs no lock of the server.
type stream struct {
	mu         sync.Mutex
	blocks     []block
	begin, end int64 // positions of the first byte that is kept, and behind the last
	keep       int64 // how many bytes are kept although no reader needs them
	readers    map[*reader]*Replica
	spare      [][]byte      // empty blocks
	mostSpare  int           // of them that are kept; 0: one
	moved      chan struct{} // signalled when a reader has moved on, or gone; nil: no goroutine waits
}

// block is a piece of a stream. Its written bytes never change while a reader is in it.
type block struct {
	at int64 // position of its first byte
	b  []byte
}

func (b block) end() int64 { return b.at + int64(len(b.b)) }

// reader is a place in a stream. Its fields are guarded by the stream's lock.
type reader struct {
	of   *stream
	next int64 // position of the next byte to read
	// peeked: the bytes that peek returned are in use. closed: the reader ends when they are not in use any
	// more, because until then they must not be overwritten.
	peeked, closed bool
}

// reset makes the stream an empty one that goes on at a position. Its readers find nothing any more.
func (s *stream) reset(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks, s.begin, s.end = nil, at, at
	clear(s.readers)
}

// setKeep says how many bytes are kept although no reader needs them.
func (s *stream) setKeep(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = bytes
	s.trim()
}

// append adds bytes, which are copied.
func (s *stream) append(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(b) > 0 {
		n := len(s.blocks)
		if n == 0 || len(s.blocks[n-1].b) == cap(s.blocks[n-1].b) {
			s.trim() // whole blocks are released: there is nothing to look for with each effect
			n = len(s.blocks)
			s.blocks = append(s.blocks, block{at: s.end, b: s.emptyBlock()})
			n++
		}
		last := &s.blocks[n-1]
		take := min(len(b), cap(last.b)-len(last.b))
		last.b = append(last.b, b[:take]...)
		b = b[take:]
		s.end += int64(take)
	}
}

// emptyBlock returns memory for a block.
func (s *stream) emptyBlock() []byte {
	last := len(s.spare) - 1
	if last < 0 {
		return make([]byte, 0, blockBytes)
	}
	b := s.spare[last]
	s.spare = s.spare[:last]
	return b
}

// trim releases blocks that no reader needs and that are not to be kept.
func (s *stream) trim() {
	needed := s.end
	for r := range s.readers {
		needed = min(needed, r.next)
	}
	gone := 0
	for gone < len(s.blocks) && s.blocks[gone].end() <= needed && s.end-s.blocks[gone].end() >= s.keep {
		if len(s.spare) < max(1, s.mostSpare) {
			s.spare = append(s.spare, s.blocks[gone].b[:0])
		}
		s.begin = s.blocks[gone].end()
		s.blocks[gone] = block{}
		gone++
	}
	s.blocks = s.blocks[gone:]
	if len(s.blocks) == 0 {
		s.blocks = nil
	}
}

// bounds are the positions of the first byte that is kept and behind the last.
func (s *stream) bounds() (begin, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begin, s.end
}

// held is how many bytes the stream takes.
func (s *stream) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (len(s.blocks) + len(s.spare)) * blockBytes
}

// read returns a reader at a position, for a replica; nil: what follows it is not there.
func (s *stream) read(at int64, of *Replica) *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at < s.begin || at > s.end {
		return nil
	}
	r := &reader{of: s, next: at}
	if s.readers == nil {
		s.readers = make(map[*reader]*Replica)
	}
	s.readers[r] = of
	return r
}

// slowest is how much the slowest reader has not read; any: there is one at all.
func (s *stream) slowest() (behind int64, any bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		if !r.closed {
			behind, any = max(behind, s.end-r.next), true
		}
	}
	return behind, any
}

// owners returns the replicas that read.
func (s *stream) owners() (all []*Replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r, of := range s.readers {
		if !r.closed {
			all = append(all, of)
		}
	}
	return all
}

// tell says that a reader has moved on, or gone. The caller holds mu.
func (s *stream) tell() {
	if s.moved != nil {
		select {
		case s.moved <- struct{}{}:
		default:
		}
	}
}

// peek returns the next bytes, at most so many; they stay as they are until the reader is moved on. None: it
// has read everything.
func (r *reader) peek(most int) []byte {
	s := r.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, still := s.readers[r]; !still || r.closed {
		return nil
	}
	i := len(s.blocks) - 1
	if i < 0 {
		return nil
	}
	if s.blocks[i].at > r.next { // a reader that keeps up reads the last one
		behind, _ := slices.BinarySearchFunc(s.blocks, r.next, func(b block, at int64) int { return cmp.Compare(b.at, at+1) })
		i = behind - 1
	}
	b := s.blocks[i]
	from := int(r.next - b.at)
	r.peeked = from < len(b.b)
	return b.b[from:min(len(b.b), from+most)]
}

// skip moves the reader on. What peek has returned must not be looked at any more.
func (r *reader) skip(n int) {
	s := r.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.peeked = false; r.closed {
		s.drop(r)
		return
	}
	before := r.next
	r.next += int64(n)
	if len(s.blocks) > 0 && before < s.blocks[0].end() && r.next >= s.blocks[0].end() {
		s.trim()
	}
	s.tell()
}

// place is the position of the next byte.
func (r *reader) place() int64 {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return r.next
}

// left is how many bytes are still to be read.
func (r *reader) left() int64 {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return r.of.end - r.next
}

// close ends the reader; the stream keeps nothing for it any more.
func (r *reader) close() {
	s := r.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.closed = true; !r.peeked {
		s.drop(r)
	}
	s.tell()
}

// drop forgets a reader. The caller holds mu.
func (s *stream) drop(r *reader) {
	delete(s.readers, r)
	s.trim()
}
