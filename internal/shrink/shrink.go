// Package shrink makes a failure small: of the steps that lead to it, it keeps those that are needed. Random
// tests find faults in hundreds of steps, and a reader wants to see three.
//
// It owns the search, which is delta debugging, and the limits that it keeps to. It must not know what a
// step is, nor what it means to fail: both are the caller's. The same steps and answers always lead to the
// same result.
//
// The algorithm is the reducing half of ddmin in Andreas Zeller and Ralf Hildebrandt, "Simplifying and
// Isolating Failure-Inducing Input", IEEE Transactions on Software Engineering 28 (2002).
package shrink

import (
	"fmt"
	"slices"
	"time"
)

// Limits say when to be content with what has been reached.
type Limits struct {
	// Tries is how often fails may be called; 0: 1000 times.
	Tries int
	// Time is how long it may take; 0: 10 seconds. A call of fails that has begun is not interrupted.
	Time time.Duration
}

const (
	defaultTries = 1000
	defaultTime  = 10 * time.Second
)

// mostInPairs is how many steps may be left for pairs of them to be tried. Some steps go only together:
// what is opened and what closes it.
const mostInPairs = 40

// Result is what is left of the steps.
type Result[T any] struct {
	// Steps are those that still fail, in their order.
	Steps []T
	// Dropped is how many others there were.
	Dropped int
	// Tries is how often fails was called.
	Tries int
	// Reproduced says that all the steps together failed when they were tried again. If they did not, Steps
	// is all of them: nothing can be learnt about them.
	Reproduced bool
	// Minimal says that no step can be left out. If not, the limits were reached before that was known.
	Minimal bool
}

// String is a line for the report of a failure.
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

// Steps returns those of the steps that are needed for a failure. fails tries a part of them, in their
// order, and reports whether they fail. It must not change or keep the slice, and answers false where a
// part makes no sense. steps stays as it is.
func Steps[T any](steps []T, fails func([]T) bool, limits Limits) []T {
	return Search(steps, fails, limits).Steps
}

// Search is Steps with what is to be said about the result.
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
	left    []T // invariant: fails said that these fail, once reduce has begun
	fails   func([]T) bool
	tries   int // that may still be made
	end     time.Time
	stopped bool // a limit was reached
}

// try asks whether a part fails. Out of tries or time, none does.
func (s *search[T]) try(part []T) bool {
	if s.tries == 0 || time.Now().After(s.end) {
		s.stopped = true
		return false
	}
	s.tries--
	return s.fails(part)
}

// reduce leaves out pieces, large ones first, until no single step can go, and no two.
func (s *search[T]) reduce() {
	size := max(1, len(s.left)/2)
	for !s.stopped && len(s.left) > 0 {
		switch {
		case s.drop(size):
			size = max(1, min(size, len(s.left)/2)) // what is left may allow for more
		case size > 1:
			size /= 2
		case !s.dropPair():
			return
		}
	}
}

// drop leaves out every piece of so many steps that is not needed, the last ones first. It reports whether
// there was one.
func (s *search[T]) drop(size int) (dropped bool) {
	for end := len(s.left); end > 0 && !s.stopped; end -= size {
		rest := slices.Concat(s.left[:max(0, end-size)], s.left[end:])
		if s.try(rest) {
			s.left, dropped = rest, true
		}
	}
	return dropped
}

// dropPair leaves out two steps that stand anywhere and reports whether there were two.
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
