//go:build linux

package transport

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// asked is how many requests of a loop's connection its session has had.
func asked(l *Loop, fd int) int64 { return l.driver.conns[fd].session.(*pongSession).requests.Load() }

// TestUnauthenticatedWaitForEachOther: a round serves all authenticated clients and some of the others, and
// each of these has its turn in the end.
func TestUnauthenticatedWaitForEachOther(t *testing.T) {
	l := byHand(t, newPongs())
	const crowd = 10 * unauthPerRound
	served := func(fds []int) (n int64) {
		for _, fd := range fds {
			n += asked(l, fd)
		}
		return n
	}
	var unauth []int
	for range crowd {
		fd, peer := welcomed(t, l)
		l.driver.conns[fd].SetUnauthenticated(1 << 10)
		testkit.NewClient(t, peer).Send("PING")
		unauth = append(unauth, fd)
	}
	fd, friend := welcomed(t, l)
	for round := int64(1); round <= 3; round++ {
		testkit.NewClient(t, friend).Send("PING")
		turn(t, l)
		require.Equal(t, round, asked(l, fd))
		require.Equal(t, round*unauthPerRound, served(unauth))
	}
	for range crowd {
		turn(t, l)
	}
	require.EqualValues(t, crowd, served(unauth))
	for _, fd := range unauth {
		require.EqualValues(t, 1, asked(l, fd))
	}
}

// TestWokenUnauthenticatedWaitForEachOther: a client that has more to do than one turn takes is woken again.
func TestWokenUnauthenticatedWaitForEachOther(t *testing.T) {
	h := newPongs()
	l := byHand(t, h)
	h.withholds.Store(true)
	var peers []net.Conn
	for range 3 * unauthPerRound {
		fd, peer := welcomed(t, l)
		l.driver.conns[fd].SetUnauthenticated(1 << 10)
		testkit.NewClient(t, peer).Send("PING")
		peers = append(peers, peer)
	}
	fd, friend := welcomed(t, l)
	testkit.NewClient(t, friend).Send("PING")
	for range 3 * unauthPerRound {
		turn(t, l)
	}
	h.withholds.Store(false)
	for i, c := range l.driver.conns {
		if c != nil && i != fd {
			c.Wake(nil)
		}
	}
	l.driver.conns[fd].Wake(nil)
	answered := func() (n int64) {
		for i, c := range l.driver.conns {
			if c != nil && i != fd {
				n += c.session.(*pongSession).answered
			}
		}
		return n
	}
	turn(t, l)
	require.EqualValues(t, 1, l.driver.conns[fd].session.(*pongSession).answered, "it was woken behind all the others")
	require.EqualValues(t, unauthPerRound, answered())
	turn(t, l)
	turn(t, l)
	require.EqualValues(t, len(peers), answered())
}

// TestUnauthenticatedClientLogsIn: what a connection has sent before it becomes another kind is not
// forgotten, nor what comes later.
func TestUnauthenticatedClientLogsIn(t *testing.T) {
	l := byHand(t, newPongs())
	fd, peer := welcomed(t, l)
	c := testkit.NewClient(t, peer)
	for i, readBytes := range []int{0, 1 << 10, 1 << 10, 0, 0, 1 << 10} {
		c.Send("PING")
		l.driver.conns[fd].SetUnauthenticated(readBytes)
		for range 2 {
			turn(t, l)
		}
		require.EqualValues(t, i+1, asked(l, fd))
	}
	require.NoError(t, peer.Close())
	for range 3 {
		turn(t, l)
	}
	require.Nil(t, l.driver.conns[fd])
}
