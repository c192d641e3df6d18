package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// Many clients lock random sets of keys in random orders, give up, vanish and are killed. No two clients are
// ever inside one key, nothing is ever stuck, and nothing is left behind.
func TestManyKeysInTurmoil(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		seed := testkit.Seed(t)
		clients, rounds := 10, testkit.Steps(15, 30)
		var inside [5]atomic.Int32
		var all sync.WaitGroup
		for i := range clients {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			all.Go(func() {
				m := &manyClient{t: t, dial: dial, random: random, inside: &inside, name: strconv.Itoa(i)}
				for round := range rounds {
					if !m.round(round) {
						return
					}
				}
				m.leave()
			})
		}
		all.Wait()
		c := testkit.Dial(t, dial)
		eventually(t, func() bool { return srv.connected() == 1 }, "no request of a broken connection is left")
		require.Len(t, c.Do("MLOCK", "5", "k0", "k1", "k2", "k3", "k4", "last", "WAIT", "20000").Elems, 5)
		c.Do("MUNLOCK", "5", "k0", "k1", "k2", "k3", "k4", "last")
		require.Empty(t, c.Do("LOCK.LIST").Elems)
		c.Close()
		eventually(t, func() bool { return srv.connected() == 0 }, "all connections end")
		checkParking(t, srv)
		require.Zero(t, srv.executor.Waits.Queues.LenOwners())
	})
}

// manyClient is one client's life: it connects anew when it has broken its connection off.
type manyClient struct {
	t      *testing.T
	dial   func() (net.Conn, error)
	random *rand.Rand
	inside *[5]atomic.Int32
	name   string
	client *testkit.Client
	owner  string
	leaves bool // its connection breaks at some moment
}

func (m *manyClient) leave() {
	if m.client != nil {
		m.client.Close()
	}
	m.client, m.leaves = nil, false
}

// round locks some keys and unlocks them again; false: the test has failed.
func (m *manyClient) round(number int) bool {
	if m.client == nil {
		conn, err := m.dial()
		if !noError(m.t, err) {
			return false
		}
		m.client, m.owner = testkit.NewClient(m.t, conn), fmt.Sprint(m.name, "-", number)
	}
	numbers := m.random.Perm(5)[:1+m.random.IntN(3)]
	keys := []string{strconv.Itoa(len(numbers))}
	for _, n := range numbers {
		keys = append(keys, fmt.Sprint("k", n))
	}
	wait := "0"
	switch m.random.IntN(5) {
	case 0:
		wait = "2"
	case 1: // it goes while it waits, or as it is granted
		m.leaves = true
		go func(conn net.Conn, after time.Duration) {
			time.Sleep(after)
			sever(conn)
		}(m.client.Conn(), time.Duration(m.random.IntN(1500))*time.Microsecond)
	}
	// Only a client that leaves needs a short lease. On a busy machine that can end while the client is
	// inside.
	lease := "60000"
	if m.leaves {
		lease = "300"
	}
	lock := append(append([]string{"MLOCK"}, keys...), m.owner, "PX", lease, "WAIT", wait)
	v, err := m.client.Call(lock...)
	if err != nil {
		m.leave()
		return true
	}
	if v.IsNull() {
		return true
	}
	if !equal(m.t, false, v.IsError()) || !equal(m.t, len(numbers), len(v.Elems)) {
		return false
	}
	ok := m.leaves || m.isAlone(numbers)
	if _, err := m.client.Call(append(append([]string{"MUNLOCK"}, keys...), m.owner)...); err != nil {
		m.leave()
	}
	return ok
}

// isAlone enters the keys that the client has locked, and leaves them; false: another client was inside.
func (m *manyClient) isAlone(numbers []int) bool {
	ok := true
	for _, n := range numbers {
		ok = equal(m.t, int32(1), m.inside[n].Add(1)) && ok
	}
	for _, n := range numbers {
		m.inside[n].Add(-1)
	}
	return ok
}

// A client that has stopped reading is granted its locks behind replies that it has not taken. It cannot have
// read the grant when it goes, and all of it is taken back.
func TestGrantOfManyIsTakenBack(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{EventLoops: true}, nil)
	dial := overPort(srv)
	a, b, c := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
	a.Do("SET", "big", strings.Repeat("x", 512<<10))
	a.Do("LOCK", "k", "a")
	require.Positive(t, b.Do("LOCK", "mine", "b", "PX", "60000").Int)
	leaveUnread(t, srv, b, "big")
	b.Send("MLOCK", "3", "j", "k", "mine", "b", "WAIT", "0")
	awaitParked(t, srv, 1)
	c.Send("LOCK", "k", "c", "WAIT", "0")
	awaitParked(t, srv, 2)
	require.EqualValues(t, 1, a.Do("UNLOCK", "k", "a").Int)
	require.EqualValues(t, 2, a.Do("EXISTS", "j", "k").Int)
	require.Equal(t, "2", a.Do("HGET", "mine", "b").Str)
	b.Close()
	require.Positive(t, c.Receive().Int)
	eventually(t, func() bool { return a.Do("EXISTS", "j").Int == 0 }, "the other key is given back, too")
	require.Equal(t, "1", a.Do("HGET", "mine", "b").Str, "what it held before it still holds")
}

// A release of one of a thousand locks that all wait for one another's keys sends one reply.
func TestReleaseWakesOne(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{EventLoops: true}, nil)
	holder := client(t, srv)
	holder.Do("LOCK", "k", "holder")
	var waiters []*testkit.Client
	for i := range 300 {
		c := client(t, srv)
		if i%2 == 0 {
			c.Send("LOCK", "k", strconv.Itoa(i), "WAIT", "0")
		} else {
			c.Send("MLOCK", "2", fmt.Sprint("own", i), "k", strconv.Itoa(i), "WAIT", "0")
		}
		awaitParked(t, srv, i+1)
		waiters = append(waiters, c)
	}
	sent := func() (n int) {
		srv.executor.Mu.Lock()
		defer srv.executor.Mu.Unlock()
		for _, s := range srv.executor.clients {
			if s.Waiter == nil {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, sent())
	holder.Do("UNLOCK", "k", "holder")
	require.Equal(t, 2, sent())
	waiters[0].Receive()
	waiters[0].Do("UNLOCK", "k", "0")
	require.Equal(t, 3, sent())
	require.Len(t, waiters[1].Receive().Elems, 2)
}
