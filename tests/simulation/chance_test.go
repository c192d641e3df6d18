//go:build simulation

package simulation

import (
	"math/rand/v2"
	"sync"
	"time"
)

// chance is a sequence of random numbers that a seed determines. Any goroutine may draw from it.
type chance struct {
	mu   sync.Mutex
	rand *rand.Rand
}

// newChance returns the chance for one thing in a run. Each thing has its own, so that draws for one do not
// change those for others.
func newChance(seed uint64, of string) *chance {
	h := uint64(14695981039346656037)
	for _, b := range []byte(of) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return &chance{rand: rand.New(rand.NewPCG(seed, h))}
}

// below returns a number from 0 to n-1.
func (c *chance) below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.IntN(n)
}

// oneIn returns true once in n times.
func (c *chance) oneIn(n int) bool { return c.below(n) == 0 }

// between returns a time in a range.
func (c *chance) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.below(int(most-least)))
}

// one returns a random argument.
func one[T any](c *chance, of ...T) T { return of[c.below(len(of))] }
