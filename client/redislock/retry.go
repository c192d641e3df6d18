package redislock

import (
	"sync/atomic"
	"time"
)

// RetryStrategy says how long a call waits.
type RetryStrategy interface {
	// NextBackoff returns the next pause, which is added to the time for waiting; 0 or less ends the wait.
	NextBackoff() time.Duration
}

type linearBackoff time.Duration

// LinearBackoff has all pauses be as long as backoff. They have no end: the context has.
func LinearBackoff(backoff time.Duration) RetryStrategy { return linearBackoff(backoff) }

// NoRetry has no pause: the call does not wait.
func NoRetry() RetryStrategy { return linearBackoff(0) }

// NextBackoff implements RetryStrategy.
func (r linearBackoff) NextBackoff() time.Duration { return time.Duration(r) }

type limitedRetry struct {
	of   RetryStrategy
	left atomic.Int64
}

// LimitRetry has at most the first max pauses of s.
func LimitRetry(s RetryStrategy, max int) RetryStrategy {
	r := &limitedRetry{of: s}
	r.left.Store(int64(max))
	return r
}

// NextBackoff implements RetryStrategy.
func (r *limitedRetry) NextBackoff() time.Duration {
	if r.left.Add(-1) < 0 {
		r.left.Store(0)
		return 0
	}
	return r.of.NextBackoff()
}

type exponentialBackoff struct {
	least, most time.Duration
	count       atomic.Int64
}

// ExponentialBackoff has pauses of 4 ms, 8 ms, 16 ms and so on, but none shorter than min or longer than max;
// a max of 0 is none.
func ExponentialBackoff(min, max time.Duration) RetryStrategy {
	return &exponentialBackoff{least: min, most: max}
}

// longestShift bounds the pauses of a strategy without a max: about 18 hours.
const longestShift = 26

// NextBackoff implements RetryStrategy.
func (r *exponentialBackoff) NextBackoff() time.Duration {
	pause := time.Millisecond << min(r.count.Add(1)+1, longestShift)
	if r.most != 0 {
		pause = min(pause, r.most)
	}
	return max(pause, r.least)
}
