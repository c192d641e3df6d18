package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// call counts one call that takes so long.
func call(c *Command, d time.Duration) {
	if c.Called() {
		c.Took(d)
	}
}

func TestTheFirstCallsAreAllTimed(t *testing.T) {
	var c Command
	sum := time.Duration(0)
	for i := range exactCalls {
		d := time.Duration(i*i+1) * time.Microsecond
		sum += d
		call(&c, d)
		require.Equal(t, sum.Microseconds(), c.US())
		require.EqualValues(t, i+1, c.Times().Calls)
	}
}

// TestSampledTimes: after the first calls few calls are timed. The total that they stand for is right to 5
// %, also if the times of the calls follow a pattern.
func TestSampledTimes(t *testing.T) {
	patterns := map[string]func(i int) time.Duration{
		"even":            func(int) time.Duration { return 700 * time.Nanosecond },
		"every second":    func(i int) time.Duration { return time.Duration(400+600*(i%2)) * time.Nanosecond },
		"every 16th":      func(i int) time.Duration { return time.Duration(500+3000*(1-min(i%16, 1))) * time.Nanosecond },
		"every 32nd":      func(i int) time.Duration { return time.Duration(500+3000*(1-min(i%32, 1))) * time.Nanosecond },
		"slower and slow": func(i int) time.Duration { return time.Duration(300 + i/1000) },
	}
	for name, of := range patterns {
		t.Run(name, func(t *testing.T) {
			const calls = 1_000_000
			var c Command
			sum, timed := time.Duration(0), 0
			for i := range calls {
				sum += of(i)
				if c.Called() {
					timed++
					c.Took(of(i))
				}
			}
			require.EqualValues(t, calls, c.Calls)
			require.Less(t, timed, calls/20)
			require.InEpsilon(t, sum.Microseconds(), c.US(), 0.05)
			require.InEpsilon(t, calls, c.Times().Calls, 0.01)
		})
	}
}

func TestACallWithinACall(t *testing.T) {
	var c Command
	c.Called()
	c.Called()
	c.Took(3 * time.Microsecond)
	c.Took(10 * time.Microsecond) // the one around it, which lasted longer
	require.EqualValues(t, 2, c.Calls)
	require.EqualValues(t, 6, c.US())
}

func TestNothingTimed(t *testing.T) {
	var c Command
	require.Zero(t, c.US())
	require.Nil(t, c.Times())
}

func TestBucketsOfTimes(t *testing.T) {
	require.Equal(t, bucket(1), bucket(0))
	require.Equal(t, bucket(1), bucket(-5))
	last := 0
	for ns := int64(1); ns < 1<<31; ns += ns/100 + 1 {
		i := bucket(ns)
		require.GreaterOrEqual(t, i, last)
		last = i
		if ns < 1<<coarse {
			require.GreaterOrEqual(t, end(i), ns, fmt.Sprint(ns))
			require.LessOrEqual(t, float64(end(i)), math.Ceil(float64(ns)*1.125), fmt.Sprint(ns))
		}
	}
	require.Equal(t, coarse<<fineBits-1, bucket(math.MaxInt64))
}

func TestPercentiles(t *testing.T) {
	var s Spread
	times := make([]int64, 1000)
	for i := range times {
		times[i] = int64(i+1) * 1000
	}
	for _, i := range rand.Perm(len(times)) {
		s.add(time.Duration(times[i]), 1)
	}
	for _, p := range []float64{1, 50, 99, 99.9, 100} {
		require.InEpsilon(t, p*10, s.Percentile(p), 0.13, fmt.Sprint(p))
	}
}

func TestErrorsByCode(t *testing.T) {
	var e Errors
	e.Count("ERR one thing")
	e.Count("WRONGTYPE another")
	e.Count("ERR a third")
	e.Count("ALONE")                                // no blank: no code
	e.Count("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDE code") // longer than a code may be
	require.Equal(t, []string{"ERR", "WRONGTYPE"}, e.Codes())
	require.EqualValues(t, 4, e.Of("ERR"))
	require.EqualValues(t, 5, e.Total)
	for i := range 2 * mostCodes {
		e.Count(fmt.Sprintf("E%d x", i))
	}
	require.Equal(t, []string{"ERRORSTATS_DISABLED"}, e.Codes())
	require.EqualValues(t, 1, e.Of("ERRORSTATS_DISABLED"))
}
