package commands

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/gcra"
	"lockserver/tests/testkit"
)

func TestLimitManyTake(t *testing.T) {
	f := newLimits(t)
	for _, step := range []struct {
		afterMS      int64
		words, reply string
		effects      []string
	}{
		{0, "LIMIT.MTAKE 2 second 2 2 1000 day 3 3 3000", "[1 0 1 0 1000]",
			[]string{"0 SET second 1700000000500000000 PXAT 1700000000500", "0 SET day 1700000001000000000 PXAT 1700000001000"}},
		{0, "LIMIT.MTAKE 2 second 2 2 1000 day 3 3 3000 COST 0", "[1 0 1 0 1000]", nil},
		{0, "LIMIT.MTAKE 2 second 2 2 1000 day 3 3 3000 COST 2", "[0 1 1 500 1000]", nil},
		{0, "LIMIT.MTAKE 2 day 3 3 3000 second 2 2 1000 COST 2", "[0 2 1 500 1000]", nil},
		{500, "LIMIT.MTAKE 2 second 2 2 1000 day 3 3 3000 COST 2", "[1 0 0 0 2500]",
			[]string{"0 SET second 1700000001500000000 PXAT 1700000001500", "0 SET day 1700000003000000000 PXAT 1700000003000"}},
		{0, "LIMIT.MTAKE 2 second 2 2 1000 day 3 3 3000", "[0 1 0 500 2500]", nil}, // both refuse: the reply names the first
		{1000, "LIMIT.MTAKE 2 second 2 2 1000 day 3 3 3000 COST 2", "[0 2 1 500 1500]", nil},
		{0, "LIMIT.MTAKE 1 second 2 2 1000", "[1 0 1 0 500]", []string{"0 SET second 1700000002000000000 PXAT 1700000002000"}},
		// Another plan: the emptied limiter is stored, the other one is unchanged.
		{0, "LIMIT.MTAKE 2 new 9 9 1000 day 3 3 300", "[0 2 0 100 300]", []string{"0 SET day 1700000001800000000 PXAT 1700000001800"}},
	} {
		f.pastBy(step.afterMS)
		require.Equal(t, step.reply, f.do(splitWords(t, step.words)...).String(), step.words)
		require.Equal(t, step.effects, f.effects(), step.words)
	}
}

func TestLimitGive(t *testing.T) {
	f := newLimits(t)
	for _, step := range []struct {
		words, reply, effect string
	}{
		{"LIMIT.GIVE k 5 10 1000", "[1 5 5 0 0]", ""}, // it is full and stays full
		{"LIMIT.TAKE k 5 10 1000 COST 4", "[1 5 1 0 400]", "0 SET k 1700000000400000000 PXAT 1700000000400"},
		{"LIMIT.GIVE k 5 10 1000 COST 0", "[1 5 1 0 400]", ""},
		{"LIMIT.GIVE k 5 10 1000", "[1 5 2 0 300]", "0 SET k 1700000000300000000 PXAT 1700000000300"},
		{"LIMIT.GIVE k 5 10 1000 COST 2", "[1 5 4 0 100]", "0 SET k 1700000000100000000 PXAT 1700000000100"},
		{"LIMIT.GIVE k 5 10 1000 COST 5", "[1 5 5 0 0]", "0 DEL k"},
		{"LIMIT.TAKE k 3 3 1", "[1 3 2 0 1]", "0 SET k 1700000000000333333+1/3 PXAT 1700000000001"},
		{"LIMIT.TAKE k 3 3 1", "[1 3 1 0 1]", "0 SET k 1700000000000666666+2/3 PXAT 1700000000001"},
		{"LIMIT.GIVE k 3 3 1", "[1 3 2 0 1]", "0 SET k 1700000000000333333+1/3 PXAT 1700000000001"},
		{"LIMIT.GIVE k 3 3 1", "[1 3 3 0 0]", "0 DEL k"},
		// Other terms: the limiter is empty, and gets the units that are given back.
		{"LIMIT.TAKE k 10 10 86400000 COST 10", "[1 10 0 0 86400000]", "0 SET k 1700086400000000000 PXAT 1700086400000"},
		{"LIMIT.GIVE k 10 10 1000 COST 3", "[1 10 3 0 700]", "0 SET k 1700000000700000000 PXAT 1700000000700"},
	} {
		require.Equal(t, step.reply, f.do(splitWords(t, step.words)...).String(), step.words)
		var want []string
		if step.effect != "" {
			want = []string{step.effect}
		}
		require.Equal(t, want, f.effects(), step.words)
	}
}

