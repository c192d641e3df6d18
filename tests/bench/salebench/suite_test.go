package salebench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhoBuysWhere: each small sale gets a thousand buyers, and the large one gets all of them.
func TestWhoBuysWhere(t *testing.T) {
	small, large := &market{}, &market{large: true}
	require.Equal(t, "small-0", small.voucher(999))
	require.Equal(t, "small-1", small.voucher(1000))
	require.Equal(t, "large", large.voucher(1000))
	require.Equal(t, "*4\r\n$7\r\nSECKILL\r\n$7\r\nsmall-1\r\n$17\r\nuser-000000001005\r\n$18\r\norder-000000001005\r\n",
		string(order(small.voucher, 1000).Append(nil, 5)))
}
