//go:build oracle

package commands

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContainersAgainstRedis sends the same random commands to us and to Redis, and then our effects to an
// empty Redis. With few fields and members most calls find existing data; with many the containers grow out
// of their compact encodings.
func TestContainersAgainstRedis(t *testing.T) {
	redis := startOracle(t)
	r := testRand(t)
	for _, universe := range []int{4, 40, 1200} {
		for _, proto := range []string{"2", "3"} {
			f := newFixture(t, HashRows, SetRows, StringRows)
			reset(redis)
			f.do("HELLO", proto)
			redis.do("HELLO", proto)
			both := func(args ...string) {
				want, got := redis.do(args...), f.do(args...)
				if args[0] != "HMGET" && args[0] != "SMISMEMBER" {
					want, got = unordered(want), unordered(got)
				}
				require.Equal(t, want.String(), got.String(), "universe %d, RESP%s: %q", universe, proto, args)
			}
			var all []string
			for i := range universe {
				all = append(all, strconv.Itoa(i))
			}
			both(append([]string{"SADD", "s1"}, all...)...)
			both(append([]string{"HSET", "h1"}, all...)...)
			for range 1500 {
				both(randomContainerCall(r, universe)...)
			}
			reset(redis)
			redis.do("HELLO", proto)
			for _, e := range f.store.TakeEffects() {
				var args []string
				for _, arg := range e.Args {
					args = append(args, string(arg))
				}
				require.False(t, redis.do(args...).IsError(), "%q", args)
			}
			for _, key := range strings.Fields(containerKeys) {
				both("HGETALL", key)
				both("SMEMBERS", key)
				both("GET", key)
			}
			require.Equal(t, int64(f.store.DB(0).Len()), redis.do("DBSIZE").Int)
		}
	}
}
