package main

import (
	"io"
	"strings"
	"testing"

	"lockserver/internal/benchkit"

	"github.com/stretchr/testify/require"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{Options: benchkit.Options{Rounds: 3}, buyers: 10_000_000, orders: 200_000}, o)
	o, err = parseOptions([]string{"-quick", "-strict"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{Options: benchkit.Options{Rounds: 1, Quick: true, Strict: true}, buyers: 20_000, orders: 20_000}, o)
}

func TestSenselessCommandLines(t *testing.T) {
	for _, args := range [][]string{{"-buyers", "0"}, {"-rounds", "0"}, {"extra"}, {"-nonsense"}} {
		var stderr strings.Builder
		require.Equal(t, 2, run(t.Context(), args, io.Discard, &stderr), "%v", args)
		require.NotEmpty(t, stderr.String())
	}
	require.Zero(t, run(t.Context(), []string{"-h"}, io.Discard, io.Discard))
}

// Each small sale gets a thousand buyers, and the large one all of them.
func TestWhoBuysWhere(t *testing.T) {
	small, large := &market{}, &market{large: true}
	require.Equal(t, "small-0", small.voucher(999))
	require.Equal(t, "small-1", small.voucher(1000))
	require.Equal(t, "large", large.voucher(1000))
	require.Equal(t, "*4\r\n$7\r\nSECKILL\r\n$7\r\nsmall-1\r\n$17\r\nuser-000000001005\r\n$18\r\norder-000000001005\r\n",
		string(order(small.voucher, 1000).Append(nil, 5)))
}
