package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOwnErrors: our own error texts must not begin with a word to which clients react.
func TestOwnErrors(t *testing.T) {
	for _, err := range []Error{ErrOwnerEmpty, ErrOwnerReserved, ErrStock, ErrNoSale([]byte("10"))} {
		require.True(t, strings.HasPrefix(err.Error(), "ERR "), err)
	}
	require.EqualError(t, ErrNoSale([]byte("10\r\n")), "ERR no such seckill '10  '")
	require.Equal(t, "ERR value is out of range, value must between -1 and 5", fmt.Sprint(ErrIntRange(-1, 5)))
}
