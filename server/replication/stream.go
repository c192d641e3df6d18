package replication

import (
	"cmp"
	"slices"
	"sync"
)

const (
	// blockBytes is the size of a piece of a stream.
	blockBytes = 64 << 10
	// spareBlocks is the number of empty blocks that a transfer keeps besides the blocks that it may be
	// ahead. A transfer is as fast as possible. Without these blocks it would make garbage of its own size,
	// and the garbage collector would run while clients wait.
	spareBlocks = 8
)

// stream is the newest part of a growing sequence of bytes, shared by all its readers. Each reader has its
// position; bytes that no reader needs are released. Its own lock is only held for moments, so that a reader
// needs no lock of the server.
type stream struct {
	mu         sync.Mutex
	blocks     []block
	begin, end int64 // positions of the first kept byte, and after the last
	keep       int64 // number of bytes that are kept although no reader needs them
	readers    map[*reader]*Replica
	spare      [][]byte      // empty blocks
	mostSpare  int           // limit of the blocks in spare; 0: one
	moved      chan struct{} // signalled when a reader has moved or closed; nil: no goroutine waits
}

// block is a piece of a stream. Written bytes do not change while a reader is in the block.
type block struct {
	at int64 // position of its first byte
	b  []byte
}

func (b block) end() int64 { return b.at + int64(len(b.b)) }

// reader is a position in a stream. Its fields are guarded by the stream's lock.
type reader struct {
	of   *stream
	next int64 // position of the next byte to read
	// peeked says that the bytes from peek are in use. closed says that the reader ends when they are not in
	// use any more, because until then they must not be overwritten.
	peeked, closed bool
}

// reset makes the stream empty, to continue at a position. Its readers find no more bytes.
func (s *stream) reset(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks, s.begin, s.end = nil, at, at
	clear(s.readers)
}

// setKeep sets the number of bytes that are kept although no reader needs them.
func (s *stream) setKeep(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = bytes
	s.trim()
}

// append adds a copy of the bytes.
func (s *stream) append(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(b) > 0 {
		n := len(s.blocks)
		if n == 0 || len(s.blocks[n-1].b) == cap(s.blocks[n-1].b) {
			s.trim() // whole blocks are released, so a look for each effect is not necessary
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

// trim releases blocks that no reader needs, except the bytes to keep.
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

// bounds returns the positions of the first kept byte and after the last.
func (s *stream) bounds() (begin, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begin, s.end
}

// held returns the memory of the stream.
func (s *stream) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (len(s.blocks) + len(s.spare)) * blockBytes
}

// read returns a reader at a position, for a replica; nil if the bytes from there on are not kept.
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

// slowest returns the number of bytes that the slowest reader has not read; any reports whether there is a
// reader.
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

// owners returns the replicas of the readers.
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

// tell signals that a reader has moved or closed. The caller holds mu.
func (s *stream) tell() {
	if s.moved != nil {
		select {
		case s.moved <- struct{}{}:
		default:
		}
	}
}

// peek returns the next bytes, at most most. They do not change until skip. It returns nil if the reader has
// read everything.
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
	if s.blocks[i].at > r.next { // a reader that keeps up reads the last block
		behind, _ := slices.BinarySearchFunc(s.blocks, r.next, func(b block, at int64) int { return cmp.Compare(b.at, at+1) })
		i = behind - 1
	}
	b := s.blocks[i]
	from := int(r.next - b.at)
	r.peeked = from < len(b.b)
	return b.b[from:min(len(b.b), from+most)]
}

// skip moves the reader forward. The bytes that peek has returned must not be used any more.
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

// place returns the position of the next byte.
func (r *reader) place() int64 {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return r.next
}

// left returns the number of unread bytes.
func (r *reader) left() int64 {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return r.of.end - r.next
}

// close ends the reader; the stream keeps no bytes for it any more.
func (r *reader) close() {
	s := r.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.closed = true; !r.peeked {
		s.drop(r)
	}
	s.tell()
}

// drop removes a reader. The caller holds mu.
func (s *stream) drop(r *reader) {
	delete(s.readers, r)
	s.trim()
}
