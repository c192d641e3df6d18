package clock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSteered: whatever the machine's clock does, this one goes on at its pace, and follows slowly.
func TestSteered(t *testing.T) {
	wall, since := int64(10_001_000_000_000), int64(0)
	c := &Steered{wall: func() int64 { return wall }, since: func() int64 { return since }}
	c.Set(0)
	pass := func(us int64) { wall, since = wall+us, since+us }
	pass(500)
	require.EqualValues(t, 10_001_000_000_500, c.NowUS())
	wall += 3_600_000_000 // it is set forwards
	pass(1_000_000)
	require.EqualValues(t, 10_001_001_000_500+500, c.NowUS())
	wall -= 2 * 3_600_000_000 // and back
	before := c.NowUS()
	for range 1000 {
		pass(2500)
		now := c.NowUS()
		require.GreaterOrEqual(t, now-before, int64(2499))
		require.LessOrEqual(t, now-before, int64(2501))
		before = now
	}
	c.Set(50_000_000_000_000)
	require.EqualValues(t, 50_000_000_000_000, c.NowUS())
	c.Set(0)
	require.Equal(t, wall, c.NowUS())
}
