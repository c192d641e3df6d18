package commands

import "lockserver/internal/gcra"

// mostLimits is the largest number of limiters in a call.
const mostLimits = 64

// oneLimit is a limiter of a call that names several. Its rate is kept, because most calls have the terms of
// the call before.
type oneLimit struct {
	key    []byte
	terms  [3]int64 // burst, count, period in milliseconds
	rate   gcra.Rate
	slot   int // the slot of the key; valid until something changes
	state  gcra.State
	answer gcra.Answer
}

// setTerms sets the rate by these terms. It returns false if they are not valid, or if the burst takes too
// long to fill.
func (l *oneLimit) setTerms(burst, count, periodMS int64) (ok bool) {
	terms := [...]int64{burst, count, periodMS}
	if terms == l.terms {
		return true
	}
	l.terms = [3]int64{}
	if l.rate, ok = gcra.NewRate(burst, count, periodMS); ok {
		l.terms = terms
	}
	return ok
}
