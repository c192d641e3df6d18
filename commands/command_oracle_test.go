//go:build oracle

package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// TestInfoAgainstRedis: rows that are made from Redis' documentation are described byte for byte as Redis
// describes them.
func TestInfoAgainstRedis(t *testing.T) {
	redis := startOracle(t)
	table := redisTable(t)
	for _, proto := range []int{2, 3} {
		redis.do("HELLO", string(rune('0'+proto)))
		for _, r := range table.Rows() {
			for _, r := range append(slices.Clone(r.Subcommands()), r) {
				want := redis.do("COMMAND", "INFO", r.FullName())
				if len(r.Subcommands()) > 0 {
					// Redis lists subcommands in no order, so they are compared one by one.
					want.Elems[0].Elems[9].Elems = nil
				}
				got := call(t, table, proto, "COMMAND", "INFO", r.FullName())
				if len(r.Subcommands()) > 0 {
					got.Elems[0].Elems[9].Elems = nil
				}
				if strings.HasSuffix(r.FullName(), "|help") {
					dropCategories(&want, &got) // the help rows of this table have no categories
				}
				dropKeySpecRemarks(&want)
				want.Elems[0].Elems[7].Elems = nil // tips
				got.Elems[0].Elems[7].Elems = nil
				require.Equal(t, want.String(), got.String())
			}
		}
	}
}

func TestCommandRepliesAgainstRedis(t *testing.T) {
	redis := startOracle(t)
	table := redisTable(t)
	for _, line := range []string{
		"command count", "command count x", "command info nosuch", "command info client|nosuch", "command docs nosuch",
		"command list foo", "command list filterby", "command list filterby foo x", "command list filterby pattern",
		"command list filterby pattern x y", "command list pattern x", "command list filterby module x",
		"command list filterby aclcat nosuch", "command list filterby pattern nosuch*", "command nosuch",
		"command list filterby filterby x",
	} {
		for _, proto := range []int{2, 3} {
			redis.do("HELLO", string(rune('0'+proto)))
			args := strings.Fields(line)
			require.Equal(t, redis.do(args...).String(), call(t, table, proto, args...).String(), "%s, RESP%d", line, proto)
		}
	}
	for _, line := range []string{
		"command list", "command list filterby pattern xr*", "command list filterby pattern CLIENT|*",
		"command list filterby aclcat scripting", "command list filterby aclcat DANGEROUS", "command list filterby pattern *",
	} {
		args := strings.Fields(line)
		want, got := redis.do(args...), call(t, table, 3, args...)
		if strings.Contains(line, "DANGEROUS") || strings.Contains(line, "scripting") {
			want.Elems = slices.DeleteFunc(want.Elems, func(v resp.Value) bool { return strings.HasSuffix(v.Str, "|help") })
			got.Elems = slices.DeleteFunc(got.Elems, func(v resp.Value) bool { return strings.HasSuffix(v.Str, "|help") })
		}
		require.ElementsMatch(t, want.Elems, got.Elems, line)
	}
}

func dropCategories(values ...*resp.Value) {
	for _, v := range values {
		v.Elems[0].Elems[6].Elems = nil
	}
}

// dropKeySpecRemarks removes Redis' remarks on key specs, which are prose.
func dropKeySpecRemarks(v *resp.Value) {
	for i := range v.Elems[0].Elems[8].Elems {
		spec := &v.Elems[0].Elems[8].Elems[i]
		if spec.Elems[0].Str == "notes" {
			spec.Elems = spec.Elems[2:]
		}
	}
}
