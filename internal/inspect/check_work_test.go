package inspect

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/checkhistory"
)

// staleNaive finds the stale writes that Report must find, by comparing each write with all grants of its
// key.
func staleNaive(lines []checkhistory.Line, skewMS int64) (stale []checkhistory.StaleWrite, unknown int) {
	var writes []checkhistory.Line
	for _, l := range lines {
		if l.Event == checkhistory.Write {
			writes = append(writes, l)
		}
	}
	slices.SortStableFunc(writes, func(a, b checkhistory.Line) int { return int(a.TimeMS - b.TimeMS) })
	wrote := make(map[string]checkhistory.Line)
	for _, w := range writes {
		if before, ok := wrote[w.Key]; ok && before.Token > w.Token {
			stale = append(stale, checkhistory.StaleWrite{Key: w.Key, AtMS: w.TimeMS, Token: w.Token, Latest: before.Token, SinceMS: before.TimeMS})
			continue
		}
		wrote[w.Key] = w
		known, earliest := false, checkhistory.Line{}
		for _, g := range lines {
			if g.Event != "granted" || g.Key != w.Key {
				continue
			}
			known = known || g.Token == w.Token
			if g.Mode == "exclusive" && g.Token > w.Token && g.TimeMS+skewMS < w.TimeMS && (earliest.Token == 0 || g.TimeMS < earliest.TimeMS) {
				earliest = g
			}
		}
		if !known {
			unknown++
		}
		if earliest.Token != 0 {
			stale = append(stale, checkhistory.StaleWrite{Key: w.Key, AtMS: w.TimeMS, Token: w.Token, Latest: earliest.Token, SinceMS: earliest.TimeMS})
		}
	}
	return stale, unknown
}

// TestReportAgainstNaive: Report finds the same writes as a comparison of all pairs, for any order of times
// and tokens.
func TestReportAgainstNaive(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 3))
		var lines []checkhistory.Line
		token := int64(0)
		for range random.IntN(60) {
			l := checkhistory.Line{Event: "granted", Mode: "exclusive", Key: fmt.Sprint("k", random.IntN(2)), TimeMS: random.Int64N(100)}
			switch random.IntN(4) {
			case 0:
				l.Mode = "shared"
			case 1, 2:
				l.Event, l.Mode = checkhistory.Write, ""
			}
			if l.Token = random.Int64N(40) * 2; l.Event == "granted" {
				token += 2
				l.Token = token + 200*random.Int64N(2) // each token is granted once
			}
			lines = append(lines, l)
		}
		c := checkhistory.Checker{SkewMS: random.Int64N(3)}
		for i := range lines {
			c.Add(&lines[i])
		}
		r := c.Report()
		stale, unknown := staleNaive(lines, c.SkewMS)
		require.Equal(t, stale, r.StaleWrites, "seed %d", seed)
		require.Equal(t, unknown, r.Unknown, "seed %d", seed)
		found += len(stale)
	}
	require.Greater(t, found, 500)
}

// stepsOf counts the work for a history of one key with n holds and one write in each. The history is
// recorded twice, so every event is repeated.
func stepsOf(n int) int64 {
	var c checkhistory.Checker
	for range 2 {
		c.Add(&checkhistory.Line{Event: checkhistory.Began})
		for i := range int64(n) {
			c.Add(&checkhistory.Line{Event: "granted", Mode: "exclusive", Key: "k", TimeMS: 2 * i, Token: i + 1})
			c.Add(&checkhistory.Line{Event: "released", Mode: "exclusive", Key: "k", TimeMS: 2*i + 1, Token: i + 1})
			c.Add(&checkhistory.Line{Event: checkhistory.Write, Key: "k", TimeMS: 2*i + 1, Token: i + 1})
		}
	}
	if r := c.Report(); !r.OK() || r.Grants != n || r.Unknown != 0 {
		panic(fmt.Sprint("a sound history has faults: ", r))
	}
	return c.Steps
}

// TestWorkOfReport: the work grows as n log n.
func TestWorkOfReport(t *testing.T) {
	small, large := stepsOf(1<<10), stepsOf(1<<15)
	require.Less(t, small, int64(1<<10*150))
	require.Less(t, large, small*32*2, "32 times as much, with half as much again for the logarithm")
}
