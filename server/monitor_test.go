package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/server/monitor"
)

// TestLine: a line has the time, the database, the origin, and the words in quotes.
func TestMonitorLine(t *testing.T) {
	words := [][]byte{[]byte("SET"), []byte("a \"key\"\n"), {0xff}}
	line := monitor.Line(1_700_000_000_000_007, 3, monitor.Origin("127.0.0.1:5000"), &commands.Row{Name: "set"}, words)
	require.Equal(t, "+1700000000.000007 [3 127.0.0.1:5000] \"SET\" \"a \\\"key\\\"\\n\" \"\\xff\"\r\n", string(line))
	require.Equal(t, "+0.000000 [0 lua] \"GET\"\r\n", string(monitor.Line(0, 0, monitor.Script, &commands.Row{Name: "get"}, [][]byte{[]byte("GET")})))
	require.Equal(t, "unix:/tmp/x", monitor.Origin("/tmp/x:0"))
}

// TestList: a client that leaves is out of the list, and others stay.
func TestMonitorList(t *testing.T) {
	list := monitor.List[int]{1, 2, 3}
	list.Remove(2)
	list.Remove(7)
	require.Equal(t, monitor.List[int]{1, 3}, list)
}
