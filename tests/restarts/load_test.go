package restarts

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// patience is the longest time that a test waits for an event, on a busy machine.
const patience = time.Minute

// clients is the number of clients that use a server at the same time.
const clients = 6

// tokens runs clients that take locks, and kills the server meanwhile. It returns the tokens of each client,
// in the order in which it got them.
func tokens(t *testing.T, p *testkit.Process, duration time.Duration) [][]int64 {
	t.Helper()
	answered := make([][]int64, clients)
	var granted atomic.Int64
	var all sync.WaitGroup
	for i := range answered {
		c := p.Client(t)
		all.Go(func() { answered[i] = lockAll(c, i, &granted) })
	}
	time.Sleep(duration)
	require.Eventually(t, func() bool { return granted.Load() > 0 }, patience, time.Millisecond, "no lock is granted")
	p.Kill()
	all.Wait()
	return answered
}

// lockAll takes locks until the server has died, and counts the grants. Some locks are not released, so that
// they are in the snapshot, if there is one.
func lockAll(c *testkit.Client, client int, granted *atomic.Int64) (answered []int64) {
	owner := "client-" + strconv.Itoa(client)
	for n := 0; ; n++ {
		key := "lock:" + strconv.Itoa((client+n)%4) // clients share the keys
		if n%10 == 0 {
			key = owner + ":" + strconv.Itoa(n)
		}
		v, err := c.Call("LOCK", key, owner, "PX", "60000", "WAIT", "100")
		if err != nil {
			return answered
		}
		if v.IsNull() { // another client held it at the time of the kill
			if _, err = c.Call("LOCK.FORCE", key); err != nil {
				return answered
			}
			continue
		}
		answered = append(answered, v.Int)
		granted.Add(1)
		if n%10 == 0 {
			continue
		}
		if _, err = c.Call("UNLOCK", key, owner, "TOKEN", strconv.FormatInt(v.Int, 10)); err != nil {
			return answered
		}
	}
}

// checkRising fails unless all tokens of a run are different, rise for each client, and are greater than
// last. It returns the highest.
func checkRising(t *testing.T, run int, answered [][]int64, last int64) (highest int64) {
	t.Helper()
	var all []int64
	for _, one := range answered {
		require.True(t, slices.IsSorted(one), "run %d: tokens fell for one client", run)
		all = append(all, one...)
	}
	slices.Sort(all)
	require.NotEmpty(t, all, "run %d took no lock", run)
	require.Equal(t, len(all), len(slices.Compact(slices.Clone(all))), "run %d: a token was given twice", run)
	require.Greater(t, all[0], last, "run %d: not above every token of the runs before", run)
	t.Logf("run %d: %d tokens, %d to %d", run, len(all), all[0], all[len(all)-1])
	return all[len(all)-1]
}
