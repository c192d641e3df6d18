package server

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/tests/testkit"
)

// manyHolders is a server with a semaphore that many owners hold, each with another lease.
type manyHolders struct {
	*testing.T
	srv   *instance
	clock *ManualClock
	ask   func(words ...string) string
	n     int
}

func holdMany(t *testing.T, n int) *manyHolders {
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	c := client(t, srv)
	for i := range n {
		c.Send("SEM.ACQUIRE", "s", fmt.Sprint("o", i), "LIMIT", strconv.Itoa(2*n), "PX", strconv.Itoa(1000+i))
		if i%1000 == 999 || i == n-1 {
			for range i%1000 + 1 {
				require.Positive(t, c.Receive().Int)
			}
		}
	}
	return &manyHolders{t, srv, clock, func(words ...string) string { return c.Do(words...).String() }, n}
}

// hash is the semaphore.
func (m *manyHolders) hash() *hash.Hash {
	ex := &m.srv.executor
	ex.Mu.Lock()
	defer ex.Mu.Unlock()
	return ex.Store.DB(0).Peek([]byte("s")).Hash()
}

// count is how many permits are in use, counted one by one.
func (m *manyHolders) count() (sum int64) {
	m.hash().Each(func(_, value []byte) bool {
		sum += store.SharePermits(value)
		return true
	})
	return sum
}

// same requires that no command has counted the permits anew, and that the tally is right.
func (m *manyHolders) same(was *hash.Tally, after string) {
	m.Helper()
	require.Same(m, was, m.hash().Tally(), after)
	require.Equal(m, m.count(), was.Sum, after)
}

// TestSemaphoresWithManyHolders: no command counts the permits or looks at each holder. The count is made
// once and follows every change.
func TestSemaphoresWithManyHolders(t *testing.T) {
	t.Parallel()
	n := testkit.Steps(20_000, 100_000)
	m := holdMany(t, n)
	require.Contains(t, m.ask("SEM.INFO", "s", "COUNT", "1"), fmt.Sprintf(`"available" %d "used" %[1]d "holding" %[1]d`, n))
	was := m.hash().Tally()
	require.NotNil(t, was)
	token := m.ask("SEM.ACQUIRE", "s", "o5", "PERMITS", "7", "PX", "1005")
	for _, step := range []struct{ command, reply string }{
		{"SEM.ACQUIRE s new PERMITS 3 PX 500", ""},
		{"SEM.ACQUIRE s o5 PERMITS 2 ONCE PX 1005", token},
		{"SEM.RELEASE s o5 PERMITS 2", "6"},
		{"SEM.RELEASE s o77", "0"},
		{"SEM.RENEW s o78 PX 900000", "1"},
		{"PTTL s", "900000"},
		{"SEM.RENEW s o78 PX 5", "1"},
		{"PTTL s", strconv.Itoa(n + 999)},
		{fmt.Sprint("SEM.RELEASE s o", n-1), "0"},
		{"PTTL s", strconv.Itoa(n + 998)},
		{"LOCK.FORCE s OWNER o80", "1"},
		{fmt.Sprint("SEM.RESIZE s ", n+5), "1"},
		{"SEM.ACQUIRE s more PERMITS 8 PX 1000", "$nil"},
		{fmt.Sprint("SEM.RESIZE s ", 3*n), "1"},
		{"GUARD s " + token + " SET x 1", "+OK"},
		{"HDEL s o81", "1"},
		{"HSET s o82 5", "0"},
		{"SEM.INFO s COUNT 1", ""},
		{"LOCK.LIST OWNER o90 COUNT 1", ""},
		{"SEM.ACQUIRE s more PERMITS 8 PX 1000", ""},
	} {
		if got := m.ask(strings.Fields(step.command)...); step.reply != "" {
			require.Equal(t, step.reply, got, step.command)
		} else {
			require.NotContains(t, got, "ERR", step.command)
		}
		m.same(was, step.command)
	}
	require.Equal(t, "-STALETOKEN the lock is not held with this token", m.ask("GUARD", "s", "5", "SET", "x", "2"))
	m.clock.Advance(5 * time.Second)
	eventually(t, func() bool { return m.hash().Len() < m.n-3900 }, "leases end")
	m.same(was, "leases that end")
	require.Equal(t, "-STALETOKEN the lock is not held with this token", m.ask("GUARD", "s", token, "SET", "x", "2"))
	m.same(was, "a token without a holder")
	m.clock.Advance(time.Hour)
	require.Equal(t, "0", m.ask("EXISTS", "s"))
}

// A cut that a snapshot takes does not make the server count again either.
func TestSemaphoresWithManyHoldersDuringASnapshot(t *testing.T) {
	t.Parallel()
	m := holdMany(t, 1000)
	require.Contains(t, m.ask("SEM.INFO", "s", "COUNT", "1"), `"used" 1000`)
	was := m.hash().Tally()
	require.NotNil(t, was)
	ex := &m.srv.executor
	ex.Mu.Lock()
	cut := ex.Store.Cut()
	ex.Mu.Unlock()
	require.Equal(t, "0", m.ask("SEM.RELEASE", "s", "o7"))
	m.same(was, "a write behind a cut")
	ex.Mu.Lock()
	cut.Release()
	ex.Mu.Unlock()
}
