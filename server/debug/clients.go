package debug

import (
	"fmt"
	"math/bits"
	"strings"

	"lockserver/commands"
	"lockserver/internal/ascii"
)

const errNoClientLimit commands.Error = "ERR maxmemory-clients is disabled."

// Clients are grouped by the number of bits of their size in bytes. Redis has a bucket for up to 32 KiB, one
// for each power of two above that, and one for 4 GiB and more.
const (
	leastClientBits = 15
	mostClientBits  = 33
)

// clientSizes replies with the number of clients in each group.
func clientSizes(c *call) error {
	var clients, sums [mostClientBits + 1]int
	limited := c.host.EachEvictable(func(bytes int) {
		class := min(max(bits.Len(uint(bytes)), leastClientBits), mostClientBits)
		clients[class]++
		sums[class] += bytes
	})
	if !limited {
		return errNoClientLimit
	}
	var text strings.Builder
	for class := leastClientBits; class <= mostClientBits; class++ {
		from, to := 1<<(class-1), fmt.Sprintf(" - %10d: ", 1<<class-1)
		if class == leastClientBits {
			from = 0
		}
		if class == mostClientBits {
			to = "+            : "
		}
		fmt.Fprintf(&text, "bucket %10d%stot-mem: %10d, clients: %d\n", from, to, sums[class], clients[class])
	}
	c.Out.Verbatim("txt", text.String())
	return nil
}

// FitForScripts reports whether a call of DEBUG does not disturb a running script.
func FitForScripts(argv [][]byte) bool {
	return len(argv) > 1 && (ascii.EqualFold(argv[1], "protocol") || ascii.EqualFold(argv[1], "sleep"))
}
