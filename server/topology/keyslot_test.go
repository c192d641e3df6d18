package topology

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
)

func TestSlots(t *testing.T) { // those that Redis' documentation and CLUSTER KEYSLOT name
	for key, n := range map[string]int{"foo": 12182, "": 0, "123456789": 12739, "{user1000}.following": 3443, "{user1000}.followers": 3443,
		"foo{}{bar}": 8363, "foo{{bar}}zap": 4015, "foo{bar}{zap}": 5061, "{": 4092, "bar": 5061} {
		require.Equal(t, n, keyslot.Of([]byte(key)), key)
	}
}

// A pattern has a slot if no wildcard stands before the end of its hash tag: what SORT's BY and GET go by.
func TestPatterns(t *testing.T) {
	for pattern, n := range map[string]int{"bar": 5061, "foo{bar}*": 5061, "{bar}:[ab]": 5061, "foo{}{bar}": 8363,
		"*": -1, "*{bar}": -1, "{b*r}": -1, "{}*": -1, "{": 4092, "{?": -1, `{b\ar}`: -1, `{bar}\`: 5061} {
		got, ok := keyslot.OfPattern([]byte(pattern))
		require.Equal(t, n >= 0, ok, pattern)
		if ok {
			require.Equal(t, n, got, pattern)
		}
	}
}
