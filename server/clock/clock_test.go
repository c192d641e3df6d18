package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// alarms is a watcher with deadlines of its own; it records when they were due.
type alarms struct {
	clock *Manual
	dueUS []int64 // in order
	rang  []int64 // what the clock showed
	apart []int64 // the arguments of KeepHouse
}

func (a *alarms) NextDueUS() (int64, bool) {
	if len(a.dueUS) == 0 {
		return 0, false
	}
	return a.dueUS[0], true
}

func (a *alarms) RunDue() {
	for len(a.dueUS) > 0 && a.dueUS[0] <= a.clock.NowUS() {
		a.dueUS = a.dueUS[1:]
		a.rang = append(a.rang, a.clock.NowUS())
	}
}

func (a *alarms) KeepHouse(apartUS int64) { a.apart = append(a.apart, apartUS) }

// Rounds of housekeeping are further apart while the clock moves far, and only then.
func TestManualKeepsHouse(t *testing.T) {
	c := NewManual(time.UnixMicro(1000))
	a := &alarms{clock: c}
	Attach(c, a)
	c.Advance(time.Hour)
	require.Empty(t, a.apart)
	c.Advance(2 * time.Hour)
	require.Equal(t, []int64{2_000_000, 0}, a.apart)
}

// Advance stops at each deadline of each watcher, and only at those within its reach.
func TestManualStopsAtEachDeadline(t *testing.T) {
	c := NewManual(time.UnixMicro(1000))
	a, b := &alarms{clock: c, dueUS: []int64{1010, 1030, 1100}}, &alarms{clock: c, dueUS: []int64{1020, 1020}}
	Attach(c, a)
	Attach(c, b)
	c.Advance(50 * time.Microsecond)
	require.Equal(t, []int64{1010, 1030}, a.rang)
	require.Equal(t, []int64{1020, 1020}, b.rang)
	require.EqualValues(t, 1050, c.NowUS())

	Detach(c, a)
	b.dueUS = []int64{1200}
	c.Advance(time.Second)
	require.Len(t, a.rang, 2, "it no longer runs on the clock")
	require.Equal(t, []int64{1020, 1020, 1200}, b.rang)
	Detach(c, a)
	Detach(c, b)
	require.Empty(t, c.watchers)
}

// Set carries nothing out, and what it passed over falls due with the next step, however short.
func TestManualIsSet(t *testing.T) {
	c := NewManual(time.UnixMicro(1000))
	a := &alarms{clock: c, dueUS: []int64{1010}}
	Attach(c, a)
	c.Set(time.UnixMicro(2000))
	require.Empty(t, a.rang)
	c.Advance(0)
	require.Equal(t, []int64{2000}, a.rang, "the clock does not go back for it")
	c.Set(time.UnixMicro(500))
	require.EqualValues(t, 500, c.NowUS())
}

// The system's clock follows the wall, over several looks at it.
func TestSystemFollowsTheWall(t *testing.T) {
	c := NewSystem()
	for end := time.Now().Add(5 * wallEvery); time.Now().Before(end); {
		before := time.Now().UnixMicro()
		now := c.NowUS()
		after := time.Now().UnixMicro()
		require.InDelta(t, before, now, float64(after-before)+1000)
	}
}

// An adjustable clock goes, stands still, steps from deadline to deadline, and goes on from where it stood.
func TestAdjustable(t *testing.T) {
	c := NewAdjustable()
	wall := time.Now().UnixMicro()
	now := c.NowUS()
	require.InDelta(t, wall, now, float64(time.Now().UnixMicro()-wall)+1000)
	at := time.UnixMicro(5_000_000_000)
	c.FreezeAt(at)
	require.True(t, c.Frozen())
	require.Equal(t, at.UnixMicro(), c.NowUS())
	for frozen := time.Now(); time.Since(frozen) < 2*time.Millisecond; { // time goes on
		require.Equal(t, at.UnixMicro(), c.NowUS())
	}

	a := &alarms{clock: &c.stepped, dueUS: []int64{at.UnixMicro() + 10, at.UnixMicro() + 30, at.UnixMicro() + 100}}
	c.Attach(a)
	c.Advance(50 * time.Microsecond)
	require.Equal(t, []int64{at.UnixMicro() + 10, at.UnixMicro() + 30}, a.rang)
	require.Equal(t, at.UnixMicro()+50, c.NowUS())
	c.FreezeAt(at.Add(time.Second))
	require.Len(t, a.rang, 3, "what it passed over is due")

	c.Resume()
	require.False(t, c.Frozen())
	require.InDelta(t, at.UnixMicro()+1_000_000, c.NowUS(), 60e6)
	require.Greater(t, c.NowUS(), at.UnixMicro())
	before := c.NowUS()
	c.Advance(time.Hour)
	require.False(t, c.Frozen(), "it goes on")
	require.InDelta(t, before+3600e6, c.NowUS(), 60e6)
	c.Freeze()
	require.Equal(t, c.NowUS(), c.NowUS())
	c.Detach(a)
	require.Empty(t, c.stepped.watchers)
}
