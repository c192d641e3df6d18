// Package marks is a set of slot numbers: the entries of a dict with some property, so that they can be
// visited without looking at the other entries. It takes a bit for each slot, up to the highest slot ever
// marked. The time to add or remove a number does not depend on the size of the set.
//
// It is a bitmap. Above it is a bitmap of its non-zero words, and so on up to a single word. It must not know
// what is marked. Of a dict it knows only that deleting an entry moves the last entry into its place (Moved).
//
// To add an operation, keep the invariant on Set.levels, which check in the test verifies.
package marks

import "math/bits"

const (
	wordBits = 6
	wordMask = 1<<wordBits - 1
)

// Set is a set of numbers from 0 on. The zero value is empty; it is not safe for concurrent use.
type Set struct {
	// levels[0] has a bit for each number; a bit of levels[i+1] is set if that word of levels[i] is not zero.
	// The last level is a single word. levels is empty until the first number is added.
	levels [][]uint64
	n      int
}

// Len returns how many numbers are in the set.
func (s *Set) Len() int { return s.n }

// Has reports whether i is in the set.
func (s *Set) Has(i int) bool {
	return len(s.levels) > 0 && i>>wordBits < len(s.levels[0]) && s.levels[0][i>>wordBits]>>(i&wordMask)&1 != 0
}

// Prefetch reads the memory that Moved will read for these numbers, so that the waits for memory overlap.
// Negative numbers are ignored. The result is a meaningless sum of the memory read, so that no compiler
// leaves the reading out.
func (s *Set) Prefetch(numbers []int) (sum uint64) {
	if len(s.levels) == 0 {
		return 0
	}
	words := s.levels[0]
	for _, i := range numbers {
		if i >= 0 && i>>wordBits < len(words) {
			sum += words[i>>wordBits]
		}
	}
	return sum
}

// Add puts i into the set.
func (s *Set) Add(i int) {
	if s.Has(i) {
		return
	}
	s.reserve(i)
	s.n++
	for level := range s.levels {
		word := &s.levels[level][i>>wordBits]
		before := *word
		*word |= 1 << (i & wordMask)
		if before != 0 {
			return
		}
		i >>= wordBits
	}
}

// reserve makes space for i.
func (s *Set) reserve(i int) {
	for level := 0; ; level++ {
		if level == len(s.levels) {
			s.levels = append(s.levels, nil)
			if level > 0 && s.levels[level-1][0] != 0 { // the word that was alone at the top before
				s.levels[level] = append(s.levels[level], 1)
			}
		}
		i >>= wordBits
		for len(s.levels[level]) <= i {
			s.levels[level] = append(s.levels[level], 0)
		}
		if len(s.levels[level]) == 1 && level == len(s.levels)-1 {
			return
		}
	}
}

// Remove takes i out of the set.
func (s *Set) Remove(i int) {
	if !s.Has(i) {
		return
	}
	s.n--
	for level := range s.levels {
		word := &s.levels[level][i>>wordBits]
		*word &^= 1 << (i & wordMask)
		if *word != 0 {
			return
		}
		i >>= wordBits
	}
}

// Moved removes i and gives its place to last: the last entry of a dict has moved to the slot of a deleted
// entry.
func (s *Set) Moved(i, last int) {
	if s.n == 0 {
		return
	}
	s.Remove(i)
	if i != last && s.Has(last) {
		s.Remove(last)
		s.Add(i)
	}
}

// Next returns the least number of the set that is not below i, or -1.
func (s *Set) Next(i int) int {
	level := 0
	for ; ; level++ { // up, to a word with a bit at i or behind it
		if level == len(s.levels) || i>>wordBits >= len(s.levels[level]) {
			return -1
		}
		if rest := s.levels[level][i>>wordBits] >> (i & wordMask); rest != 0 {
			i += bits.TrailingZeros64(rest)
			break
		}
		i = i>>wordBits + 1
	}
	for ; level > 0; level-- { // and down again, along the first bits
		i = i<<wordBits + bits.TrailingZeros64(s.levels[level-1][i])
	}
	return i
}

// Prev returns the greatest number of the set that is below i, or -1.
func (s *Set) Prev(i int) int {
	if len(s.levels) == 0 {
		return -1
	}
	i = min(i, len(s.levels[0])<<wordBits) - 1
	level := 0
	for ; ; level++ { // up, to a word with a bit at i or before it
		if i < 0 || level == len(s.levels) {
			return -1
		}
		if rest := s.levels[level][i>>wordBits] << (wordMask - i&wordMask); rest != 0 {
			i -= bits.LeadingZeros64(rest)
			break
		}
		i = i>>wordBits - 1
	}
	for ; level > 0; level-- { // and down again, along the last bits
		i = i<<wordBits + wordMask - bits.LeadingZeros64(s.levels[level-1][i])
	}
	return i
}