func TestLimitManyRefusesBadCalls(t *testing.T) {
	f := newLimits(t)
	f.do("HSET", "h", "f", "v")
	f.do("SET", "s", "text")
	f.effects()
	for words, reply := range map[string]string{
		"LIMIT.MTAKE 0 k 1 1 1":                              ErrNumKeysZero.Error(),
		"LIMIT.MTAKE x k 1 1 1":                              ErrNumKeysZero.Error(),
		"LIMIT.MTAKE 2 k 1 1 1":                              ErrTooManyKeys.Error(),
		"LIMIT.MTAKE 2 k 1 1 1 l 1 1":                        ErrTooManyKeys.Error(),
		"LIMIT.MTAKE 1 k 0 1 1":                              ErrLimitRate.Error(),
		"LIMIT.MTAKE 2 k 1 1 1 l 1 1 x":                      ErrLimitRate.Error(),
		"LIMIT.MTAKE 2 k 1 1 1 l 1000 1 31536000000":         ErrLimitLong.Error(),
		"LIMIT.MTAKE 2 k 1 1 1 k 1 1 1":                      ErrLimitTwice.Error(),
		"LIMIT.MTAKE 2 k 5 1 1 l 2 1 1 COST 3":               ErrLimitCostBurst.Error(),
		"LIMIT.MTAKE 1 k 1 1 1 COST -1":                      ErrLimitCost.Error(),
		"LIMIT.MTAKE 1 k 1 1 1 l 1 1 1":                      ErrSyntax.Error(),
		"LIMIT.MTAKE 1 k 1 1 1 NOTIFY a":                     ErrSyntax.Error(),
		"LIMIT.MTAKE 1 k 1 1 1 WAIT -1":                      ErrTimeoutSign.Error(),
		"LIMIT.MTAKE 2 k 1 1 1 h 1 1 1":                      ErrWrongType.Error(),
		"LIMIT.MTAKE 2 s 1 1 1 k 1 1 1":                      ErrLimitState.Error(),
		"LIMIT.MTAKE 1 k 1 1":                                "ERR wrong number of arguments for 'limit.mtake' command",
		"LIMIT.GIVE k 1 1 1 COST 2":                          ErrLimitCostBurst.Error(),
		"LIMIT.GIVE k 1 1 1 COST -1":                         ErrLimitCost.Error(),
		"LIMIT.GIVE k 1 1 1 COST 1 COST 1":                   ErrSyntax.Error(),
		"LIMIT.GIVE k 1 1 1 WAIT 1":                          ErrSyntax.Error(),
		"LIMIT.GIVE k 1 0 1":                                 ErrLimitRate.Error(),
		"LIMIT.GIVE k 1 1":                                   "ERR wrong number of arguments for 'limit.give' command",
		"LIMIT.GIVE h 1 1 1":                                 ErrWrongType.Error(),
		"LIMIT.GIVE s 1 1 1":                                 ErrLimitState.Error(),
		"LIMIT.MTAKE 65" + strings.Repeat(" k 1 1 1", 65):    ErrLimitsMany.Error(),
		"LIMIT.MTAKE 9223372036854775807 k 1 1 1":            ErrTooManyKeys.Error(),
		"LIMIT.MTAKE 9223372036854775808 k 1 1 1 WAIT WAIT1": ErrNumKeysZero.Error(),
	} {
		require.Equal(t, "-"+reply, f.do(splitWords(t, words)...).String(), words)
		require.Empty(t, f.effects(), words)
	}
}

// give models LIMIT.GIVE: the limiter is at most full afterwards, and counts as at worst empty before.
func (m *limiterModel) give(nowNS, cost int64) {
	now := big.NewRat(nowNS, 1)
	if m.tat == nil || m.tat.Cmp(now) <= 0 || cost == 0 {
		return
	}
	if most := new(big.Rat).Add(now, new(big.Rat).Mul(m.interval, m.burst)); m.tat.Cmp(most) > 0 {
		m.tat = most
	}
	m.tat = new(big.Rat).Sub(m.tat, new(big.Rat).Mul(m.interval, big.NewRat(cost, 1)))
}

// TestLimitersAgainstModel sends random calls that name one or several limiters, and compares each figure
// with models in rational numbers.
func TestLimitersAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range testkit.Steps(60, 600) {
		f := newLimits(t)
		var models [3]limiterModel
		var words [3]string
		least := int64(1 << 40)
		for i := range models {
			burst, count, period := 1+random.Int64N(9), 1+random.Int64N(12), 1+random.Int64N(2000)
			models[i] = limiterModel{burst: big.NewRat(burst, 1), interval: big.NewRat(period*nsPerMS, count)}
			words[i] = fmt.Sprintf("limiter:%d %d %d %d", i, burst, count, period)
			least = min(least, burst)
		}
		for step := range 60 {
			now, cost := f.nowMS*nsPerMS, random.Int64N(least+1)
			chosen := random.Perm(len(models))[:1+random.IntN(len(models))]
			if random.IntN(4) == 0 {
				i := chosen[0]
				models[i].give(now, cost)
				_, remaining, _, reset := models[i].take(now, 0)
				want := fmt.Sprintf("[1 %s %d 0 %d]", models[i].burst.Num(), remaining, gcra.CeilMS(reset))
				require.Equal(t, want, f.do(splitWords(t, fmt.Sprintf("LIMIT.GIVE %s COST %d", words[i], cost))...).String(), "%d, %d", round, step)
			} else {
				call := fmt.Sprint("LIMIT.MTAKE ", len(chosen))
				for _, i := range chosen {
					call += " " + words[i]
				}
				call += fmt.Sprint(" COST ", cost)
				require.Equal(t, manyTakes(&models, chosen, now, cost), f.do(splitWords(t, call)...).String(), "%d, %d: %s", round, step, call)
			}
			f.pastBy(random.Int64N(700))
		}
	}
}

// manyTakes returns the model's reply to LIMIT.MTAKE.
func manyTakes(models *[3]limiterModel, chosen []int, now, cost int64) string {
	refused, least, longest, latest := 0, int64(-1), int64(0), int64(0)
	after := *models
	for place, i := range chosen {
		if allowed, _, retry, _ := after[i].take(now, cost); !allowed {
			longest = max(longest, retry)
			if refused == 0 {
				refused = place + 1
			}
		}
	}
	if refused == 0 {
		*models = after
	}
	for _, i := range chosen {
		_, remaining, _, reset := models[i].take(now, 0)
		if least < 0 || remaining < least {
			least = remaining
		}
		latest = max(latest, reset)
	}
	return fmt.Sprintf("[%d %d %d %d %d]", boolInt(refused == 0), refused, least, gcra.CeilMS(longest), gcra.CeilMS(latest))
}
