package shardmap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/cluster"
)

// TestJoin: the slots of two lists are in order, and ranges that adjoin become one. Package cluster has no
// tests of its own.
func TestJoin(t *testing.T) {
	list := func(text string) (all []cluster.Range) {
		if text != "" {
			var err error
			all, err = cluster.ParseRanges(text)
			require.NoError(t, err)
		}
		return all
	}
	for _, tt := range []struct{ a, b, want string }{
		{"", "", ""},
		{"0-9", "", "0-9"},
		{"0-9 20-29", "10-19", "0-29"},
		{"5", "0-3 7", "0-3 5 7"},
		{"8 10", "9 12", "8-10 12"},
	} {
		a, b := list(tt.a), list(tt.b)
		require.Equal(t, tt.want, cluster.RangesText(cluster.Join(a, b)), "%s and %s", tt.a, tt.b)
		require.Equal(t, tt.want, cluster.RangesText(cluster.Join(b, a)), "%s and %s", tt.b, tt.a)
	}
}
