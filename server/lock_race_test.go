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

func TestHundredWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		holder := testkit.Dial(t, dial)
		last := holder.Do("LOCK", "k", "holder").Int
		var waiters []*testkit.Client
		for i := range 100 {
			c := testkit.Dial(t, dial)
			c.Send("LOCK", "k", strconv.Itoa(i), "WAIT", "0")
			awaitParked(t, srv, i+1)
			waiters = append(waiters, c)
		}
		require.EqualValues(t, 1, holder.Do("UNLOCK", "k", "holder").Int)
		for i, c := range waiters {
			token := c.Receive().Int
			require.Greater(t, token, last)
			last = token
			if i+1 < len(waiters) {
				_, early := waiters[i+1].ReceiveWithin(time.Millisecond)
				require.False(t, early, "waiter %d was served before its turn", i+1)
			}
			require.True(t, holder.Do("LOCK", "k", "barging").IsNull())
			require.EqualValues(t, 1, c.Do("UNLOCK", "k", strconv.Itoa(i)).Int)
		}
		checkParking(t, srv)
	})
}

// A critical section that a lock guards over many connections and loops: the counter inside is read and
// written by two commands, so that one lost turn shows.
func TestLockExcludes(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		clients, rounds := 12, testkit.Steps(12, 25)
		testkit.Dial(t, dial).Do("SET", "n", "0")
		var inside atomic.Int32
		var lastToken atomic.Int64
		var all sync.WaitGroup
		for i := range clients {
			c := testkit.Dial(t, dial)
			all.Go(func() {
				owner := strconv.Itoa(i)
				for range rounds {
					token, err := c.Call("LOCK", "k", owner, "WAIT", "0")
					if !noError(t, err) || !equal(t, int32(1), inside.Add(1)) || !equal(t, true, token.Int > lastToken.Swap(token.Int)) {
						return
					}
					v, err := c.Call("GET", "n")
					if !noError(t, err) {
						return
					}
					n, _ := strconv.Atoi(v.Str)
					_, err = c.Call("SET", "n", strconv.Itoa(n+1))
					inside.Add(-1)
					if !noError(t, err) {
						return
					}
					if v, err = c.Call("UNLOCK", "k", owner); !noError(t, err) || !equal(t, int64(1), v.Int) {
						return
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, strconv.Itoa(clients*rounds), testkit.Dial(t, dial).Do("GET", "n").Str)
		checkParking(t, srv)
	})
}

// noError and equal are assertions for goroutines that are not the test's own.
func noError(t *testing.T, err error) bool {
	if err != nil {
		t.Errorf("unexpected error: %v", err)
	}
	return err == nil
}

func equal[T comparable](t *testing.T, want, got T) bool {
	if want != got {
		t.Errorf("want %v, got %v", want, got)
	}
	return want == got
}

// The waiter's connection is closed, and the lock is released, in both orders and at once. The next waiter
// gets the lock at once, not when an unused lease ends.
func TestWaiterGoesAsTheLockIsReleased(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		for round := range testkit.Steps(16, 40) {
			key := fmt.Sprint("k", round)
			a, b, c := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
			a.Do("LOCK", key, "a")
			b.Send("LOCK", key, "b", "WAIT", "0")
			awaitParked(t, srv, 1)
			c.Send("LOCK", key, "c", "WAIT", "0")
			awaitParked(t, srv, 2)
			// Nothing runs while both things happen, so the server meets them in any order.
			srv.executor.Mu.Lock()
			if round%2 == 0 {
				b.Close()
				a.Send("UNLOCK", key, "a")
			} else {
				a.Send("UNLOCK", key, "a")
				time.Sleep(time.Millisecond)
				b.Close()
			}
			time.Sleep(time.Duration(round%4) * 300 * time.Microsecond)
			srv.executor.Mu.Unlock()
			require.EqualValues(t, 1, a.Receive().Int)
			token, ok := c.ReceiveWithin(soon)
			require.True(t, ok, "round %d: the lock went to a client that had gone", round)
			require.Positive(t, token.Int)
			require.EqualValues(t, 1, c.Do("UNLOCK", key, "c").Int)
			a.Close()
			c.Close()
		}
		eventually(t, func() bool { return srv.connected() == 0 }, "all connections end")
		checkParking(t, srv)
	})
}

