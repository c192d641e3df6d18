package commands

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/gcra"
)

func newLimits(t testing.TB) *fixture {
	return newFixture(t, LimitRows, StringRows, KeyRows, HashRows)
}

// pastBy moves the clock in one step, possibly back.
func (f *fixture) pastBy(ms int64) {
	f.nowMS += ms
	f.store.SetNow(f.nowMS * 1000)
	for f.store.ExpireDue(100) {
	}
}

func TestLimitTake(t *testing.T) {
	f := newLimits(t)
	for _, step := range []struct {
		afterMS       int64
		words, reply  string
		effect, wants string
	}{
		{0, "LIMIT.TAKE k 3 10 1000", "[1 3 2 0 100]", "0 SET k 1700000000100000000 PXAT 1700000000100", ""},
		{0, "LIMIT.TAKE k 3 10 1000 COST 2", "[1 3 0 0 300]", "0 SET k 1700000000300000000 PXAT 1700000000300", ""},
		{0, "LIMIT.TAKE k 3 10 1000", "[0 3 0 100 300]", "", ""},
		{99, "LIMIT.TAKE k 3 10 1000", "[0 3 0 1 201]", "", ""},
		{0, "LIMIT.TAKE k 3 10 1000 COST 3", "[0 3 0 201 201]", "", ""},
		{1, "LIMIT.TAKE k 3 10 1000 COST 0", "[1 3 1 0 200]", "", ""},
		{0, "LIMIT.TAKE k 3 10 1000", "[1 3 0 0 300]", "0 SET k 1700000000400000000 PXAT 1700000000400", ""},
		{0, "LIMIT.TAKE k 5 10 1000 COST 0", "[1 5 2 0 300]", "", ""}, // other terms, the same state
		{300, "EXISTS k", "1", "", ""},
		{1, "EXISTS k", "0", "0 DEL k", ""}, // idle: the key is gone
		{0, "LIMIT.TAKE k 3 10 1000 COST 0", "[1 3 3 0 0]", "", ""},
		{0, "LIMIT.TAKE third 3 3 1", "[1 3 2 0 1]", "0 SET third 1700000000401333333+1/3 PXAT 1700000000402", ""},
		{0, "LIMIT.TAKE third 3 3 1 COST 2", "[1 3 0 0 1]", "0 SET third 1700000000402000000 PXAT 1700000000402", ""},
		{0, "LIMIT.TAKE third 3 3 1", "[0 3 0 1 1]", "", ""},
		// Another plan: the limiter is empty, and fills at the new rate from now on.
		{0, "LIMIT.TAKE plan 10 10 86400000 COST 10", "[1 10 0 0 86400000]", "0 SET plan 1700086400401000000 PXAT 1700086400401", ""},
		{0, "LIMIT.TAKE plan 1000 1000 1000 COST 0", "[1 1000 0 0 86400000]", "", ""},
		{0, "LIMIT.TAKE plan 1000 1000 1000", "[0 1000 0 1 1000]", "0 SET plan 1700000001401000000 PXAT 1700000001401", ""},
		{0, "LIMIT.TAKE plan 1000 1000 1000", "[0 1000 0 1 1000]", "", ""},
		{1, "EXISTS third", "1", "", ""},
		{0, "LIMIT.TAKE plan 1000 1000 1000", "[1 1000 0 0 1000]", "0 SET plan 1700000001402000000 PXAT 1700000001402", ""},
		{1, "EXISTS third", "0", "0 DEL third", ""},
		{998, "LIMIT.TAKE plan 1000 1000 1000 COST 999", "[1 1000 0 0 1000]", "0 SET plan 1700000002401000000 PXAT 1700000002401", ""},
	} {
		f.pastBy(step.afterMS)
		require.Equal(t, step.reply, f.do(splitWords(t, step.words)...).String(), step.words)
		var want []string
		if step.effect != "" {
			want = []string{step.effect}
		}
		require.Equal(t, want, f.effects(), step.words)
	}
}

