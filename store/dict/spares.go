package dict

import "weak"

// spares are the arrays that copies have taken the place of. A snapshot may
// still read them; when it is done with them they serve for the copies to come,
// so that a save makes little garbage, and no collection falls into it.
//
// When the snapshot is released the dict forgets them but for a weak pointer:
// they are garbage, which the next snapshot takes up again if the collector has
// not come by until then. So nothing is kept for its own sake, and what the
// arrays still point to is not kept either.
type spares[V any] struct {
	free    [][]*run[V] // stacks of arrays that nobody reads; the last is used first
	waiting [][]*run[V] // by page: arrays of chunks that the reader may not be done with
	next    int         // first page whose arrays have to wait
}

// run is the array of a whole chunk.
type run[V any] [chunkSize]slot[V]

// takeSpares begins a snapshot of so many pages: what the one before has left
// is free.
func takeSpares[V any](old weak.Pointer[spares[V]], pages int) *spares[V] {
	s := old.Value()
	if s == nil {
		s = &spares[V]{}
	}
	for _, stack := range s.waiting {
		s.release(stack)
	}
	s.waiting, s.next = make([][]*run[V], pages), 0
	return s
}

func (s *spares[V]) release(stack []*run[V]) {
	if len(stack) > 0 {
		s.free = append(s.free, stack)
	}
}

// retire takes the array of a chunk that has been copied.
func (s *spares[V]) retire(slots []slot[V], number int) {
	if page := number >> pageBits; len(slots) == chunkSize && page < len(s.waiting) {
		s.waiting[page] = append(s.waiting[page], (*run[V])(slots))
	}
}

// take returns an array that nobody reads, which is not empty, or nil. done is
// how many chunks the reader is done with.
func (s *spares[V]) take(done int) []slot[V] {
	for ; s.next < done>>pageBits; s.next++ {
		s.release(s.waiting[s.next])
		s.waiting[s.next] = nil
	}
	if len(s.free) == 0 {
		return nil
	}
	last := len(s.free) - 1
	stack := s.free[last]
	top := len(stack) - 1
	slots := stack[top][:]
	stack[top] = nil
	if s.free[last] = stack[:top]; top == 0 {
		s.free[last] = nil
		s.free = s.free[:last]
	}
	return slots
}

// EndView tells the dict that its latest view is not read any more. It is called
// with, or after, cow.Epoch.Release.
func (d *Dict[V]) EndView() {
	d.reader, d.spares = nil, nil
}
