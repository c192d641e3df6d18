package slotdata

import (
	"errors"
	"sync"

	"lockserver/store"
)

const (
	// mostReady is the number of bytes of pieces that wait to be taken. Piece waits then.
	mostReady = 1 << 20
	// mostLater bounds the bytes of units that wait until all pieces are sent, or until they are taken.
	mostLater = 256 << 20
)

// ErrEnded is returned by Source.Piece after End.
var ErrEnded = errors.New("the cut is not sent any more")

// Source makes the stream of bytes that a target's Staging takes: the pieces of a cut, and the units after
// it. It is a journal (durability.Journal), from the moment of the cut on. Other goroutines add the pieces
// and take the bytes meanwhile.
type Source struct {
	stream  *Stream
	changed changedKeys // under the executor, as Append

	mu    sync.Mutex
	space sync.Cond
	ready []byte // frames that Take returns
	sum   Sum    // of all frames that were in ready
	// later has the frames of units while pieces are missing. size is the size of all frames that wait.
	later  []laterFrame
	size   int
	whole  bool // all pieces were added
	ended  bool
	broken bool
}

// laterFrame is a frame, and what is added to the sum for it.
type laterFrame struct {
	kind         byte
	bytes, added []byte
}

// NewSource returns a source for a cut that is made in the same unit. value is that of NewStream.
func NewSource(slots *Slots, value Value) *Source {
	s := &Source{}
	s.space.L = &s.mu
	s.stream = NewStream(slots, value, s.unit)
	return s
}

// Append implements durability.Journal.
func (s *Source) Append(unit []store.Effect) {
	s.stream.Append(unit)
	if s.stream.Broken() {
		s.mu.Lock()
		s.broken = true
		s.mu.Unlock()
	}
}

// unit adds a narrowed unit.
func (s *Source) unit(unit []store.Effect) {
	s.changed.add(unit)
	bytes := appendUnit(nil, unit)
	s.add(laterFrame{frameUnit, bytes, bytes})
}

// Close adds the present values of the keys that units have changed to the sum. db is the database of the
// source. It is called under the executor, when no unit runs.
func (s *Source) Close(data *store.Store) {
	if len(s.changed.names) == 0 {
		return
	}
	data.SetFrozenTime(true)
	defer data.SetFrozenTime(false)
	sum := s.changed.close(data.DB(0))
	s.add(laterFrame{kind: frameClose, added: sum[:]})
}

// add adds a frame behind all pieces.
func (s *Source) add(f laterFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.size += len(f.bytes) + 2; {
	case s.ended || s.broken:
	case s.size > mostLater:
		s.broken = true
		s.later, s.ready = nil, nil
	case s.whole:
		s.put(f)
	default:
		s.later = append(s.later, f)
	}
}

// put makes a frame ready.
func (s *Source) put(f laterFrame) {
	s.ready = appendFrame(s.ready, f.kind, f.bytes)
	s.sum.add(f.kind, f.added)
}

// Piece adds a piece of the cut: it is a function for Send. It waits while many bytes are ready.
func (s *Source) Piece(piece []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) > mostReady && !s.ended && !s.broken {
		s.space.Wait()
	}
	if s.ended || s.broken {
		return ErrEnded
	}
	s.size += len(piece) + 2
	s.put(laterFrame{framePiece, piece, piece})
	return nil
}

// Whole says that all pieces were added.
func (s *Source) Whole() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = true
	for i := range s.later {
		s.put(s.later[i])
	}
	s.later = nil
}

// Take returns up to most bytes that are ready, and removes them. left is the number of bytes that wait
// behind them. whole says that all pieces are among the bytes that were ready so far.
func (s *Source) Take(most int) (bytes []byte, left int, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(most, len(s.ready))
	bytes = append([]byte(nil), s.ready[:n]...)
	s.ready = append(s.ready[:0], s.ready[n:]...)
	s.size = max(0, s.size-n)
	s.space.Broadcast()
	left = len(s.ready)
	for i := range s.later {
		left += len(s.later[i].bytes)
	}
	return bytes, left, s.whole
}

// Digest returns the sum of all frames that were ready so far.
func (s *Source) Digest() [20]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum.Digest()
}

// Broken reports whether the stream cannot go on: it has met an effect that it cannot narrow, or too many
// bytes wait. The slots have to be cut anew.
func (s *Source) Broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// End frees the memory. Piece returns ErrEnded from now on.
func (s *Source) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.ready, s.later = true, nil, nil
	s.space.Broadcast()
}
