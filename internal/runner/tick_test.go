package runner

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/lockservertest"
	"lockserver/tests/testkit"
)

// schedule is a job that many machines start, each by its own clock.
type schedule struct {
	every, apart time.Duration // apart is the difference between the clocks of neighbours
	at           time.Duration // start of the job, after each multiple of every
	tick         time.Duration
	ticks        int
}

const machines = 20

// TestTicksRunOnce plays hundreds of ticks of a job, 10,000 in the long form, on machines with clocks of
// their own, in the server's time. Each tick has exactly one run, whichever machine comes first.
func TestTicksRunOnce(t *testing.T) {
	for name, s := range map[string]schedule{
		"each night, the clocks 30 s apart":          {every: 24 * time.Hour, apart: 30 * time.Second, tick: 24 * time.Hour, ticks: testkit.Steps(300, 10_000)},
		"each night at three, with ticks of an hour": {every: 24 * time.Hour, at: 3 * time.Hour, apart: 30 * time.Second, tick: time.Hour, ticks: testkit.Steps(150, 1_000)},
		"each minute, the clocks up to 57 s apart":   {every: time.Minute, apart: 3 * time.Second, tick: time.Minute, ticks: testkit.Steps(150, 1_000)},
	} {
		t.Run(name, func(t *testing.T) { s.play(t) })
	}
}

func (s schedule) play(t *testing.T) {
	srv := lockservertest.Run(t)
	begin := time.Unix(0, 0).UTC().Add(20_000 * 24 * time.Hour)
	c := testkit.Dial(t, srv.Dial)
	const together = 50 // ticks in one batch
	for first := 0; first < s.ticks; first += together {
		var commands [][]string
		for n := first; n < first+together; n++ {
			for m := range machines {
				starts := begin.Add(time.Duration(n)*s.every + s.at + (2*time.Duration(m)-machines+1)*s.apart/2)
				commands = append(commands, []string{"TEST.CLOCK", "FREEZE", strconv.FormatInt(starts.UnixMilli(), 10)})
				words := tickCommand("nightly", fmt.Sprint("machine-", (m+n)%machines), s.tick, 2*s.tick, takeTick)
				commands = append(commands, words)
			}
		}
		replies := c.Pipeline(commands)
		var got []int64
		for i := 1; i < len(replies); i += 2 {
			require.False(t, replies[i].IsError(), replies[i].Str)
			if ran := replies[i].Int; ran != 0 {
				got = append(got, ran)
			}
		}
		var want []int64
		for n := first; n < first+together; n++ {
			want = append(want, begin.Add(time.Duration(n)*s.every+s.at).UnixMilli())
		}
		require.True(t, slices.Equal(want, got), "from tick %d on: %v, not %v", first, got, want)
	}
}

// TestTickScript: the edges of a tick, repetition, and the record.
func TestTickScript(t *testing.T) {
	srv := lockservertest.Run(t)
	c := testkit.Dial(t, srv.Dial)
	at := func(d time.Duration) { srv.FreezeAt(time.Unix(6_000_000, 0).Add(d)) }
	ask := func(owner, mode string) int64 {
		t.Helper()
		v := c.Do(tickCommand("k", owner, time.Minute, time.Hour, mode)...)
		require.False(t, v.IsError(), v.Str)
		return v.Int
	}
	const tick = 6_000_000_000
	at(-30 * time.Second)
	require.EqualValues(t, tick, ask("a", lookAtTick))
	require.EqualValues(t, 0, c.Do("EXISTS", "k:tick").Int, "a look changes nothing")
	require.EqualValues(t, tick, ask("a", takeTick))
	require.EqualValues(t, tick, ask("a", takeTick), "sent again")
	require.Equal(t, "6000000000 a", c.Do("GET", "k:tick").Str)
	require.EqualValues(t, time.Hour.Milliseconds(), c.Do("PTTL", "k:tick").Int)
	at(30*time.Second - time.Millisecond)
	require.Zero(t, ask("b", takeTick))
	require.Zero(t, ask("b", lookAtTick))
	at(30 * time.Second)
	require.EqualValues(t, tick+60_000, ask("b", takeTick))
	at(0)
	require.Zero(t, ask("a", takeTick), "a clock that steps back")
	at(time.Hour + time.Minute)
	require.EqualValues(t, 0, c.Do("EXISTS", "k:tick").Int)
	c.Do("SET", "k:tick", "mine")
	require.True(t, c.Do(tickCommand("k", "a", time.Minute, time.Hour, takeTick)...).IsError())
	require.Equal(t, "mine", c.Do("GET", "k:tick").Str)
}
