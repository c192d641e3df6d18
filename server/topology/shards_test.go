package topology

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/cluster"
)

// Each slot has one shard, and no shard has more than one slot more than another.
func TestSplit(t *testing.T) {
	require.Equal(t, []cluster.Range{{First: 0, Last: 5460}, {First: 5461, Last: 10922}, {First: 10923, Last: 16383}}, cluster.Split(3), "as redis-cli --cluster create")
	for n := 1; n <= cluster.MaxShards; n++ {
		next, least, most := 0, 1<<30, 0
		for _, r := range cluster.Split(n) {
			require.Equal(t, next, r.First)
			next = r.Last + 1
			least, most = min(least, next-r.First), max(most, next-r.First)
		}
		require.Equal(t, 16384, next, n)
		require.LessOrEqual(t, most-least, 1, n)
	}
}

// A directory stays that of its number of shards, and keeps the name of the cluster.
func TestClaim(t *testing.T) {
	dir, id := t.TempDir(), strings.Repeat("a", 40)
	r, err := cluster.Claim(dir, 3, id)
	require.NoError(t, err)
	require.Equal(t, cluster.Record{Shards: 3, ID: id}, r)
	require.DirExists(t, cluster.ShardDir(dir, 2))
	r, err = cluster.Claim(dir, 3, strings.Repeat("b", 40))
	require.NoError(t, err)
	require.Equal(t, id, r.ID)
	_, err = cluster.Claim(dir, 2, id)
	require.ErrorContains(t, err, "has the data of 3 shards, not of 2: start with shards 3")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shards.conf"), []byte("lockserver-shards 1\nshards 3\nid x"), 0o600))
	_, err = cluster.Claim(dir, 3, id)
	require.ErrorContains(t, err, "is damaged")

	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "dump.rdb"), nil, 0o600))
	_, err = cluster.Claim(other, 3, id)
	require.ErrorContains(t, err, "without shards")
	require.NoDirExists(t, cluster.ShardDir(other, 0))
}

// The page of differences names each command that would change a cluster, and so says what to use instead.
func TestEachRefusedCommandIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "DIFFERENCES.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Clusters\n")
	section, _, _ = strings.Cut(section, "\n## ")
	changes := clusterChanges()
	require.NotEmpty(t, changes)
	for _, row := range changes {
		require.Regexp(t, "`(CLUSTER )?"+strings.ToUpper(row.Name)+"`", section)
	}
}
