package restarts

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestSemaphoresOutliveKills: owners that held permits at the kill still hold them after the start, with the
// same tokens and the same ends of their leases. The limit is the same, and the available permits are counted
// exactly. The data comes from the log, or from a snapshot.
func TestSemaphoresOutliveKills(t *testing.T) {
	for _, appendOnly := range []bool{true, false} {
		t.Run(fmt.Sprint("log ", appendOnly), func(t *testing.T) { killSemaphores(t, appendOnly) })
	}
}

func killSemaphores(t *testing.T, appendOnly bool) {
	seed := testkit.SeedOr(*seedFlag)
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c := child{Dir: t.TempDir(), StartMS: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), Speed: 0, AppendOnly: appendOnly}
	const limit = 200
	permits, tokens := map[string]int64{}, map[string]int64{}
	used := func() (sum int64) {
		for _, n := range permits {
			sum += n
		}
		return sum
	}
	for range 3 {
		p := startChild(t, c)
		conn := p.Client(t)
		for range 150 {
			owner := "owner-" + strconv.Itoa(random.IntN(40))
			n := 1 + random.Int64N(6)
			if random.IntN(3) > 0 {
				v := conn.Do("SEM.ACQUIRE", "s", owner, "LIMIT", strconv.Itoa(limit), "PERMITS", strconv.FormatInt(n, 10), "PX", leaseOf(owner))
				require.Equal(t, used()+n > limit, v.IsNull(), v)
				if !v.IsNull() {
					require.True(t, permits[owner] == 0 || tokens[owner] == v.Int)
					permits[owner], tokens[owner] = permits[owner]+n, v.Int
				}
				continue
			}
			v := conn.Do("SEM.RELEASE", "s", owner, "PERMITS", strconv.FormatInt(n, 10))
			require.Equal(t, permits[owner] < n, v.IsNull())
			if permits[owner] >= n {
				permits[owner] -= n
				require.Equal(t, permits[owner], v.Int)
			}
		}
		want := fmt.Sprintf(`"limit" %d "available" %d "used" %d`, limit, limit-used(), used())
		before := conn.Do("SEM.INFO", "s").String()
		require.Contains(t, before, want)
		if !appendOnly {
			require.Equal(t, "OK", conn.Do("SAVE").Str)
		}
		p.Kill()
		p = startChild(t, c)
		conn = p.Client(t)
		require.Equal(t, before, conn.Do("SEM.INFO", "s").String())
		for owner, n := range permits {
			got := conn.Do("SEM.RENEW", "s", owner, "PX", leaseOf(owner), "TOKEN", strconv.FormatInt(max(1, tokens[owner]), 10)).Int
			require.Equal(t, n > 0, got == 1, owner)
		}
		require.True(t, conn.Do("SEM.ACQUIRE", "s", "large", "PERMITS", strconv.FormatInt(limit-used()+1, 10), "PX", "1000").IsNull())
		p.Kill()
	}
	c.StartMS += 20 * 60_000 // the leases of owners 0 to 10 have ended
	for n := range 11 {
		permits["owner-"+strconv.Itoa(n)] = 0
	}
	conn := startChild(t, c).Client(t)
	require.Contains(t, conn.Do("SEM.INFO", "s").String(), fmt.Sprintf(`"available" %d "used" %d`, limit-used(), used()))
}
