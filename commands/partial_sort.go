package commands

// partialSort sorts the elements 0..n-1 only as far as needed: the elements at first..last are those of the
// sorted order, the rest is partly sorted. Clients see the order of equal elements. So this is the algorithm
// of Redis' sort, a quicksort with three parts.
//
// Source: J. Bentley and M. D. McIlroy, "Engineering a Sort Function", 1993.
func partialSort(n, first, last int, compare func(i, j int) int, swap func(i, j int)) {
	s := quickSort{first, last, compare, swap}
	s.sort(0, n)
}

type quickSort struct {
	first, last int
	compare     func(i, j int) int
	swap        func(i, j int)
}

const (
	insertBelow = 7  // fewer elements are sorted by insertion
	nineAbove   = 40 // with more elements the pivot is chosen among nine
)

// sort sorts n elements from a on.
func (s *quickSort) sort(a, n int) {
	for {
		if n < insertBelow {
			for m := a + 1; m < a+n; m++ {
				for l := m; l > a && s.compare(l-1, l) > 0; l-- {
					s.swap(l, l-1)
				}
			}
			return
		}
		s.swap(a, s.pivot(a, n))
		less, greater := s.partition(a, n)
		if less > 1 && s.wanted(a, less) {
			s.sort(a, less)
		}
		a, n = a+n-greater, greater
		if n < 2 || !s.wanted(a, n) {
			return
		}
	}
}

// wanted reports whether one of the n places from a on is in first..last.
func (s *quickSort) wanted(a, n int) bool { return s.first <= a+n-1 && s.last >= a }

// pivot chooses the median of three, or of three such medians.
func (s *quickSort) pivot(a, n int) int {
	l, m, r := a, a+n/2, a+n-1
	if n == insertBelow {
		return m
	}
	if n > nineAbove {
		d := n / 8
		l = s.median(l, l+d, l+2*d)
		m = s.median(m-d, m, m+d)
		r = s.median(r-2*d, r-d, r)
	}
	return s.median(l, m, r)
}

func (s *quickSort) median(a, b, c int) int {
	if s.compare(a, b) < 0 {
		switch {
		case s.compare(b, c) < 0:
			return b
		case s.compare(a, c) < 0:
			return c
		}
		return a
	}
	switch {
	case s.compare(b, c) > 0:
		return b
	case s.compare(a, c) < 0:
		return a
	}
	return c
}

// partition moves elements less than the one at a to the front, equal elements to the middle and greater ones
// to the end. It returns how many are less and how many are greater. Equal elements are first gathered at
// both ends.
func (s *quickSort) partition(a, n int) (less, greater int) {
	equalLeft, left := a+1, a+1
	right, equalRight := a+n-1, a+n-1
	for {
		for left <= right {
			c := s.compare(left, a)
			if c > 0 {
				break
			}
			if c == 0 {
				s.swap(equalLeft, left)
				equalLeft++
			}
			left++
		}
		for left <= right {
			c := s.compare(right, a)
			if c < 0 {
				break
			}
			if c == 0 {
				s.swap(right, equalRight)
				equalRight--
			}
			right--
		}
		if left > right {
			break
		}
		s.swap(left, right)
		left++
		right--
	}
	s.swapRuns(a, left, min(equalLeft-a, left-equalLeft))
	s.swapRuns(left, a+n, min(equalRight-right, a+n-1-equalRight))
	return left - equalLeft, equalRight - right
}

// swapRuns exchanges the n elements from a on with the n elements before end.
func (s *quickSort) swapRuns(a, end, n int) {
	for i := range n {
		s.swap(a+i, end-n+i)
	}
}
