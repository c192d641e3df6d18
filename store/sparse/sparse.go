// Package sparse is an array for values that only a few slots of a dict have. It takes memory in pieces of 16
// elements, allocated when an element in them is first used, and a pointer for each 4096 missing elements. So
// a first element behind ten million others is cheap.
//
// It must not know what the elements are.
package sparse

import "unsafe"

const (
	// With more than 16 elements in a piece, an element that is alone would take more memory; with fewer, the
	// pointers would.
	pieceBits = 4
	pieceSize = 1 << pieceBits
	pageBits  = 8
	pageSize  = 1 << pageBits
	// number of pieces that an emptied array keeps
	fewPieces = 64
)

// Piece is a run of elements.
type Piece[T any] [pieceSize]T

type page[T any] [pageSize]*Piece[T]

// Array is a sparse array. The zero value is empty; it is not safe for concurrent use.
type Array[T any] struct {
	pages []*page[T]
	end   int // pieces from this number on do not exist
	count int // number of pieces
}

// At returns an element, or nil if its piece does not exist.
func (a *Array[T]) At(i int) *T {
	if p := a.piece(i >> pieceBits); p != nil {
		return &p[i&(pieceSize-1)]
	}
	return nil
}

// piece returns a piece by its number, or nil.
func (a *Array[T]) piece(number int) *Piece[T] {
	if number >= a.end || a.pages[number>>pageBits] == nil {
		return nil
	}
	return a.pages[number>>pageBits][number&(pageSize-1)]
}

// Prefetch reads the memory that At and Make will read for these elements, so that the waits for memory
// overlap. Negative numbers are ignored. The result is a meaningless sum of the memory read, so that no
// compiler leaves the reading out.
func (a *Array[T]) Prefetch(elements []int) (sum uint64) {
	var at [prefetched]unsafe.Pointer
	for len(elements) > 0 {
		some := elements[:min(len(elements), prefetched)]
		elements = elements[len(some):]
		n := 0
		for _, i := range some {
			if i < 0 {
				continue
			}
			if p := a.piece(i >> pieceBits); p != nil { // nothing is read at p yet
				at[n] = unsafe.Pointer(&p[i&(pieceSize-1)])
				n++
			}
		}
		for _, p := range at[:n] {
			sum += uint64(*(*byte)(p))
		}
	}
	return sum
}

// prefetched is the number of elements that are read together.
const prefetched = 64

// Make returns an element. It allocates its piece if necessary.
func (a *Array[T]) Make(i int) *T {
	number := i >> pieceBits
	for number>>pageBits >= len(a.pages) {
		a.pages = append(a.pages, nil)
	}
	p := &a.pages[number>>pageBits]
	if *p == nil {
		*p = new(page[T])
	}
	piece := &(*p)[number&(pageSize-1)]
	if *piece == nil {
		*piece = new(Piece[T])
		a.count++
		a.end = max(a.end, number+1)
	}
	return &(*piece)[i&(pieceSize-1)]
}

// Trim frees the pieces after the last element, except the next piece, so that an array that moves back and
// forth across a boundary does not allocate each time.
func (a *Array[T]) Trim(last int) {
	for most := last>>pieceBits + 2; a.end > most; {
		a.end--
		p := &a.pages[a.end>>pageBits]
		if *p == nil {
			continue
		}
		if piece := &(*p)[a.end&(pageSize-1)]; *piece != nil {
			*piece = nil
			a.count--
		}
		if a.end&(pageSize-1) == 0 {
			*p = nil
		}
	}
}

// Emptied must be called when all elements are zero: it frees the pieces if there are many.
func (a *Array[T]) Emptied() {
	if a.count > fewPieces {
		clear(a.pages)
		a.end, a.count = 0, 0
	}
}

// Each visits the existing pieces with elements in [from, to), in order, each with the number of its first
// element. from must be the first element of a piece.
func (a *Array[T]) Each(from, to int, visit func(first int, p *Piece[T])) {
	for number := from >> pieceBits; number < a.end && number<<pieceBits < to; number++ {
		if a.pages[number>>pageBits] == nil {
			number |= pageSize - 1
			continue
		}
		if p := a.pages[number>>pageBits][number&(pageSize-1)]; p != nil {
			visit(number<<pieceBits, p)
		}
	}
}