// leaveUnread asks for a key until there is more than the client's socket takes, but not so much
// that its next command has to wait.
func leaveUnread(t testing.TB, srv *instance, c *testkit.Client, key string) {
	t.Helper()
	runs := func(words ...string) {
		before := srv.commandsRun()
		c.Send(words...)
		eventually(t, func() bool { return srv.commandsRun() > before }, "%v should run", words)
	}
	id := c.Do("CLIENT", "ID").Int
	for full := false; !full; { // a busy machine may send late what the socket does take
		for srv.unreadBy(id) < mostUnsent/4 {
			runs("GET", key)
			runs("PING") // looks at what the socket has taken by now
		}
		left := awaitSame(t, func() int { return srv.unreadBy(id) })
		full = left >= mostUnsent/8
	}
	awaitStill(t, srv)
}

// awaitSame waits until a figure is the same for a while, and returns it. The test sleeps between two
// looks, so the number of looks counts the turns that the process had on a busy machine.
func awaitSame(t testing.TB, figure func() int) (last int) {
	t.Helper()
	const enough = 60
	looks, since := 0, time.Now()
	eventually(t, func() bool {
		looks++
		if n := figure(); n != last {
			last, looks, since = n, 0, time.Now()
		}
		return looks >= enough && time.Since(since) > 15*time.Millisecond
	}, "it changes on and on")
	return last
}

// A client that has stopped reading is granted its lock behind replies that it has not taken: it
// cannot have read the grant when it goes.
func TestGrantBehindUnreadRepliesIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			srv := startWith(t, Options{EventLoops: tr.options.EventLoops}, nil)
			dial := srv.Dial
			if !tr.pipe {
				dial = overPort(srv)
			}
			a, b, c := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
			a.Do("SET", "big", strings.Repeat("x", 512<<10))
			a.Do("LOCK", "k", "a")
			leaveUnread(t, srv, b, "big")
			b.Send("LOCK", "k", "b", "WAIT", "0")
			awaitParked(t, srv, 1)
			c.Send("LOCK", "k", "c", "WAIT", "0")
			awaitParked(t, srv, 2)
			require.EqualValues(t, 1, a.Do("UNLOCK", "k", "a").Int)
			require.Equal(t, "1", a.Do("HGET", "k", "b").Str)
			_, early := c.ReceiveWithin(20 * time.Millisecond)
			require.False(t, early)
			b.Close()
			token, ok := c.ReceiveWithin(soon)
			require.True(t, ok, "a grant that was never read was kept")
			require.Positive(t, token.Int)
		})
	}
}

// A lock belongs to a client that has read its grant until the lease ends, however the connection ends.
func TestGrantThatWasReadIsKept(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b, c := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		a.Do("LOCK", "k", "a")
		b.Send("LOCK", "k", "b", "PX", "60000", "WAIT", "0")
		awaitParked(t, srv, 1)
		a.Do("UNLOCK", "k", "a")
		require.Positive(t, b.Receive().Int)
		b.Do("PING")
		sever(b.Conn())
		eventually(t, func() bool { return srv.connected() == 2 }, "b's connection ends")
		require.True(t, c.Do("LOCK", "k", "c").IsNull())
		require.Equal(t, "1", c.Do("HGET", "k", "b").Str)
	})
}

// sever closes a connection so that, over TCP, the other end sees a reset.
func sever(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// A wait runs out at about the moment at which the lock is released: a client that gets a token holds the
// lock, a client that gets nil does not.
func TestTimeoutRacesRelease(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b := testkit.Dial(t, dial), testkit.Dial(t, dial)
		seed := testkit.Seed(t)
		random := rand.New(rand.NewPCG(seed, 0))
		granted, rounds := 0, testkit.Steps(60, 200)
		for range rounds {
			require.Positive(t, a.Do("LOCK", "k", "a").Int)
			b.Send("LOCK", "k", "b", "WAIT", "2")
			time.Sleep(time.Duration(1000+random.IntN(1500)) * time.Microsecond)
			require.EqualValues(t, 1, a.Do("UNLOCK", "k", "a").Int)
			reply := b.Receive()
			if reply.IsNull() {
				require.True(t, b.Do("UNLOCK", "k", "b").IsNull())
			} else {
				granted++
				require.Positive(t, reply.Int)
				require.EqualValues(t, 1, b.Do("UNLOCK", "k", "b").Int)
			}
			require.Zero(t, a.Do("EXISTS", "k").Int)
		}
		t.Logf("%d of %d were granted", granted, rounds)
		checkParking(t, srv)
	})
}

