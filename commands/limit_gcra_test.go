package commands

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/gcra"
	"lockserver/tests/testkit"
)

const (
	testNow = 1_700_000_000_000_000_000
	nsPerMS = 1_000_000
)

// limiterModel is a limiter in rational numbers. Its debt is how far the TAT is ahead of the time.
type limiterModel struct {
	burst, interval *big.Rat // in units, and in nanoseconds for each unit
	tat             *big.Rat
}

func (m *limiterModel) take(nowNS, cost int64) (allowed bool, remaining, retry, reset int64) {
	now := big.NewRat(nowNS, 1)
	tat := now
	if m.tat != nil && m.tat.Cmp(now) > 0 {
		tat = m.tat
	}
	next := new(big.Rat).Add(tat, new(big.Rat).Mul(m.interval, big.NewRat(cost, 1)))
	most := new(big.Rat).Add(now, new(big.Rat).Mul(m.interval, m.burst))
	if tat.Cmp(most) > 0 && cost > 0 { // other terms, or a clock that was set back: it counts as empty, and not as more than that
		tat, m.tat = most, most
		next = new(big.Rat).Add(tat, new(big.Rat).Mul(m.interval, big.NewRat(cost, 1)))
	}
	switch {
	case cost == 0:
		allowed = true
	case next.Cmp(most) <= 0:
		allowed, tat, m.tat = true, next, next
	default:
		retry = ceilRat(new(big.Rat).Sub(next, most))
	}
	if left := new(big.Rat).Sub(most, tat); left.Sign() > 0 {
		left.Quo(left, m.interval)
		remaining = new(big.Int).Quo(left.Num(), left.Denom()).Int64()
	}
	return allowed, remaining, retry, ceilRat(new(big.Rat).Sub(tat, now))
}

func ceilRat(r *big.Rat) int64 {
	n := new(big.Int).Add(r.Num(), new(big.Int).Sub(r.Denom(), big.NewInt(1)))
	return n.Quo(n, r.Denom()).Int64()
}

// TestLimiterAgainstRationalNumbers compares all figures of random limiters with the model. The clock goes in
// both directions.
func TestLimiterAgainstRationalNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	size := func(most int64) int64 { return 1 + random.Int64N(int64(math.Pow(float64(most), random.Float64()))+1) }
	for range testkit.Steps(400, 2000) {
		burst, count, period := size(1e6), size(1e9), size(1e7)
		r, ok := gcra.NewRate(burst, count, period)
		require.True(t, ok)
		m := limiterModel{burst: big.NewRat(burst, 1), interval: big.NewRat(period*nsPerMS, count)}
		var s gcra.State
		now := int64(testNow)
		for range 50 {
			if random.IntN(8) == 0 { // other terms; with the same count both represent the state exactly
				burst, period = size(1e6), size(1e7)
				r, ok = gcra.NewRate(burst, count, period)
				require.True(t, ok)
				m.burst, m.interval = big.NewRat(burst, 1), big.NewRat(period*nsPerMS, count)
			}
			cost := min(size(burst), burst) * random.Int64N(2)
			a := r.Take(s, now, cost)
			allowed, remaining, retry, reset := m.take(now, cost)
			if allowed != a.Allowed || remaining != a.Remaining || retry != a.RetryNS || reset != a.ResetNS {
				require.Equal(t, []any{allowed, remaining, retry, reset}, []any{a.Allowed, a.Remaining, a.RetryNS, a.ResetNS},
					"%d of %d, %d each %d ms", cost, burst, count, period)
			}
			text := a.State.AppendTo(nil)
			if s, ok = gcra.Parse(text); !ok || s != a.State {
				require.True(t, ok, string(text))
				require.Equal(t, a.State, s)
			}
			step := size(period) * random.Int64N(2*nsPerMS)
			if random.IntN(8) == 0 {
				step = -step
			}
			now = max(now+step, 1)
		}
	}
}

// TestLimiterFractionsAddUp: three thousand times a third of a millisecond are a second, without a rounding
// error.
func TestLimiterFractionsAddUp(t *testing.T) {
	r, ok := gcra.NewRate(3, 3, 1)
	require.True(t, ok)
	var s gcra.State
	for i := range 3000 {
		now := int64(testNow) + int64(i/3)*nsPerMS
		a := r.Take(s, now, 1)
		require.True(t, a.Allowed, i)
		s = a.State
		require.False(t, r.Take(s, now, 3).Allowed)
	}
	require.Equal(t, "1700000001000000000", string(s.AppendTo(nil)))
}

