//go:build simulation

package simulation

import (
	"math/rand/v2"
	"sync"
	"time"
)

// chance is a row of random numbers that a seed decides. Any goroutine may draw.
type chance struct {
	mu   sync.Mutex
	rand *rand.Rand
}

// newChance is the chance of one thing in a run: each has its own, so that what one draws changes nothing for
// the others.
func newChance(seed uint64, of string) *chance {
	h := uint64(14695981039346656037)
	for _, b := range []byte(of) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return &chance{rand: rand.New(rand.NewPCG(seed, h))}
}

// below is a number from 0 on that is lower than n.
func (c *chance) below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.IntN(n)
}

// oneIn is true once in n times.
func (c *chance) oneIn(n int) bool { return c.below(n) == 0 }

// between is a time in a range.
func (c *chance) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.below(int(most-least)))
}

// one is one of a list.
func one[T any](c *chance, of ...T) T { return of[c.below(len(of))] }
