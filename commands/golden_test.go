package commands

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/tabletest"
)

const goldenFile = "../tests/tabletest/testdata/redis-7.4.txt"

var update = flag.Bool("update", false, "write "+goldenFile+" from an redis-server 7.4, and stop")

// TestGolden: each of our rows that Redis 7.4 also has is described as in Redis.
func TestGolden(t *testing.T) {
	if *update {
		redis := startOracle(t)
		redis.do("HELLO", "3")
		all := tabletest.Describe(t, redis.do)
		require.NoError(t, os.WriteFile(goldenFile, []byte(tabletest.Format(all)), 0o644))
		return // the golden file is compiled in: the tests must run again
	}
	table := NewTable(Families()...)
	known := tabletest.Compare(t, func(args ...string) resp.Value { return call(t, table, 3, args...) })
	require.Contains(t, known, "command")
}
