//go:build oracle

package snapshots

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestProducersAreNotInTheWay: streams store data about their producers (D15). A Redis that does not know it
// skips it in snapshots and payloads; another lockserver reads it.
func TestProducersAreNotInTheWay(t *testing.T) { testkit.EachProgram(t, producersAreNotInTheWay) }

func producersAreNotInTheWay(t *testing.T, p testkit.Program) {
	dir := t.TempDir()
	ours := startServer(t, dir)
	ids := map[string]string{}
	for i := range 1500 {
		name := fmt.Sprint("message", i, string(make([]byte, i%70)))
		ids[name] = ours.Do("XADD", "s", "IDMP", fmt.Sprint("p", i%20), name, "*", "n", name).Str
	}
	require.Equal(t, "+OK", ours.Do("SET", "behind", "it").String())
	require.Equal(t, "+OK", ours.Do("SELECT", "3").String())
	require.Positive(t, ours.Do("HSET", "h", "f", "v").Int)
	require.Equal(t, "+OK", ours.Do("SELECT", "0").String())
	save(t, ours)
	checkRDB(t, p, dir)
	redis, again, empty := startRedis(t, p, dir), startServer(t, dir), startRedis(t, p, t.TempDir())
	carry(t, ours, empty)
	entries := ours.Do("XRANGE", "s", "-", "+").String()
	require.Equal(t, entries, redis.Do("XRANGE", "s", "-", "+").String())
	require.Equal(t, entries, empty.Do("XRANGE", "s", "-", "+").String())
	require.Equal(t, "it", redis.Do("GET", "behind").Str)
	requireSame(t, testkit.ReadDataset(ours), testkit.ReadDataset(again))
	require.Equal(t, "+OK", again.Do("SELECT", "0").String())
	last := "message1499" + string(make([]byte, 1499%70))
	require.Equal(t, ids[last], again.Do("XADD", "s", "IDMP", "p19", last, "*", "n", "again").Str)
}
