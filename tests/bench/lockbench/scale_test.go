package lockbench

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/bench/benchkit"
)

// ourServer starts a server in this process, in the form for a benchmark.
func ourServer(t *testing.T, directives ...string) *benchkit.Server {
	t.Helper()
	o := server.Options{EventLoops: true, Directives: map[string]string{}}
	for i := 0; i < len(directives); i += 2 {
		o.Directives[directives[i]] = directives[i+1]
	}
	srv, err := server.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	return &benchkit.Server{Addr: srv.Addr().String()}
}

func keysOf(t *testing.T, s *benchkit.Server) int {
	t.Helper()
	text, err := s.Do("DBSIZE")
	require.NoError(t, err)
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

func TestChurnReleasesAndAcquires(t *testing.T) {
	for _, pipeline := range []int{1, longPipeline} {
		s := ourServer(t)
		n, err := holdLocks(t.Context(), s, 1000)
		require.NoError(t, err)
		require.Equal(t, n, keysOf(t, s))
		c, err := newChurn(s.Addr, n, alone)
		require.NoError(t, err)
		defer c.fleet.Close()
		for number := range 4 { // more than one lap
			require.NoError(t, c.send(number, pipeline, appendUnlock, ":1"))
			require.Equal(t, n-batch, keysOf(t, s), "a batch has no lock twice")
			require.NoError(t, c.send(number, pipeline, appendLock, ":"))
			require.Equal(t, n, keysOf(t, s))
		}
		require.ErrorContains(t, c.send(0, pipeline, appendLock, "$-1"), "instead of", "they are held by the same owner")
	}
}

func TestChurnLeavesMostLocksHeld(t *testing.T) {
	require.Equal(t, 1, (&churn{n: 1000}).most())
	require.Equal(t, 156, (&churn{n: 1_000_000}).most())
}

func TestRelayHandsOnToAndFro(t *testing.T) {
	s := ourServer(t)
	r, err := newRelay(s)
	require.NoError(t, err)
	defer r.fleet.Close()
	for lap := range 5 {
		require.Equal(t, lap%2, r.turn)
		require.NoError(t, r.lap())
		require.NoError(t, awaitParked(s, relayPairs), "one of each pair waits")
	}
}

func TestParkedClientsWaitForDifferentLocks(t *testing.T) {
	s := ourServer(t)
	const waiters = 30
	n, err := holdLocks(t.Context(), s, 1000)
	require.NoError(t, err)
	p, err := connectTCP(s.Addr, waiters)
	require.NoError(t, err)
	defer p.close()
	require.NoError(t, p.park())
	require.NoError(t, awaitParked(s, waiters))
	// Each waiter gets its own lock.
	for i := range waiters {
		reply, err := s.Do("UNLOCK", fmt.Sprintf("lock:%012d", i), fmt.Sprintf("%s%012d", holder, i))
		require.NoError(t, err)
		require.Equal(t, "1", reply)
		require.NoError(t, awaitParked(s, waiters-i-1))
	}
	require.Equal(t, n, keysOf(t, s))
}

func TestRenewalsEndWhenCancelled(t *testing.T) {
	s := ourServer(t)
	n, err := holdLocks(t.Context(), s, 1000)
	require.NoError(t, err)
	_, err = s.Do("SET", "probe", "x")
	require.NoError(t, err)
	first := time.Now().Add(300 * time.Millisecond)
	_, err = s.Fill(t.Context(), renewals(n, first, 100*time.Millisecond), n)
	require.NoError(t, err)
	if time.Now().Before(first.Add(-10 * time.Millisecond)) {
		require.Equal(t, n+1, keysOf(t, s))
	}
	time.Sleep(time.Until(first.Add(400 * time.Millisecond)))
	require.Equal(t, 1, keysOf(t, s))
}

func TestGrowthPerThing(t *testing.T) {
	require.Equal(t, []string{"lock", "1,000", "1.0 MiB", "2.0 MiB", "1,049"},
		growth{what: "lock", count: 1000, before: 1 << 20, after: 2 << 20}.row())
}

func TestCrowdParksItsConnections(t *testing.T) {
	srv, err := server.New(server.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	s := &benchkit.Server{Addr: srv.Addr().String()}
	_, err = holdLocks(t.Context(), s, 1000)
	require.NoError(t, err)
	c := crowd{srv: srv}
	require.Error(t, c.do("park", ""), "nobody is connected")
	require.Error(t, c.do("connect", "many"))
	require.Error(t, c.do("dance", ""))
	require.NoError(t, c.do("connect", "20"))
	require.NoError(t, c.do("collect", ""))
	defer c.clients.close()
	require.NoError(t, c.clients.park())
	require.NoError(t, awaitParked(s, 20))
}
