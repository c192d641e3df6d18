//go:build oracle

package snapshots

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestUseIsCarried: the data about the use of keys goes from either server to the other, if the eviction
// policy needs it.
func TestUseIsCarried(t *testing.T) { testkit.EachProgram(t, useIsCarried) }

func useIsCarried(t *testing.T, p testkit.Program) {
	const slackS = 20 // allows for servers that start slowly
	for _, tt := range []struct {
		policy, what string
		given        int
		kept         bool
	}{
		{"allkeys-lru", "IDLETIME", 5000, true},
		{"volatile-lru", "IDLETIME", 5000, true},
		{"allkeys-lfu", "FREQ", 77, true},
		{"volatile-lfu", "FREQ", 77, true},
		{"noeviction", "IDLETIME", 5000, false},
		{"volatile-ttl", "IDLETIME", 5000, false},
	} {
		check := func(t *testing.T, c *testkit.Client) {
			t.Helper()
			got, fresh := int(c.Do("OBJECT", tt.what, "old").Int), int(c.Do("OBJECT", tt.what, "new").Int)
			switch {
			case tt.what == "FREQ":
				require.InDelta(t, tt.given, got, 2, "less what decays")
				require.InDelta(t, 5, fresh, 2)
			case tt.kept:
				require.InDelta(t, tt.given+slackS/2, got, slackS/2)
				require.InDelta(t, 0, fresh, slackS)
			default:
				require.InDelta(t, 0, got, slackS)
			}
		}
		fill := func(t *testing.T, c *testkit.Client) {
			t.Helper()
			c.Do("RPUSH", "new", "a", "b")
			payload := c.Do("DUMP", "new").Str
			require.Equal(t, "+OK", c.Do("RESTORE", "old", "0", payload, tt.what, strconv.Itoa(tt.given)).String())
			save(t, c)
		}
		t.Run(tt.policy, func(t *testing.T) {
			dir := t.TempDir()
			redis := startRedis(t, p, dir, "--maxmemory-policy", tt.policy)
			fill(t, redis)
			check(t, startServer(t, dir, "maxmemory-policy", tt.policy))

			dir = t.TempDir()
			fill(t, startServer(t, dir, "maxmemory-policy", tt.policy))
			checkRDB(t, p, dir)
			check(t, startRedis(t, p, dir, "--maxmemory-policy", tt.policy))
		})
	}
}
