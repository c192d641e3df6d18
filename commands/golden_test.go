package commands

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands/tabletest"
	"lockserver/internal/resp"
)

const goldenFile = "tabletest/testdata/redis-7.0.txt"

var update = flag.Bool("update", false, "write "+goldenFile+" from an installed redis-server 7.0, and stop")

// deviations are facts of rows that differ from Redis 7.0 on purpose.
var deviations = map[string]tabletest.Deviation{
	"command|getkeys":         {Lines: "arg", Why: "Redis documents the arguments since 7.2 only"},
	"geohash":                 {Lines: "arg", Why: "Redis says that the members are optional since 7.2 only"},
	"geopos":                  {Lines: "arg", Why: "Redis says that the members are optional since 7.2 only"},
	"zrank":                   {Lines: "arity", Why: "WITHSCORE came with 7.2"},
	"zrevrank":                {Lines: "arity", Why: "WITHSCORE came with 7.2"},
	"command|getkeysandflags": {Lines: "arg", Why: "Redis documents the arguments since 7.2 only"},
}

// Every row of ours that Redis 7.0 has, too, is described as Redis describes it.
func TestGolden(t *testing.T) {
	if *update {
		redis := startOracle(t)
		redis.do("HELLO", "3")
		all := tabletest.Describe(t, redis.do)
		require.NoError(t, os.WriteFile(goldenFile, []byte(tabletest.Format(all)), 0o644))
		return // the golden file is compiled in: run the tests again
	}
	table := NewTable(Families()...)
	known := tabletest.Compare(t, func(args ...string) resp.Value { return call(t, table, 3, args...) }, deviations)
	require.Contains(t, known, "command")
}
