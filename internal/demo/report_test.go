package demo

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNumbersAreReadable(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1_000: "1,000", 24_312: "24,312", 1_000_000: "1,000,000",
		-5: "-5", -123: "-123", -1_234_567: "-1,234,567"} {
		require.Equal(t, want, commas(n))
	}
	for d, want := range map[time.Duration]string{0: "0 µs", 900: "0.9 µs", 10 * time.Microsecond: "10 µs",
		123_456: "123 µs", 1_230_000: "1.23 ms", 20 * time.Millisecond: "20 ms", 45_600_000: "45.6 ms", 1_500 * time.Millisecond: "1.5 s",
		200 * time.Millisecond: "200 ms", 2 * time.Minute: "120 s"} {
		require.Equal(t, want, shortly(d))
	}
}

func TestHistogram(t *testing.T) {
	require.Empty(t, histogram(nil))
	us := func(list ...int) (ds []time.Duration) {
		for _, n := range list {
			ds = append(ds, time.Duration(n)*time.Microsecond)
		}
		return ds
	}
	full := strings.Repeat("█", chartWidth)
	require.Equal(t, []string{
		"<= 20 µs           2  " + full,
		"<= 50 µs           0",
		"<= 100 µs          1  " + strings.Repeat("█", chartWidth/2),
	}, histogram(us(11, 20, 60)))
	require.Equal(t, []string{"<= 10 µs           1  " + full}, histogram(us(0)))
	require.Equal(t, []string{
		"<= 10 s            1  " + full,
		"<= 20 s            0",
		"<= 50 s            0",
		"<= 100 s           1  " + full,
	}, histogram(us(6_000_000, 60_000_000)))
}

func TestSummary(t *testing.T) {
	r := &Result{orders: 3, repeats: 1, taken: 2, Checks: []Check{{true, "this"}, {true, "that"}},
		selling: &selling{elapsed: 2 * time.Second, resent: 1, lost: map[int32]bool{1: true}, answers: [answerKinds]int{3, 1_000, 2, 0, 0, 0},
			latencies: []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond, 2 * time.Millisecond}}}
	var out bytes.Buffer
	r.Print(&out)
	require.Equal(t, `
4 requests in 2.00 s: 2 a second
  0  sold, also said to who asks again                3
  1  refused: no stock left                       1,000
  2  refused: has bought already                      2
  asked again for the same order: 1 after an answer, 1 after the connection broke before one

latency, as a client sees it: p50 1 ms, p90 2 ms, p99 2 ms, p99.9 2 ms, max 2 ms
  <= 1 ms            3  ████████████████████████████████████████
  <= 2 ms            1  ██████████████

3 orders drained; 2 were delivered again, and 1 of them had been written already

  ok      this
  ok      that

all 2 checks hold
`, out.String())
	require.True(t, r.Holds())

	r.Checks[1].Holds = false
	r.selling.answers[answerOver] = 1
	out.Reset()
	r.Print(&out)
	require.Contains(t, out.String(), "  4  refused: over                                    1\n")
	require.True(t, strings.HasSuffix(out.String(), "  ok      this\n  FAILED  that\n\n1 of 2 checks FAILED\n"), out.String())
	require.False(t, r.Holds())
}

func TestProgress(t *testing.T) {
	var out lockedBuffer
	var done atomic.Int32
	s := stage{label: "selling", total: 8, done: func() int { return int(done.Load()) }, detail: func() string { return "things" }}
	plain := &progress{out: &out}
	plain.draw(s, 2, false)
	plain.say("a %s", "word")
	plain.draw(s, 8, true)
	require.Equal(t, "selling    25 %  things\na word\nselling   100 %  things\n", out.String())

	out.b.Reset()
	live := &progress{out: &out, live: true}
	live.draw(s, 4, false)
	live.say("word")
	live.draw(s, 9, true)
	const erase = "\r\x1b[K"
	half := strings.Repeat("█", barWidth/2) + strings.Repeat("░", barWidth/2)
	require.Equal(t, erase+"selling   "+half+"  50 %  things"+erase+"word\n"+
		erase+"selling   "+strings.Repeat("█", barWidth)+" 100 %  things\n", out.String())

	out.b.Reset()
	end := plain.watch(s)
	done.Store(8)
	end()
	require.True(t, strings.HasSuffix(out.String(), "selling   100 %  things\n"), "the end is always shown")
	require.LessOrEqual(t, strings.Count(out.String(), "\n"), 2)
}