// Waiters time out, vanish, are unblocked and killed at once, while the lock goes round. The remaining
// waiters are all served, and no state is left behind.
func TestWaitersInTurmoil(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		seed := testkit.Seed(t)
		clients, rounds := 16, testkit.Steps(15, 30)
		var tokens sync.Map
		var all sync.WaitGroup
		for i := range clients {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			all.Go(func() { turmoil(t, dial, random, strconv.Itoa(i), rounds, &tokens) })
		}
		stop := make(chan struct{})
		var disturb sync.WaitGroup
		disturb.Go(func() { disturber(t, srv, stop, rand.New(rand.NewPCG(seed, 99))) })
		all.Wait()
		close(stop)
		disturb.Wait()
		// A client that went may have held the lock, so it is freed by its short lease at the latest.
		c := testkit.Dial(t, dial)
		require.Positive(t, c.Do("LOCK", "k", "last", "WAIT", "20000").Int)
		c.Do("UNLOCK", "k", "last")
		c.Close()
		eventually(t, func() bool { return srv.connected() == 0 }, "all connections end")
		checkParking(t, srv)
		// A killed client is in no list any more, but what it was given and has not read is taken
		// back by its connection's owner.
		left := client(t, srv)
		eventually(t, func() bool { return left.Do("EXISTS", "k").Int == 0 }, "the lock is free")
	})
}

// turmoil is one client's life: it connects anew whenever it has broken its connection off.
func turmoil(t *testing.T, dial func() (net.Conn, error), random *rand.Rand, name string, rounds int, tokens *sync.Map) {
	var c *testkit.Client
	owner := ""
	for round := range rounds {
		if c == nil {
			owner = fmt.Sprint(name, "-", round)
			conn, err := dial()
			if !noError(t, err) {
				return
			}
			c = testkit.NewClient(t, conn)
		}
		args := []string{"LOCK", "k", owner, "PX", "200", "WAIT", "0"}
		switch random.IntN(4) {
		case 0:
			args[6] = strconv.Itoa(1 + random.IntN(3))
		case 1: // it goes while it waits
			go func(conn net.Conn, after time.Duration) {
				time.Sleep(after)
				sever(conn)
			}(c.Conn(), time.Duration(random.IntN(2000))*time.Microsecond)
		}
		v, err := c.Call(args...)
		if err != nil { // it has gone, or was killed
			c.Close()
			c = nil
			continue
		}
		if v.IsNull() || v.IsError() && strings.HasPrefix(v.Str, "UNBLOCKED") {
			continue
		}
		if _, twice := tokens.LoadOrStore(v.Int, true); !equal(t, false, v.IsError()) || !equal(t, false, twice) {
			t.Log(v)
			return
		}
		if v, err = c.Call("UNLOCK", "k", owner); err != nil {
			c.Close()
			c = nil
		} else if !v.IsNull() { // nil: the lease has ended, or DEL came
			equal(t, int64(1), v.Int)
		}
	}
	if c != nil {
		c.Close()
	}
}

// disturber unblocks and kills clients at random until it is stopped.
func disturber(t *testing.T, srv *instance, stop <-chan struct{}, random *rand.Rand) {
	conn, err := srv.Dial()
	if !noError(t, err) {
		return
	}
	c := testkit.NewClient(t, conn)
	defer c.Close()
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(random.IntN(1000)) * time.Microsecond):
		}
		id := strconv.Itoa(1 + random.IntN(60))
		switch random.IntN(6) {
		case 0:
			_, err = c.Call("CLIENT", "KILL", "ID", id)
		case 1:
			_, err = c.Call("CLIENT", "UNBLOCK", id, "ERROR")
		case 2:
			_, err = c.Call("DEL", "k")
		default:
			_, err = c.Call("CLIENT", "UNBLOCK", id)
		}
		if !noError(t, err) {
			return
		}
	}
}
