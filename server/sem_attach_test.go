package server

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSemaphoreLossesAmongManyHolders: a connection that is attached to all holders of a large semaphore
// hears of exactly those that lost their permits, with the reason.
func TestSemaphoreLossesAmongManyHolders(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	c, ear := client(t, srv), client(t, srv)
	ear.Do("HELLO", "3")
	const n = 60
	tokens, attach := map[int]int64{}, []string{"LOCK.ATTACH"}
	for i := range n {
		tokens[i] = c.Do("SEM.ACQUIRE", "s", fmt.Sprint("o", i), "LIMIT", "100", "PX", strconv.Itoa(1000*(i+1))).Int
		attach = append(attach, fmt.Sprint("o", i))
	}
	require.EqualValues(t, n, ear.Do(attach...).Int)
	lost := func(i int, why string) {
		t.Helper()
		require.Equal(t, fmt.Sprintf(`>["lock-lost" "s" %d "%s"]`, tokens[i], why), ear.Receive().String())
	}
	clock.Advance(time.Second)
	lost(0, "expired")
	require.EqualValues(t, 0, c.Do("SEM.RELEASE", "s", "o1").Int)
	require.EqualValues(t, 1, c.Do("LOCK.FORCE", "s", "OWNER", "o2").Int)
	lost(2, "forced")
	require.EqualValues(t, 1, c.Do("SEM.RESIZE", "s", "200").Int)
	require.EqualValues(t, 1, c.Do("SEM.RENEW", "s", "o3", "PX", "90000").Int)
	require.EqualValues(t, 1, c.Do("HDEL", "s", "o4").Int)
	lost(4, "overwritten")
	tokens[4] = c.Do("SEM.ACQUIRE", "s", "o4", "PX", "9000").Int
	require.EqualValues(t, 0, c.Do("HSET", "s", "o5", "x").Int)
	lost(5, "overwritten")
	clock.Advance(9 * time.Second)
	var got []string
	for range 5 {
		got = append(got, ear.Receive().Elems[2].String())
	}
	require.ElementsMatch(t, []string{fmt.Sprint(tokens[6]), fmt.Sprint(tokens[7]), fmt.Sprint(tokens[8]), fmt.Sprint(tokens[9]), fmt.Sprint(tokens[4])}, got)
	require.EqualValues(t, 1, c.Do("DEL", "s").Int)
	left := map[int64]bool{}
	for range n - 10 + 1 { // o3 and those from o10 on
		v := ear.Receive()
		require.Equal(t, "deleted", v.Elems[3].Str)
		left[v.Elems[2].Int] = true
	}
	require.Len(t, left, n-9)
	require.True(t, left[tokens[3]])
	require.Equal(t, "+PONG", ear.Do("PING").String(), "nothing else was sent")
}
