//go:build oracle

package commands

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestRandomCallsLikeRedis: random commands on few keys, with valid and invalid arguments, get the same
// replies from Redis and from us. The encoding is left out: Redis remembers that INCRBYFLOAT made "3", for us
// it is an integer. DBSIZE is left out, too: Redis counts a key with a deadline in the past until its next
// use, and we do not create it.
func TestRandomCallsLikeRedis(t *testing.T) {
	redis := startOracle(t)
	f := newFixture(t, StringRows, KeyRows, KeyspaceRows)
	seed := testkit.Seed(t)
	g := callGenerator{rand.New(rand.NewPCG(seed, 0))}
	var last [][]string
	for range 5000 {
		call := g.call()
		last = append(last, call)
		if len(last) > 12 {
			last = last[1:]
		}
		require.Equal(t, redis.do(call...).String(), f.do(call...).String(), "%q after %q", call, last)
	}
	for _, key := range []string{"a", "b", "c", "h"} {
		for _, ask := range []string{"TYPE", "GET", "PEXPIRETIME"} {
			require.Equal(t, redis.do(ask, key).String(), f.do(ask, key).String(), "%s %s", ask, key)
		}
	}
}
