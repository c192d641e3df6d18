package fairness

import (
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// readNow returns the bytes that have arrived on a connection, without waiting.
func readNow(t *testing.T, conn net.Conn) string {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	buf := make([]byte, 256)
	n := 0
	err = raw.Read(func(fd uintptr) bool {
		if n, _ = syscall.Read(int(fd), buf); n < 0 {
			n = 0
		}
		return true
	})
	require.NoError(t, err)
	return string(buf[:n])
}

// TestNextHolderIsAnsweredInTheSameTurn: the next holder gets its reply in the turn of the event loop that
// releases the lock. On the same machine that reply has arrived before the releasing client can read its own.
// No other turn, timer or request of another client can come in between. The same holds for the replies to
// other commands in the same batch.
func TestNextHolderIsAnsweredInTheSameTurn(t *testing.T) {
	r := start(t, 0)
	const rounds = 500
	conns := make([]net.Conn, 2)
	clients := make([]*testkit.Client, len(conns))
	for i := range conns {
		clients[i] = r.connect(t)
		conns[i] = clients[i].Conn()
	}
	require.Positive(t, clients[0].Do("LOCK", "k", "0", "PX", "60000").Int)
	for round := range rounds {
		me, other := round%2, (round+1)%2
		clients[other].Send("LOCK", "k", strconv.Itoa(other), "PX", "60000", "WAIT", "0")
		r.awaitWaiters(t, 1)
		require.Empty(t, readNow(t, conns[other]))
		batch := [][]string{{"UNLOCK", "k", strconv.Itoa(me)}}
		for range round % 20 {
			batch = append(batch, []string{"PING"})
		}
		replies := clients[me].Pipeline(batch)
		granted := readNow(t, conns[other])
		require.EqualValues(t, 1, replies[0].Int)
		require.True(t, strings.HasPrefix(granted, ":1") && strings.HasSuffix(granted, "\r\n"),
			"round %d: the releaser has its reply, the next holder has %q", round, granted)
	}
}
