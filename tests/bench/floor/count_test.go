package floor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHeads: requests are counted once, wherever the bytes are cut. A star as an argument does not count.
func TestHeads(t *testing.T) {
	one := "*1\r\n$4\r\nPING\r\n"
	xadd := "*4\r\n$4\r\nXADD\r\n$1\r\nx\r\n$1\r\n*\r\n$5\r\nvalue\r\n"
	for text, want := range map[string]int{"": 0, one: 1, xadd: 1, strings.Repeat(one, 16): 16, one + xadd + one: 3} {
		for size := 1; size <= len(text)+1; size++ {
			count, star := 0, false
			for rest := []byte(text); len(rest) > 0; {
				n := min(size, len(rest))
				var more int
				more, star = heads(rest[:n], star)
				count += more
				rest = rest[n:]
			}
			require.Equal(t, want, count, "%q in pieces of %d", text, size)
		}
	}
}
