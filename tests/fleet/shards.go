//go:build unix

package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// slots is the number of slots of a cluster.
const slots = 16384

// FormShards starts a cluster of raft groups, s1, s2 and so on, each with an equal part of the slots. It
// waits until each member knows the owner of each slot. The lines of conf are for all members.
func FormShards(t testing.TB, shards int, conf string, programs ...string) (groups []*Group) {
	t.Helper()
	for range shards {
		groups = append(groups, Prepare(t, conf+"cluster-enabled yes\ninclude cluster\n", programs...))
	}
	for i, g := range groups {
		before := groups[(i+shards-1)%shards].Members[0]
		text := fmt.Sprintf("cluster-name fleet\ncluster-shard s%d\ncluster-slots %d-%d\ncluster-peers %s\n", i+1, i*slots/shards, (i+1)*slots/shards-1, before.Addr())
		for _, p := range g.Members {
			require.NoError(t, os.WriteFile(filepath.Join(p.Dir(), "cluster"), []byte(text), 0o600))
			p.Launch()
		}
	}
	for _, g := range groups {
		g.AwaitLeader()
	}
	for _, g := range groups {
		for _, p := range g.Members {
			eventually(t, "each member knows the owner of each slot", func() bool {
				return strings.Contains(p.Try("CLUSTER", "INFO").Str, fmt.Sprintf("cluster_slots_ok:%d\r\n", slots))
			})
		}
	}
	return groups
}
