//go:build oracle

package shards

import (
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m.Run)) }

// dial connects to a server.
func dial(t testing.TB, addr string) *testkit.Client {
	t.Helper()
	return testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
}

// shardsAt returns the addresses of the shards of the cluster at an address, in the order of their slots.
func shardsAt(t testing.TB, addr string) (addrs []string) {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()
	for _, of := range c.Do("CLUSTER", "SLOTS").Elems {
		addrs = append(addrs, "127.0.0.1:"+strconv.FormatInt(of.Elems[2].Elems[1].Int, 10))
	}
	require.Len(t, addrs, count)
	return addrs
}

// count is the number of shards in these tests.
const count = 3
