package dict

import (
	"slices"
	"weak"
)

// spares holds arrays and pages that copies have replaced. A snapshot may still read them. After that they
// are used for later copies, so that a save makes little garbage and does not trigger a garbage collection.
//
// When the snapshot is released, the dict keeps only a weak pointer to them. The next snapshot uses them
// again if the garbage collector has not freed them by then. So the spares keep no memory alive, neither
// their own nor the memory that the arrays point to.
type spares[V any] struct {
	free    [][]*run[V] // stacks of arrays without readers; the last is used first
	waiting [][]*run[V] // by page: arrays of chunks that the reader may not be done with
	next    int         // first page with arrays that are still read
	// The same for the pages.
	freePages []*page[V]
	replaced  []*page[V] // by page: nil, or the page that a clone has replaced
}

// run is the array of a whole chunk.
type run[V any] [chunkSize]slot[V]

// takeSpares begins a snapshot of a number of pages: the spares of the last snapshot are free.
func takeSpares[V any](old weak.Pointer[spares[V]], pages int) *spares[V] {
	s := old.Value()
	if s == nil {
		s = &spares[V]{}
	}
	s.release(len(s.waiting))
	s.waiting, s.replaced, s.next = emptied(s.waiting, pages), emptied(s.replaced, pages), 0
	return s
}

// emptied returns n zero values, in the old array if that is large enough.
func emptied[E any](old []E, n int) []E {
	clear(old)
	return slices.Grow(old[:0], n)[:n]
}

// release frees the retired arrays of the first n pages.
func (s *spares[V]) release(n int) {
	for ; s.next < n; s.next++ {
		if stack := s.waiting[s.next]; len(stack) > 0 {
			s.free = append(s.free, stack)
			s.waiting[s.next] = nil
		}
		if p := s.replaced[s.next]; p != nil {
			s.freePages = append(s.freePages, p)
			s.replaced[s.next] = nil
		}
	}
}

// retirePage takes a full page that has been cloned.
func (s *spares[V]) retirePage(p *page[V], number int) {
	if number < len(s.replaced) {
		s.replaced[number] = p
	}
}

// takePage returns a full page without readers, or nil. done is the number of pages that the reader has
// finished.
func (s *spares[V]) takePage(done int) *page[V] {
	s.release(min(done, len(s.waiting)))
	last := len(s.freePages) - 1
	if last < 0 {
		return nil
	}
	p := s.freePages[last]
	s.freePages[last] = nil
	s.freePages = s.freePages[:last]
	return p
}

// retire takes the array of a chunk that has been copied.
func (s *spares[V]) retire(slots []slot[V], number int) {
	if page := number >> pageBits; len(slots) == chunkSize && page < len(s.waiting) {
		s.waiting[page] = append(s.waiting[page], (*run[V])(slots))
	}
}

// take returns a non-empty array without readers, or nil. done is the number of pages that the reader has
// finished.
func (s *spares[V]) take(done int) []slot[V] {
	s.release(min(done, len(s.waiting)))
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
