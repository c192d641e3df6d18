package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHoldsOnAFastMachine: the sum of all holds is at most the time that has passed, if one lock is held at a
// time. That holds also for more than a million grants a second, when tokens run ahead of the clock.
func TestHoldsOnAFastMachine(t *testing.T) {
	t.Parallel()
	for _, words := range [][2]string{
		{"LOCK k me PX 60000", "UNLOCK k me"}, {"LOCK k me", "UNLOCK k me"}, {"LOCK k me PX 60000 SHARED", "UNLOCK k me"},
		{"MLOCK 1 k me PX 60000", "MUNLOCK 1 k me"}, {"SEM.ACQUIRE k me LIMIT 1 PX 60000", "SEM.RELEASE k me"}, {"LOCK k me PX 60000", "LOCK.FORCE k"},
	} {
		for _, perUS := range []int{1, 2, 16} {
			t.Run(fmt.Sprintf("%d in a microsecond, %s", perUS, words[0]), func(t *testing.T) {
				t.Parallel()
				clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
				s := toNowhereOn(t, clock)
				lock, unlock := []byte(words[0]+"\r\n"), []byte(words[1]+"\r\n")
				var scratch batch
				for i := range 20_000 {
					s.Feed(lock, &scratch, nil)
					if i%perUS == 0 { // some holds begin in one microsecond and end in the next
						clock.Set(time.UnixMicro(clock.NowUS() + 1))
					}
					s.Feed(unlock, &scratch, nil)
				}
				s.executor.Mu.Lock()
				defer s.executor.Mu.Unlock()
				passed := clock.NowUS() - 1_750_000_000_000_000
				held := &s.executor.Waits.LockEvents.Held
				require.EqualValues(t, 20_000, held.Total[1])
				require.LessOrEqual(t, held.Total[0], passed, "of %d us", passed)
			})
		}
	}
}
