package topology

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/cluster"
)

func TestRanges(t *testing.T) {
	for text, want := range map[string]string{
		"0-5460": "0-5460", "7": "7", "": "", "5-6 0-4": "0-6", "16383 0": "0 16383", " 1  3 ": "1 3",
	} {
		got, err := cluster.ParseRanges(text)
		require.NoError(t, err, text)
		require.Equal(t, want, cluster.RangesText(got))
	}
	for text, why := range map[string]string{
		"16384": "'16384' is no slot", "5-3": "'5-3' is no slot", "a": "'a' is no slot", "-1": "no slot", "1-2-3": "no slot",
		"0-5 5-9": "the slot 5 stands there twice", "3 3": "twice", "99999999": "no slot",
	} {
		_, err := cluster.ParseRanges(text)
		require.ErrorContains(t, err, why, text)
	}
}

func TestOwned(t *testing.T) {
	o := cluster.Owned{Cluster: "shop", Shard: "s2", Slots: []cluster.Range{{First: 0, Last: 5}, {First: 7, Last: 7}}}
	require.Equal(t, "shop s2 0-5 7\n", o.String())
	got, err := cluster.ParseOwned(o.String())
	require.NoError(t, err)
	require.Equal(t, o, got)
	for _, text := range []string{"", "shop s2 0-5", "shop s2\n", "a/b s2 0\n", "shop s2 9-1\n", "shop " + strings.Repeat("s", 65) + " 1\n"} {
		_, err := cluster.ParseOwned(text)
		require.Error(t, err, text)
	}
}

// TestWithout compares with a look at each slot.
func TestWithout(t *testing.T) {
	texts := []string{"", "0-9", "3-5", "0 2 4", "9-20", "5", "0-16383", "1-3 7-8"}
	has := func(all []cluster.Range, n int) bool {
		for _, r := range all {
			if r.Has(n) {
				return true
			}
		}
		return false
	}
	for _, a := range texts {
		for _, b := range texts {
			some, _ := cluster.ParseRanges(a)
			others, _ := cluster.ParseRanges(b)
			rest := cluster.Without(some, others)
			for n := range 30 {
				require.Equal(t, has(some, n) && !has(others, n), has(rest, n), "%s without %s: %d", a, b, n)
			}
		}
	}
}
