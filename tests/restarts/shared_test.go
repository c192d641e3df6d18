package restarts

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// sharers is the number of owners.
const sharers = 12

// heldSince is the time of a hold in LOCK.INFO. After a restart it is not known where tokens have jumped
// ahead of the clock.
var heldSince = regexp.MustCompile(`"held-since" \S+`)

// info returns LOCK.INFO of the key k, without the times of holds.
func info(conn *testkit.Client) string {
	return heldSince.ReplaceAllString(conn.Do("LOCK.INFO", "k").String(), "")
}

// TestSharedHoldersOutliveKills: owners that shared a lock at the kill still share it after the start. They
// have the same tokens, the same holds and the same ends of their leases. Owners that had released it do not.
func TestSharedHoldersOutliveKills(t *testing.T) {
	seed := testkit.SeedOr(*seedFlag)
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c := child{Dir: t.TempDir(), StartMS: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), Speed: 0, AppendOnly: true}
	holds, tokens := map[string]int64{}, map[string]int64{}
	for range 4 {
		p := startChild(t, c)
		conn := p.Client(t)
		for owner, token := range tokens {
			require.Equal(t, token, conn.Do("LOCK", "k", owner, "SHARED", "ONCE", "PX", leaseOf(owner)).Int)
		}
		for range 100 {
			owner := "owner-" + strconv.Itoa(random.IntN(sharers))
			if random.IntN(3) > 0 {
				token := conn.Do("LOCK", "k", owner, "SHARED", "PX", leaseOf(owner)).Int
				require.Positive(t, token)
				if holds[owner]++; holds[owner] > 1 {
					require.Equal(t, tokens[owner], token)
				}
				tokens[owner] = token
				continue
			}
			v := conn.Do("UNLOCK", "k", owner)
			require.Equal(t, holds[owner] == 0, v.IsNull())
			if holds[owner] = max(0, holds[owner]-1); holds[owner] == 0 {
				delete(holds, owner)
				delete(tokens, owner)
			}
		}
		before := info(conn)
		p.Kill()
		p = startChild(t, c)
		conn = p.Client(t)
		require.Equal(t, before, info(conn))
		for owner, token := range tokens {
			require.EqualValues(t, 1, conn.Do("RENEW", "k", owner, "PX", leaseOf(owner), "TOKEN", strconv.FormatInt(token, 10)).Int)
		}
		require.True(t, conn.Do("LOCK", "k", "writer", "PX", "1000").IsNull())
		p.Kill()
	}
	c.StartMS += 13 * 60_000 // the leases of owners 0 to 3 have ended
	conn := startChild(t, c).Client(t)
	for n := range sharers {
		owner := "owner-" + strconv.Itoa(n)
		_, held := tokens[owner]
		require.Equal(t, held && n > 3, conn.Do("RENEW", "k", owner, "PX", leaseOf(owner)).Int == 1, owner)
	}
}

// leaseOf returns an owner's lease in milliseconds: ten minutes, and a different addition for each.
func leaseOf(owner string) string {
	n, _ := strconv.Atoi(owner[len("owner-"):])
	return strconv.Itoa((10 + n) * 60_000)
}
