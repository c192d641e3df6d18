package lockbench

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestJudgeCountsSectionsAndHandoffs(t *testing.T) {
	o, err := judge([]record{
		{seq: []int64{1, 2, 5}, wait: []time.Duration{3, 1, 2}},
		{seq: []int64{3, 6}, wait: []time.Duration{9, 8}},
		{seq: []int64{4}, wait: []time.Duration{4, 7}},
	}, 6)
	require.NoError(t, err)
	require.Equal(t, 6, o.sections)
	require.Equal(t, 4, o.handoffs, "1 and 2 are the same client's")
	require.Equal(t, []int{3, 2, 1}, o.shares)
	require.Equal(t, []time.Duration{1, 2, 3, 4, 7, 8, 9}, o.waits, "who was never served has waited, too")
	require.InDelta(t, 1.0/3, o.slowestToFastest(), 1e-9)
	require.InDelta(t, 50, o.deviation(), 1e-9)
}

func TestJudgeSeesTwoInside(t *testing.T) {
	for name, c := range map[string]struct {
		records []record
		counter int64
	}{
		"both set 2, one increment is lost":  {[]record{{seq: []int64{1, 2}}, {seq: []int64{2}}}, 2},
		"the counter stands too high":        {[]record{{seq: []int64{1}}, {seq: []int64{2}}}, 3},
		"two clients set one number":         {[]record{{seq: []int64{1, 3}}, {seq: []int64{3}}}, 3},
		"a number beyond the counter":        {[]record{{seq: []int64{1}}, {seq: []int64{4}}}, 2},
		"an increment that nobody has noted": {[]record{{}, {}}, 1},
	} {
		_, err := judge(c.records, c.counter)
		require.ErrorContains(t, err, "no mutual exclusion", name)
	}
}

func TestSharesOfNoClient(t *testing.T) {
	o, err := judge([]record{{}, {}}, 0)
	require.NoError(t, err)
	require.Zero(t, o.sections+o.handoffs)
	require.True(t, math.IsNaN(o.deviation()), "a contest in which nothing happened is not fair")
	require.True(t, math.IsNaN(o.slowestToFastest()))
	require.True(t, math.IsNaN(outcome{}.slowestToFastest()))
	require.True(t, math.IsNaN(outcome{}.deviation()))
}

func TestFairShares(t *testing.T) {
	o := outcome{sections: 30, shares: []int{10, 10, 10}}
	require.Zero(t, o.deviation())
	require.Equal(t, 1.0, o.slowestToFastest())
	o = outcome{sections: 40, shares: []int{0, 10, 30, 0}}
	require.Equal(t, 200.0, o.deviation())
	require.Zero(t, o.slowestToFastest())
}
