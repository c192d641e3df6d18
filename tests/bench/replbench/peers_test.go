package replbench

import (
	"bufio"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestCommandsOfAReplica(t *testing.T) {
	in := bufio.NewReader(strings.NewReader("\n*1\r\n$4\r\nPING\r\n*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$2\r\n17\r\nno"))
	words, err := readCommand(in)
	require.NoError(t, err)
	require.Equal(t, []string{"PING"}, words)
	words, err = readCommand(in)
	require.NoError(t, err)
	require.Equal(t, []string{"REPLCONF", "ACK", "17"}, words)
	_, err = readCommand(in)
	require.Error(t, err)
}

// TestSnapshotUpToItsMark: it is read to its mark in any pieces, even if data looks like the beginning of the
// mark.
func TestSnapshotUpToItsMark(t *testing.T) {
	mark := strings.Repeat("m", markBytes-1) + "!"
	for _, size := range []int{0, 1, 39, 5000, 600_000} {
		r := replica{in: bufio.NewReaderSize(iotest.HalfReader(strings.NewReader(strings.Repeat("m", size)+mark)), 16)}
		require.NoError(t, r.readTo([]byte(mark)))
		require.EqualValues(t, size, r.bytes)
	}
}

func TestMemoryThatIsShared(t *testing.T) {
	bytes, err := parseProportional("559c-7ffd ---p 00000000 00:00 0  [rollup]\nRss:   2000 kB\nPss:                1500 kB\nPss_Dirty:  3 kB\n")
	require.NoError(t, err)
	require.Equal(t, 1500.0*1024, bytes)
	_, err = parseProportional("")
	require.Error(t, err)
}
