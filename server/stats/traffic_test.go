package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRates(t *testing.T) {
	var r Rates
	var sum Sums
	const startUS = 1_795_000_000_000_000
	require.True(t, r.Due(startUS))
	for ms := range int64(5000) { // a command a millisecond; each takes 20 bytes
		if nowUS := startUS + ms*1000; r.Due(nowUS) {
			r.Sample(nowUS, sum)
		}
		sum.Commands++
		sum.Read(20)
		sum.Batch(100)
	}
	require.False(t, r.Due(startUS+4_999_999))
	rise := r.Rise()
	require.EqualValues(t, 1000, PerSecond(rise.Commands))
	require.EqualValues(t, 1000, PerSecond(rise.Reads))
	require.EqualValues(t, 20_000, PerSecond(rise.InBytes))
	require.EqualValues(t, 100, rise.BatchUS/rise.Batches)

	r.Sample(startUS+5_800_000, sum) // nothing more came: half of the time
	require.EqualValues(t, 500, PerSecond(r.Rise().Commands))
	r.Sample(startUS+60_000_000, sum)
	require.Zero(t, r.Rise())

	sum.Commands += 16
	r.Sample(startUS, sum) // the clock was set back
	require.Zero(t, r.Rise().Commands)
	sum.Commands += 16
	r.Sample(startUS+slotUS, sum)
	require.EqualValues(t, 10, PerSecond(r.Rise().Commands))
}

// A test may set the clock to 1970, where there are few slots before.
func TestRatesOfLongAgo(t *testing.T) {
	for _, us := range []int64{0, 1000, slotUS, 16 * slotUS, 17 * slotUS} {
		var r Rates
		r.Sample(1_795_000_000_000_000, Sums{Commands: 5})
		require.True(t, r.Due(us))
		r.Sample(us, Sums{Commands: 100})
		require.False(t, r.Due(us))
		require.Zero(t, r.Rise().Commands)
		r.Sample(us+slotUS, Sums{Commands: 116})
		require.EqualValues(t, 10, PerSecond(r.Rise().Commands))
	}
}

func TestRatesOfTheFirstMoments(t *testing.T) {
	var r Rates
	r.Sample(1_795_000_000_000_000, Sums{})
	r.Sample(1_795_000_000_000_000+slotUS, Sums{Commands: 160})
	require.EqualValues(t, 100, PerSecond(r.Rise().Commands))
}

func TestBuffers(t *testing.T) {
	var b Buffers
	b.Sample(10, 1)
	b.Tick()
	b.Sample(3, 30)
	for range recentSeconds - 2 {
		b.Tick()
	}
	in, out := b.Most()
	require.Equal(t, [2]int{10, 30}, [2]int{in, out})
	b.Tick()
	in, out = b.Most()
	require.Equal(t, [2]int{3, 30}, [2]int{in, out})
	b.Tick()
	in, out = b.Most()
	require.Equal(t, [2]int{0, 0}, [2]int{in, out})
}

// TestLongestTurn: it is the longest of batches and other turns. A clock that was set back counts as none.
func TestLongestTurn(t *testing.T) {
	var sum Traffic
	sum.Batch(100)
	sum.Turn(700)
	sum.Turn(-5)
	sum.Batch(300)
	require.EqualValues(t, 700, sum.LongestUS)
	sum.Batch(900)
	require.EqualValues(t, 900, sum.LongestUS)
	require.EqualValues(t, 1300, sum.BatchUS, "other turns are no batches")
}
