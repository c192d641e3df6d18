package shardbench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
)

// TestLocksOfAShard: each shard gets locks of its own slots, and what was locked is unlocked.
func TestLocksOfAShard(t *testing.T) {
	require.Less(t, keyslot.Of([]byte(tagOf(0, 2))), 8192)
	require.GreaterOrEqual(t, keyslot.Of([]byte(tagOf(3, 4))), 12288)
	locks := locksOf("7")
	require.Equal(t, "*5\r\n$4\r\nLOCK\r\n$9\r\nlock:{7}4\r\n$5\r\nowner\r\n$2\r\nPX\r\n$5\r\n60000\r\n", string(locks.Append(nil, 8)))
	require.Equal(t, "*3\r\n$6\r\nUNLOCK\r\n$9\r\nlock:{7}4\r\n$5\r\nowner\r\n", string(locks.Append(nil, 9)))
}