func TestLimitTakeRefusesBadCalls(t *testing.T) {
	f := newLimits(t)
	f.do("HSET", "h", "f", "v")
	f.do("SET", "s", "text")
	f.do("SET", "negative", "-5")
	f.do("SET", "full", fmt.Sprint(math.MaxInt64))
	f.effects()
	for words, reply := range map[string]string{
		"LIMIT.TAKE k 0 1 1":                       ErrLimitRate.Error(),
		"LIMIT.TAKE k 1 0 1":                       ErrLimitRate.Error(),
		"LIMIT.TAKE k 1 1 0":                       ErrLimitRate.Error(),
		"LIMIT.TAKE k -1 1 1":                      ErrLimitRate.Error(),
		"LIMIT.TAKE k 1.5 1 1":                     ErrLimitRate.Error(),
		"LIMIT.TAKE k 1 1 x":                       ErrLimitRate.Error(),
		"LIMIT.TAKE k 9223372036854775808 1 1":     ErrLimitRate.Error(),
		"LIMIT.TAKE k 9223372036854775807 1 1":     ErrLimitLong.Error(),
		"LIMIT.TAKE k 1 1 9223372036854775807":     ErrLimitLong.Error(),
		"LIMIT.TAKE k 1000 1 31536000000":          ErrLimitLong.Error(),
		"LIMIT.TAKE k 1 1 1 COST -1":               ErrLimitCost.Error(),
		"LIMIT.TAKE k 1 1 1 COST x":                ErrLimitCost.Error(),
		"LIMIT.TAKE k 1 1 1 COST 2":                ErrLimitCostBurst.Error(),
		"LIMIT.TAKE k 1 1 1 COST":                  ErrSyntax.Error(),
		"LIMIT.TAKE k 1 1 1 COST 1 COST 1":         ErrSyntax.Error(),
		"LIMIT.TAKE k 1 1 1 WAIT 1 WAIT 1":         ErrSyntax.Error(),
		"LIMIT.TAKE k 1 1 1 WAIT x":                ErrTimeout.Error(),
		"LIMIT.TAKE k 1 1 1 WAIT -1":               ErrTimeoutSign.Error(),
		"LIMIT.TAKE k 1 1 1 SOON":                  ErrSyntax.Error(),
		"LIMIT.TAKE h 1 1 1":                       ErrWrongType.Error(),
		"LIMIT.TAKE s 1 1 1":                       ErrLimitState.Error(),
		"LIMIT.TAKE negative 1 1 1":                ErrLimitState.Error(),
		"LIMIT.TAKE k 1 1":                         "ERR wrong number of arguments for 'limit.take' command",
		"CL.THROTTLE k 0 0 1":                      ErrThrottleZero.Error(),
		"CL.THROTTLE k 0 1 0":                      ErrThrottleZero.Error(),
		"CL.THROTTLE k -1 1 1":                     ErrThrottleNegative.Error(),
		"CL.THROTTLE k 1 -1 1":                     ErrThrottleNegative.Error(),
		"CL.THROTTLE k 1 1 -1":                     ErrThrottleNegative.Error(),
		"CL.THROTTLE k 1 1 1 -1":                   ErrThrottleNegative.Error(),
		"CL.THROTTLE k x 1 1":                      ErrNotInteger.Error(),
		"CL.THROTTLE k 1 1 1 1 1":                  "ERR wrong number of arguments for 'cl.throttle' command",
		"CL.THROTTLE k 9223372036854775807 1 1":    ErrLimitLong.Error(),
		"CL.THROTTLE k 1 1 9223372036854775807":    ErrLimitLong.Error(),
		"CL.THROTTLE k 1000000000000 1 1000000000": ErrLimitLong.Error(),
		"CL.THROTTLE h 1 1 1":                      ErrWrongType.Error(),
		"CL.THROTTLE s 1 1 1":                      ErrLimitState.Error(),
	} {
		require.Equal(t, "-"+reply, f.do(splitWords(t, words)...).String(), words)
		require.Empty(t, f.effects(), words)
	}
	// A state beyond the end of time is that of an empty limiter.
	require.Equal(t, "[0 1 0 1 1]", f.do("LIMIT.TAKE", "full", "1", "1", "1", "COST", "1").String())
	require.Equal(t, "[1 9223372036854775807 9223372036854775806 0 1]", f.do("LIMIT.TAKE", "k", fmt.Sprint(math.MaxInt64), fmt.Sprint(math.MaxInt64), "1").String())
	for _, ms := range []int64{-1, (math.MaxInt64-gcra.Longest)/1_000_000 + 1} {
		f.nowMS = ms
		f.store.SetNow(ms * 1000)
		require.Equal(t, "-"+ErrLimitClock.Error(), f.do("LIMIT.TAKE", "new", "1", "1", "1").String())
		require.Equal(t, "-"+ErrLimitClock.Error(), f.do("CL.THROTTLE", "new", "1", "1", "1").String())
	}
}

