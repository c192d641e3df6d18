//go:build oracle

package commands

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/tabletest"
	"lockserver/tests/testkit"
)

// TestResolveAgainstRedis: Resolve reports the same errors as Redis, for all its commands and any number of
// arguments.
func TestResolveAgainstRedis(t *testing.T) {
	redis := startOracle(t)
	table := redisTable(t)
	rnd := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	names := tabletest.Names(tabletest.Golden())
	names = append(names, "nosuch", "client|nosuch", "config|x\r\ny", "x\r\ny", strings.Repeat("f", 200), "client|"+strings.Repeat("f", 200))
	refused := 0
	for range 3000 {
		args := strings.SplitN(names[rnd.IntN(len(names))], "|", 2)
		for i := range args {
			if rnd.IntN(2) == 0 {
				args[i] = strings.ToUpper(args[i])
			}
		}
		for range rnd.IntN(4) {
			args = append(args, strings.Repeat("ab\n\x00'"[:1+rnd.IntN(5)], rnd.IntN(60)))
		}
		_, err := table.Resolve(words(args...))
		if err == nil {
			continue // it might run, which does not matter here
		}
		if args[0] == "exec" || args[0] == "EXEC" {
			err = ErrExecAbortedBy(err)
		}
		refused++
		require.Equal(t, err.Error(), redis.do(args...).Str, "%q", args)
	}
	require.Greater(t, refused, 500)
}
