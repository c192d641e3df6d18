package gcra

import (
	"bytes"
	"math/bits"

	"lockserver/internal/decimal"
)

// State is the TAT of a limiter. The zero State is a full limiter.
type State struct {
	ns          int64
	part, count uint64 // a fraction of a nanosecond: part/count; part is 0 if there is no fraction
}

// at converts the state to fractions of the rate r. It rounds up if the fractions belong to another rate.
func (s State) at(r *Rate) moment {
	m := moment{uint64(s.ns), s.part}
	if s.part == 0 || s.count == r.count {
		return m
	}
	hi, lo := bits.Mul64(s.part, r.count)
	part, rest := bits.Div64(hi, lo, s.count) // part < count: hi is below it
	if rest > 0 {
		part++
	}
	if m.part = part; part == r.count {
		m.ns, m.part = m.ns+1, 0
	}
	return m
}

// EndMS returns when the limiter is full again, in milliseconds since 1970, rounded up.
func (s State) EndMS() int64 {
	ms := CeilMS(s.ns)
	if s.part > 0 && s.ns%nsPerMS == 0 {
		ms++
	}
	return ms
}

// Shifted returns the state for a clock that shows byMS more, or less if byMS is negative.
func (s State) Shifted(byMS int64) State {
	s.ns = max(s.ns+byMS*nsPerMS, 0)
	return s
}

// AppendTo appends the text of the state: the TAT in nanoseconds since 1970, as the module redis-cell writes
// it. A fraction, if there is one, follows: "1700000000333333333+1/3". Format, do not change.
func (s State) AppendTo(dst []byte) []byte {
	dst = decimal.AppendInt(dst, s.ns)
	if s.part == 0 {
		return dst
	}
	dst = decimal.AppendUint(append(dst, '+'), s.part)
	return decimal.AppendUint(append(dst, '/'), s.count)
}

// Parse reads the text of a state. It returns false if the text is not a state.
func Parse(text []byte) (s State, ok bool) {
	if s.ns, ok = decimal.ParseInt(text); ok { // most states have no fraction
		return s, s.ns >= 0
	}
	whole, fraction, has := bytes.Cut(text, []byte{'+'})
	if s.ns, ok = decimal.ParseInt(whole); !ok || s.ns < 0 || !has {
		return s, false
	}
	over, under, _ := bytes.Cut(fraction, []byte{'/'})
	part, isPart := decimal.ParseInt(over)
	count, isCount := decimal.ParseInt(under)
	s.part, s.count = uint64(part), uint64(count)
	return s, isPart && isCount && part > 0 && part < count
}