// TestThrottleAsRedisCell plays the cases of redis-cell's README, of its test over the wire, and of the unit
// test of its algorithm.
func TestThrottleAsRedisCell(t *testing.T) {
	f := newLimits(t)
	f.want("[0 16 15 -1 2]", "CL.THROTTLE", "user123", "15", "30", "60")
	f.want("[0 1 0 -1 2]", "CL.THROTTLE", "wire", "0", "1", "2", "1")
	f.want("[1 1 0 2 2]", "CL.THROTTLE", "wire", "0", "1", "2", "1")
	f.pastBy(2000)
	f.want("[0 1 0 -1 2]", "CL.THROTTLE", "wire", "0", "1", "2", "1")
	start := f.nowMS
	for i, c := range []struct {
		atMS, quantity, remaining, resetMS, retryMS int64
		limited                                     bool
	}{
		{0, 6, 5, 0, -1, true},
		{0, 1, 4, 1000, -1, false},
		{0, 1, 3, 2000, -1, false},
		{0, 1, 2, 3000, -1, false},
		{0, 1, 1, 4000, -1, false},
		{0, 1, 0, 5000, -1, false},
		{0, 1, 0, 5000, 1000, true},
		{3000, 1, 2, 3000, -1, false},
		{3100, 1, 1, 3900, -1, false},
		{4000, 1, 1, 4000, -1, false},
		{8000, 1, 4, 1000, -1, false},
		{9500, 1, 4, 1000, -1, false},
		{9500, 0, 4, 1000, -1, false},
		{9500, 2, 2, 3000, -1, false},
		{9500, 5, 2, 3000, 3000, true},
	} {
		f.pastBy(start + c.atMS - f.nowMS)
		retry := int64(-1)
		if c.retryMS >= 0 {
			retry = (c.retryMS + 999) / 1000
		}
		want := fmt.Sprintf("[%d 5 %d %d %d]", boolInt(c.limited), c.remaining, retry, (c.resetMS+999)/1000)
		f.want(want, "CL.THROTTLE", "foo", "4", "1", "1", fmt.Sprint(c.quantity))
		require.NotEmpty(t, want, i)
	}
}

// TestLimitersAreOneKind: both commands store a limiter in the same form, that of redis-cell.
func TestLimitersAreOneKind(t *testing.T) {
	f := newLimits(t)
	f.do("SET", "k", fmt.Sprint(startMS*1_000_000+2_000_000_000), "PX", "2000")
	f.want("[1 2 0 1 2]", "CL.THROTTLE", "k", "1", "1", "1")
	f.want("[0 2 0 1000 2000]", "LIMIT.TAKE", "k", "2", "1", "1000")
}

// TestTakeDoesNotAllocate: a take from a limiter in use allocates nothing, because its state is overwritten.
func TestTakeDoesNotAllocate(t *testing.T) {
	f := newLimits(t)
	require.Zero(t, f.allocsOf("LIMIT.TAKE", "k", "1000000", "1000000", "1000"))
	require.Zero(t, f.allocsOf("CL.THROTTLE", "k", "1000000", "1000000", "1"))
	require.Zero(t, f.allocsOf("LIMIT.TAKE", "k", "1", "1", "3600000"), "refused")
}
