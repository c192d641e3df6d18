package raft

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAgeOfData: a member has what was committed when it asked, as soon as it has come to the answer.
func TestAgeOfData(t *testing.T) {
	begun := time.Now()
	at := func(ms int64) time.Time { return begun.Add(time.Duration(ms) * time.Millisecond) }
	d := newDistance()
	d.come(1 << 40)
	_, known := d.age(at(0))
	require.False(t, known, "no answer has come")

	d.learn(Position{Offset: 100, Commit: 7}, at(0), at(10), 0)
	d.learn(Position{Offset: 200, Commit: 9}, at(300), at(310), 0)
	d.come(99)
	_, known = d.age(at(320))
	require.False(t, known, "it has come to none")
	d.come(150)
	age, known := d.age(at(320))
	require.True(t, known)
	require.Equal(t, 320*time.Millisecond, age, "of the question, not of the answer")
	d.come(200)
	age, _ = d.age(at(320))
	require.Equal(t, 20*time.Millisecond, age)
	require.EqualValues(t, 9, d.commit)

	for i := range int64(3 * mostAhead) {
		d.learn(Position{Offset: 1000 + i}, at(400+i), at(400+i), 0)
	}
	require.Len(t, d.ahead, mostAhead)
	d.come(1000)
	age, _ = d.age(at(500))
	require.Equal(t, 100*time.Millisecond, age, "the oldest answers are kept: it comes to them first")
}

// TestAgeCountsSleep: a machine that has slept may have a clock that has not counted that.
func TestAgeCountsSleep(t *testing.T) {
	d := newDistance()
	d.learn(Position{}, time.Now(), time.Now(), 0)
	d.come(0)
	age, known := d.age(time.Now().Round(0).Add(time.Hour)) // without the monotonic clock
	require.True(t, known)
	require.GreaterOrEqual(t, age, time.Hour)
	age, _ = d.age(time.Now().Round(0).Add(-time.Hour))
	require.Greater(t, age, 59*time.Minute, "a clock that was set back")
}

// TestSkewOfClocks: only what the exchange cannot explain counts.
func TestSkewOfClocks(t *testing.T) {
	begun := time.Now()
	for _, c := range []struct{ leader, self, skew int64 }{
		{1000, 1000, 0}, {1000, 1040, 0}, {1000, 1100, 50}, {1000, 990, -10}, {10_000, 1000, -9000}, {1000, 10_000, 8950},
	} {
		d := newDistance()
		d.learn(Position{ClockMS: c.leader}, begun, begun.Add(50*time.Millisecond), c.self)
		require.Equal(t, c.skew, d.skewMS, "%+v", c)
	}
}

func TestPositionAsText(t *testing.T) {
	p := Position{Offset: 5, Commit: 6, ClockMS: -7}
	again, err := ParsePosition(p.Text())
	require.NoError(t, err)
	require.Equal(t, p, again)
	again, err = ParsePosition(p.Text() + " more words")
	require.NoError(t, err, "a newer version says more")
	require.Equal(t, p, again)
	_, err = ParsePosition("5 x 7")
	require.Error(t, err)
}
