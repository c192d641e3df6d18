package ascii

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEqualFold(t *testing.T) {
	for a := range 256 {
		for b := range 128 {
			want := a == b || a < 128 && strings.EqualFold(string(rune(a)), string(rune(b)))
			require.Equal(t, want, EqualFold([]byte{byte(a)}, string(rune(b))), "%q %q", a, b)
			if a < 128 {
				require.Equal(t, want, Lower(byte(a)) == Lower(byte(b)), "%q %q", a, b)
			}
		}
		if a >= 128 {
			require.Equal(t, byte(a), Lower(byte(a)))
		}
	}
	require.False(t, EqualFold([]byte("ab"), "abc"))
}
