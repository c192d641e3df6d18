package commands

import (
	"lockserver/internal/decimal"
	"lockserver/internal/gcra"
)

// mostLimits is the largest number of limiters in a call.
const mostLimits = 64

// oneLimit is a limiter of a call that names several. Its rate is kept, because most calls have the terms of
// the call before.
type oneLimit struct {
	terms  [3][]byte // the words of the rate: burst, count, period in milliseconds; empty without a rate
	rate   gcra.Rate
	slot   int // the slot of the key; valid until something changes
	state  gcra.State
	answer gcra.Answer
}

// setTerms sets the rate by a key and the words of a burst, a count and a period. It returns false if they
// are not valid, or if the burst takes too long to fill.
func (l *oneLimit) setTerms(w *[4][]byte) bool {
	t := &l.terms
	return string(w[1]) == string(t[0]) && string(w[2]) == string(t[1]) && string(w[3]) == string(t[2]) && len(t[0]) > 0 || l.parse(w)
}

// parse is setTerms for terms that differ from those of the last call.
func (l *oneLimit) parse(w *[4][]byte) (ok bool) {
	var terms [3]int64
	for i := range terms {
		l.terms[i] = l.terms[i][:0]
		if terms[i], ok = decimal.ParseInt(w[1+i]); !ok {
			return false
		}
	}
	if l.rate, ok = gcra.NewRate(terms[0], terms[1], terms[2]); ok {
		for i := range terms {
			l.terms[i] = append(l.terms[i], w[1+i]...)
		}
	}
	return ok
}
