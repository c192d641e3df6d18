package glob

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/ascii"
)

func TestASCIIEqualFold(t *testing.T) {
	for a := range 256 {
		for b := range 128 {
			want := a == b || a < 128 && strings.EqualFold(string(rune(a)), string(rune(b)))
			require.Equal(t, want, ascii.EqualFold([]byte{byte(a)}, string(rune(b))), "%q %q", a, b)
			if a < 128 {
				require.Equal(t, want, ascii.Lower(byte(a)) == ascii.Lower(byte(b)), "%q %q", a, b)
			}
		}
		if a >= 128 {
			require.Equal(t, byte(a), ascii.Lower(byte(a)))
		}
	}
	require.False(t, ascii.EqualFold([]byte("ab"), "abc"))
}
