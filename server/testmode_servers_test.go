package server

import (
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// Each test can have a server of its own, with data, time and faults of its own. It ends on request, or
// with the connection that made it.
func TestFurtherServers(t *testing.T) {
	srv := inTestMode(t)
	c := testkit.Dial(t, overPort(srv))
	begin := runtime.NumGoroutine()
	at := func() (string, *testkit.Client) {
		addr := c.Do("TEST.SERVER", "NEW").Str
		return addr, testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
	}
	first, a := at()
	second, b := at()
	require.NotEqual(t, first, second)
	says(t, a, [][2]string{{"SET k 1", "+OK"}, {"TEST.CLOCK FREEZE 1000", "1000"}, {"TEST.FAULT ADD ERROR NO MATCH get", "1"}})
	says(t, b, [][2]string{{"GET k", "$nil"}, {"DBSIZE", "0"}})
	require.NotEqual(t, "1000", b.Do("TEST.CLOCK", "GET").String())
	firstID, secondID := runID(t, first), runID(t, second)
	require.NotEqual(t, firstID, secondID)
	says(t, c, [][2]string{{"TEST.SERVER END " + first, "+OK"}, {"TEST.SERVER END " + first, "-ERR there is no such server"}, {"TEST.SERVER END x", "-ERR there is no such server"}})
	_, err := a.Next()
	require.Error(t, err)
	requireStopped(t, first, firstID)
	says(t, b, [][2]string{{"PING", "+PONG"}, {"TEST.SERVER NEW now", "-ERR syntax error"}})

	var many []string
	servers := testkit.Steps(200, 1000)
	for range servers {
		addr := c.Do("TEST.SERVER", "NEW")
		require.Equal(t, "127.0.0.1", addr.Str[:9], addr)
		many = append(many, addr.Str)
	}
	for _, addr := range many[:servers/2] {
		require.Equal(t, "+OK", c.Do("TEST.SERVER", "END", addr).String())
	}
	running := map[string]string{second: secondID}
	for _, addr := range many[servers-10:] {
		running[addr] = runID(t, addr)
	}
	require.NoError(t, srv.Close())
	for addr, id := range running {
		requireStopped(t, addr, id)
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= begin }, "nothing is left")
}
