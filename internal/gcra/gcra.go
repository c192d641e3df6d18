package gcra

import (
	"math"
	"math/bits"
)

// Longest is the longest time, in nanoseconds, that a limiter may take to become full: a hundred years.
const Longest = 100 * 365 * 24 * 60 * 60 * 1_000_000_000

const nsPerMS = 1_000_000

// Rate is the limit: count units in each period, and burst units at once.
type Rate struct {
	burst, count, periodNS uint64
	span                   moment // burst*period/count: how far the TAT may be ahead of the time
	one                    moment // period/count: how far one unit moves the TAT
}

// moment is a time or a span in nanoseconds with a fraction: ns + part/count of the rate, part < count.
type moment struct{ ns, part uint64 }

// less compares two moments of the same rate.
func (m moment) less(o moment) bool { return m.ns < o.ns || m.ns == o.ns && m.part < o.part }

// ceil is the moment in whole nanoseconds, rounded up.
func (m moment) ceil() uint64 {
	if m.part > 0 {
		return m.ns + 1
	}
	return m.ns
}

// NewRate returns the rate of count units each periodMS milliseconds with bursts of burst units, all of them
// at least 1. ok is false if they are not, or if a limiter would take more than Longest to become full.
func NewRate(burst, count, periodMS int64) (r Rate, ok bool) {
	if burst < 1 || count < 1 || periodMS < 1 || periodMS > Longest/nsPerMS {
		return r, false
	}
	r = Rate{burst: uint64(burst), count: uint64(count), periodNS: uint64(periodMS) * nsPerMS}
	r.one, _ = r.of(1) // NewRate has checked that one unit takes no longer than the span
	r.span, ok = r.of(r.burst)
	return r, ok
}

// of returns the time until the given units come back, or false if the time is longer than Longest.
func (r *Rate) of(units uint64) (moment, bool) {
	hi, lo := bits.Mul64(units, r.periodNS)
	if hi >= r.count {
		return moment{}, false
	}
	ns, part := bits.Div64(hi, lo, r.count)
	return moment{ns, part}, ns < Longest
}

// add is the sum of two moments; it cannot overflow, because one is a time and the other at most Longest.
func (r *Rate) add(a, b moment) moment {
	sum := moment{a.ns + b.ns, a.part + b.part}
	if sum.part >= r.count {
		sum.ns, sum.part = sum.ns+1, sum.part-r.count
	}
	return sum
}

// minus returns a-b; b is not above a.
func (r *Rate) minus(a, b moment) moment {
	if a.part < b.part {
		a.ns, a.part = a.ns-1, a.part+r.count
	}
	return moment{a.ns - b.ns, a.part - b.part}
}

// units returns how many whole units come back during m, which is at most the span of the rate.
func (r *Rate) units(m moment) int64 {
	hi, lo := bits.Mul64(m.ns, r.count)
	lo, carry := bits.Add64(lo, m.part, 0)
	units, _ := bits.Div64(hi+carry, lo, r.periodNS)
	return int64(units)
}

// Burst is how many units can be taken at once.
func (r *Rate) Burst() int64 { return int64(r.burst) }

// NowNS converts a time in microseconds since 1970 to nanoseconds. ok is false if a limiter cannot hold the
// time: it is before 1970, or after about 2160.
func NowNS(us int64) (ns int64, ok bool) {
	return us * 1000, us >= 0 && us <= (math.MaxInt64-Longest-1)/1000
}

// Answer is the result of Take.
type Answer struct {
	Allowed bool
	// Never: the cost is above the burst.
	Never bool
	// Remaining is how many units could be taken now.
	Remaining int64
	// RetryNS is the time until the cost can be taken, in nanoseconds. It is 0 if the take was allowed, or if
	// the cost can never be taken.
	RetryNS int64
	// ResetNS is the time until the limiter is full, in nanoseconds.
	ResetNS int64
	// State is the state after the take. It differs from the state before only if a take with a cost was
	// allowed, or if Emptied is set.
	State State
	// Emptied: the TAT was further ahead than the burst allows, so State is the state of an empty limiter.
	// The caller must keep State even if the take is refused, because units come back from this time on.
	Emptied bool
}

// Take takes cost units at a time that NowNS returned. A cost of 0 only looks at the limiter. A look does not
// empty the limiter, so ResetNS can then be more than the burst is worth.
func (r *Rate) Take(s State, nowNS, cost int64) (a Answer) {
	r.TakeInto(&a, s, nowNS, cost)
	return a
}

// TakeInto is Take that overwrites an answer.
func (r *Rate) TakeInto(a *Answer, s State, nowNS, cost int64) {
	*a = Answer{}
	now := moment{ns: uint64(nowNS)}
	tat := s.at(r)
	// plant:gcra-now
	if tat.less(now) {
		tat = now
	}
	a.State = s
	most := r.add(now, r.span)
	if cost > 0 && most.less(tat) {
		if tat = most; uint64(cost) <= r.burst {
			a.Emptied, a.State = true, r.state(most)
		}
	}
	if uint64(cost) > r.burst {
		a.Never = true
	} else if cost == 0 {
		a.Allowed = true
	} else {
		step := r.one
		if cost > 1 {
			step, _ = r.of(uint64(cost)) // NewRate has checked the range: at most the span
		}
		next := r.add(tat, step)
		if most.less(next) {
			a.RetryNS = toInt(r.minus(next, most).ceil())
		} else {
			a.Allowed, tat = true, next
			a.State = r.state(next)
		}
	}
	debt := r.minus(tat, now)
	a.ResetNS = toInt(debt.ceil())
	if debt.less(r.span) {
		a.Remaining = r.units(r.minus(r.span, debt))
	}
}

// Give is the answer after cost units (0 or more; 0 only looks) were given back at a time of NowNS. The
// limiter is never more than full. A limiter that is further from full than the burst is worth is empty
// before, as for Take. The State of a limiter that is full is the zero State. Allowed is always true.
func (r *Rate) Give(s State, nowNS, cost int64) (a Answer) {
	if cost == 0 {
		return r.Take(s, nowNS, 0)
	}
	now := moment{ns: uint64(nowNS)}
	tat := s.at(r)
	if most := r.add(now, r.span); most.less(tat) {
		tat = most
	}
	given, _ := r.of(min(uint64(cost), r.burst)) // at most the span
	full := r.add(now, given)                    // the TAT from which it becomes full now
	if !full.less(tat) {
		return Answer{Allowed: true, Remaining: r.Burst()}
	}
	// plant:gcra-give
	return r.Take(r.state(r.add(now, r.minus(tat, full))), nowNS, 0)
}

// state returns the state of a limiter that is full at the time tat.
func (r *Rate) state(tat moment) State {
	s := State{ns: int64(tat.ns), part: tat.part}
	if tat.part > 0 {
		s.count = r.count
	}
	return s
}

func toInt(ns uint64) int64 { return int64(min(ns, math.MaxInt64)) }

// CeilMS converts nanoseconds to milliseconds, rounded up.
func CeilMS(ns int64) int64 {
	ms := ns / nsPerMS
	if ns%nsPerMS > 0 {
		ms++
	}
	return ms
}
