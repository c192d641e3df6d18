// Package sparse is an array for values that only a few slots of a dict have. It takes memory in pieces of 16
// elements, allocated when an element in them is first used, and a pointer for each 4096 missing elements. So
// a first element behind ten million others is cheap.
//
// It must not know what the elements are.
package sparse

import "unsafe"

const (
	// With more than 16 elements a piece, one that stands alone would take more; with fewer the pointers
	// would.
	pieceBits = 4
	pieceSize = 1 << pieceBits
	pageBits  = 8
	pageSize  = 1 << pageBits
	// fewPieces are kept by an array that is emptied.
	fewPieces = 64
)

// Piece is a run of elements.
type Piece[T any] [pieceSize]T

type page[T any] [pageSize]*Piece[T]

// Array is such an array. The zero value is empty; it is not safe for concurrent use.
type Array[T any] struct {
	pages []*page[T]
	end   int // no piece from here on is there
	count int // of pieces
}

// At returns an element; nil: there is none.
func (a *Array[T]) At(i int) *T {
	if p := a.piece(i >> pieceBits); p != nil {
		return &p[i&(pieceSize-1)]
	}
	return nil
}

// piece returns a piece by its number; nil: there is none.
func (a *Array[T]) piece(number int) *Piece[T] {
	if number >= a.end || a.pages[number>>pageBits] == nil {
		return nil
	}
	return a.pages[number>>pageBits][number&(pageSize-1)]
}

// Prefetch reads what At and Make are going to read of these elements, so that their waits for memory
// overlap; negative numbers count for nothing. The result is a sum of what was read, so that no compiler
// leaves the reading out.
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

// prefetched is how many elements are read together.
const prefetched = 64

// Make returns an element, a zero one if there was none.
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

// Trim gives back the pieces behind an element that was the last, but for the next one: an array that has
// become short, and one that sways, needs no more.
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

// Emptied says that all elements are zero: pieces are given back if there are many.
func (a *Array[T]) Emptied() {
	if a.count > fewPieces {
		clear(a.pages)
		a.end, a.count = 0, 0
	}
}

// Each visits the pieces that hold elements from one on and before another, in order, each with the number
// of its first element. from must begin a piece.
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