// TestLimiterWithAnotherRate: another count converts the fraction, and rounds it up.
func TestLimiterWithAnotherRate(t *testing.T) {
	thirds, _ := gcra.NewRate(10, 3, 1)
	sevenths, _ := gcra.NewRate(10, 7, 1)
	whole, _ := gcra.NewRate(10, 1, 1)
	text := func(s gcra.State) string { return string(s.AppendTo(nil)) }
	s := thirds.Take(gcra.State{}, testNow, 1).State
	require.Equal(t, "1700000000000333333+1/3", text(s))
	require.Equal(t, "1700000000000476190+4/7", text(sevenths.Take(s, testNow, 1).State), "1/3 is less than 3/7")
	s = thirds.Take(s, testNow, 1).State
	require.Equal(t, "1700000000000809523+6/7", text(sevenths.Take(s, testNow, 1).State), "2/3 is less than 5/7")
	require.Equal(t, "1700000000001666667", text(whole.Take(s, testNow, 1).State))
	// With a smaller burst the limiter is further ahead than its own span.
	small, _ := gcra.NewRate(1, 3, 1)
	a := small.Take(s, testNow, 1)
	require.False(t, a.Allowed)
	require.Zero(t, a.Remaining)
	require.Equal(t, int64(333_334), a.RetryNS, "it is empty, and no more than that")
	require.True(t, a.Emptied)
	require.Equal(t, "1700000000000333333+1/3", text(a.State))
	a = small.Take(s, testNow, 0)
	require.False(t, a.Emptied, "COST 0 only looks")
	require.Equal(t, s, a.State)
	require.Equal(t, int64(666_667), a.ResetNS, "it is as far from full as before")
}

func TestLimiterBounds(t *testing.T) {
	for _, bad := range [][3]int64{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {-1, 1, 1}, {1, -1, 1}, {1, 1, -1},
		{1, 1, math.MaxInt64}, {2, 1, gcra.Longest / nsPerMS}, {math.MaxInt64, 1, 1}, {math.MaxInt64, 1, math.MaxInt64}} {
		_, ok := gcra.NewRate(bad[0], bad[1], bad[2])
		require.False(t, ok, bad)
	}
	for _, good := range [][3]int64{{1, 1, 1}, {math.MaxInt64, math.MaxInt64, 1}, {1, math.MaxInt64, 1},
		{math.MaxInt64, math.MaxInt64, gcra.Longest/nsPerMS - 1}} {
		r, ok := gcra.NewRate(good[0], good[1], good[2])
		require.True(t, ok, good)
		latest, ok := gcra.NowNS((math.MaxInt64 - gcra.Longest - 1) / 1000)
		require.True(t, ok)
		far, _ := gcra.Parse([]byte("9223372036854775807+1/2"))
		a := r.Take(far, latest, good[0])
		require.False(t, a.Allowed)
		a = r.Take(gcra.State{}, latest, good[0])
		require.True(t, a.Allowed)
		require.Zero(t, a.Remaining)
		require.Positive(t, a.State.EndMS())
		require.True(t, r.Take(gcra.State{}, latest, math.MaxInt64).Never == (good[0] < math.MaxInt64))
	}
	_, ok := gcra.NowNS((math.MaxInt64-gcra.Longest-1)/1000 + 1)
	require.False(t, ok)
	_, ok = gcra.NowNS(-1)
	require.False(t, ok)
}

func TestLimiterStates(t *testing.T) {
	for text, endMS := range map[string]int64{"0": 0, "1": 1, "1000000": 1, "1000000+1/2": 2, "1000001+1/2": 2,
		"1700000000000000000": testNow / nsPerMS, "9223372036854775807+1/2": math.MaxInt64/nsPerMS + 1} {
		s, ok := gcra.Parse([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, endMS, s.EndMS(), text)
		require.Equal(t, text, string(s.AppendTo(nil)))
	}
	for _, text := range []string{"", "-1", "x", "1+", "1+1", "1+1/1", "1+0/3", "1+3/3", "1+4/3", "1+-1/3", "1+1/-3", "1.5", " 1", "1+1/3 "} {
		_, ok := gcra.Parse([]byte(text))
		require.False(t, ok, text)
	}
}

func FuzzLimiterState(f *testing.F) {
	f.Add([]byte("5+1/3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, ok := gcra.Parse(text)
		if !ok {
			return
		}
		require.Equal(t, string(text), string(s.AppendTo(nil)))
		r, _ := gcra.NewRate(7, 7, 7)
		require.GreaterOrEqual(t, r.Take(s, testNow, 1).ResetNS, int64(0))
	})
}
