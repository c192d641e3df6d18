//go:build oracle

package commands

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestLCSLikeRedis: random calls get the same replies from Redis and from us. With few letters there are
// often several longest common subsequences, and both must choose the same one.
func TestLCSLikeRedis(t *testing.T) {
	redis := startOracle(t)
	f := newStrings(t)
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	word := func() string {
		b := make([]byte, r.IntN(40))
		letters := 2 + r.IntN(3)
		for i := range b {
			b[i] = 'a' + byte(r.IntN(letters))
		}
		return string(b)
	}
	for range 300 {
		calls := [][]string{{"MSET", "a", word(), "b", word()}, {"LCS", "a", "b"}, {"LCS", "a", "b", "LEN"},
			{"LCS", "a", "b", "IDX", "WITHMATCHLEN", "MINMATCHLEN", fmt.Sprint(r.IntN(4))}}
		for _, call := range calls {
			require.Equal(t, redis.do(call...).String(), f.do(call...).String(), "%q after %q", call, calls[0])
		}
	}
}
