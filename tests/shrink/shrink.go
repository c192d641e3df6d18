// Package shrink makes a failure small: of the steps that lead to it, it keeps only the necessary steps.
// Random tests find faults in hundreds of steps, and a reader wants to see three.
//
// It owns the search, which is delta debugging, and its limits. It must not know what a step is, or what a
// failure is: the caller knows both. The same steps and answers always lead to the same result.
//
// The algorithm is the reducing half of ddmin in Andreas Zeller and Ralf Hildebrandt, "Simplifying and
// Isolating Failure-Inducing Input", IEEE Transactions on Software Engineering 28 (2002).
package shrink

import (
	"fmt"
	"slices"
	"time"
)

// Limits ends a search before the smallest result is found.
type Limits struct {
	// Tries is the limit of calls of fails; 0 means 1000.
	Tries int
	// Time is the limit of the duration; 0 means 10 seconds. A running call of fails is not interrupted.
	Time time.Duration
}

const (
	defaultTries = 1000
	defaultTime  = 10 * time.Second
)

// mostInPairs is the number of steps from which on pairs of steps are tried, too. Some steps can only be left
// out together: for example opening and closing.
const mostInPairs = 40

// Result is the result of a search.
type Result[T any] struct {
	// Steps lists the steps that still fail, in their order.
	Steps []T
	// Dropped is the number of steps left out.
	Dropped int
	// Tries is the number of calls of fails.
	Tries int
	// Reproduced says that all the steps together failed again. If they did not, Steps holds all of them,
	// because a search is impossible.
	Reproduced bool
	// Minimal says that no step can be left out. It is false if the search reached a limit before that was
	// known.
	Minimal bool
}

// String returns a line for the report of a failure.
func (r Result[T]) String() string {
	all := len(r.Steps) + r.Dropped
	switch {
	case !r.Reproduced:
		return fmt.Sprintf("all %d steps: they did not fail when they were tried again", all)
	case r.Minimal:
		return fmt.Sprintf("%d of %d steps; none can be left out (%d tries)",
			len(r.Steps), all, r.Tries)
	}
	return fmt.Sprintf("%d of %d steps, perhaps more than are needed (stopped after %d tries)",
		len(r.Steps), all, r.Tries)
}

// Steps returns the steps that are needed for a failure. fails tries a part of the steps, in their order, and
// reports whether they fail. It must not change or keep the slice, and returns false if a part makes no
// sense. steps is not changed.
func Steps[T any](steps []T, fails func([]T) bool, limits Limits) []T {
	return Search(steps, fails, limits).Steps
}

// Search does what Steps does, and returns more about the result.
func Search[T any](steps []T, fails func([]T) bool, limits Limits) Result[T] {
	if limits.Tries == 0 {
		limits.Tries = defaultTries
	}
	if limits.Time == 0 {
		limits.Time = defaultTime
	}
	s := &search[T]{left: slices.Clone(steps), fails: fails,
		tries: limits.Tries, end: time.Now().Add(limits.Time)}
	reproduced := s.try(s.left)
	if reproduced {
		s.reduce()
	}
	return Result[T]{Steps: s.left, Dropped: len(steps) - len(s.left), Tries: limits.Tries - s.tries,
		Reproduced: reproduced, Minimal: reproduced && !s.stopped}
}

// search is one search under way.
type search[T any] struct {
	left    []T // invariant: fails returned true for these, once reduce has begun
	fails   func([]T) bool
	tries   int // calls that are left
	end     time.Time
	stopped bool // a limit was reached
}

// try reports whether a part fails. It returns false when a limit is reached.
func (s *search[T]) try(part []T) bool {
	if s.tries == 0 || time.Now().After(s.end) {
		s.stopped = true
		return false
	}
	s.tries--
	return s.fails(part)
}

// reduce leaves out pieces, large ones first, until neither a single step nor a pair of steps can be left
// out.
func (s *search[T]) reduce() {
	size := max(1, len(s.left)/2)
	for !s.stopped && len(s.left) > 0 {
		switch {
		case s.drop(size):
			size = max(1, min(size, len(s.left)/2)) // a shorter rest may allow smaller pieces
		case size > 1:
			size /= 2
		case !s.dropPair():
			return
		}
	}
}

// drop leaves out every piece of size steps that is not needed, the last pieces first. It reports whether it
// left out a piece.
func (s *search[T]) drop(size int) (dropped bool) {
	for end := len(s.left); end > 0 && !s.stopped; end -= size {
		rest := slices.Concat(s.left[:max(0, end-size)], s.left[end:])
		if s.try(rest) {
			s.left, dropped = rest, true
		}
	}
	return dropped
}

// dropPair leaves out two steps at any positions, and reports whether it found such a pair.
func (s *search[T]) dropPair() bool {
	if len(s.left) > mostInPairs {
		return false
	}
	for j := len(s.left) - 1; j > 0; j-- {
		for i := j - 1; i >= 0; i-- {
			rest := slices.Concat(s.left[:i], s.left[i+1:j], s.left[j+1:])
			if s.try(rest) {
				s.left = rest
				return true
			}
			if s.stopped {
				return false
			}
		}
	}
	return false
}
