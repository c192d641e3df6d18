//go:build oracle

package commands

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// TestKeysAgainstRedis: in random calls of all commands we find the same keys as Redis.
func TestKeysAgainstRedis(t *testing.T) {
	redis := startOracle(t)
	table := redisTable(t)
	rnd := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	var names []string
	for _, r := range table.Rows() {
		for _, r := range append(slices.Clone(r.Subcommands()), r) {
			if r.TakesKeys() && !slices.Contains(guessed, r.Name) {
				names = append(names, r.FullName())
			}
		}
	}
	found := 0
	for range 6000 {
		name := names[rnd.IntN(len(names))]
		args := strings.Split(name, "|")
		for range rnd.IntN(7) {
			args = append(args, []string{"a", "b", "0", "1", "2", "3", "-1", "streams", "STREAMS", "store", "x"}[rnd.IntN(11)])
		}
		for _, sub := range []string{"GETKEYS", "GETKEYSANDFLAGS"} {
			call := append([]string{"COMMAND", sub}, args...)
			want, got := redis.do(call...), callValue(t, table, call...)
			require.Equal(t, want.String(), got.String(), "%q", call)
			if got.Kind == resp.Array && len(got.Elems) > 0 {
				found++
			}
		}
	}
	require.Greater(t, found, 1000)
}

func TestGetKeysAgainstRedis(t *testing.T) {
	redis := startOracle(t)
	table := redisTable(t)
	for _, line := range []string{
		"get", "get a", "get a b", "nosuch a", "ping x", "client list", "client", "client nosuch x", "object freq a", "object freq",
		"object nosuch a", "object", "mset a b c d", "mset a b c", "mset a", "zunion 2 a b", "zunion 3 a b", "zunion 0 a",
		"zunion x a", "zunion -1 a b", "eval s 0", "eval s 2 a b", "eval s 2 a", "eval s x a", "eval s -1 a",
		"zunionstore d 2 a b", "blmpop 0 2 a b left", "xread streams a 0", "xread count 1 streams a b 0 0",
		"xread count 1 2", "xread streams streams 0 0", "xreadgroup group g c streams a >",
		"xreadgroup group streams streams streams a >", "blpop a b 0", "lcs a b", "lcs a b len", "spublish c m",
		"georadius a 0 0 1 m store b", "georadius a 0 0 1 m storedist b store c", "georadius a 0 0 1 m store",
		"rename a b", "copy a b db 1", "memory usage a", "xgroup create a g $", "xinfo stream a",
		"command getkeys get a", "zunion 99999999999999999999 a", "zunion 9223372036854775807 a",
	} {
		for _, sub := range []string{"getkeys", "getkeysandflags"} {
			args := append([]string{"command", sub}, strings.Fields(line)...)
			require.Equal(t, redis.do(args...).String(), callValue(t, table, args...).String(), "%v", args)
		}
	}
}

// guessed lists the commands with key positions that Redis finds by special code (our Row.FindKeys).
var guessed = []string{"set", "bitfield", "sort", "sort_ro", "migrate"}
