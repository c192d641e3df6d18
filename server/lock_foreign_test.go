package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestSharedLockForeignFields: a field that was written by hand into a lock with shared holders, and is no
// holder's, is ignored by all commands, as in a semaphore.
func TestSharedLockForeignFields(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	c := client(t, srv)
	do := func(command string) string { return c.Do(strings.Fields(command)...).String() }
	const token = `^[1-9][0-9]+$`
	for _, many := range []int{0, 40} { // few holders, and so many that there is a tally
		for _, value := range []string{"1", "x", "$0:1:0", "$5:0:0", "$5:1:x", "$5:1", "$9007199254740991:1:0"} {
			require.Regexp(t, token, do("LOCK s a SHARED PX 60000"))
			for i := range many {
				require.Regexp(t, token, do(fmt.Sprintf("LOCK s other:%d SHARED PX 50000", i)))
			}
			shown := []string{"LOCK.INFO s", "LOCK.INFO s COUNT 100", "LOCK.LIST", "UNLOCK s zed", "UNLOCK s zed SHARED", "RENEW s zed PX 1000", "RENEW s a PX 60000",
				"LOCK.FORCE s OWNER zed", "LOCK s b", "SEM.RELEASE s zed"}
			before := repliesTo(c, shown)
			require.Equal(t, "1", do("HSET s zed "+value))
			require.Equal(t, before, repliesTo(c, shown), value)
			require.Equal(t, fmt.Sprintf("%q", value), do("HGET s zed"))

			require.Regexp(t, token, do("LOCK s zed SHARED PX 1000"), "%s: it becomes a holder's", value)
			require.EqualValues(t, many+2, entries(t, c.Do("LOCK.INFO", "s", "COUNT", "1"))["holding"].Int, value)
			require.Equal(t, "1", do("UNLOCK s zed"))

			require.Equal(t, "1", do("HSET s zed "+value))
			for i := range many {
				require.Equal(t, "1", do(fmt.Sprintf("UNLOCK s other:%d", i)))
			}
			require.Regexp(t, token, do("LOCK s a PX 60000"), "%s: the only reader has it alone", value)
			require.Equal(t, "0", do("UNLOCK s a"))
			require.Equal(t, "1", do("UNLOCK s a"))
			require.Equal(t, "0", do("EXISTS s"), "it goes with the last holder")

			require.Regexp(t, token, do("LOCK s a SHARED PX 1000"))
			require.Equal(t, "1", do("HSET s zed "+value))
			require.Equal(t, "+QUEUED", do("LOCK s b PX 60000 WAIT 0 NOTIFY"))
			clock.Advance(2 * time.Second)
			require.Equal(t, "1", do("UNLOCK s b"), "it goes with the last lease")
			require.Equal(t, "0", do("EXISTS s"))
		}
	}
	checkParking(t, srv)
}

func repliesTo(c *testkit.Client, commands []string) (all []string) {
	for _, command := range commands {
		all = append(all, c.Do(strings.Fields(command)...).String())
	}
	return all
}
