package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/call"
	"lockserver/tests/testkit"
)

// Calls that wait for locks share the client's own connection. Most tests are in a bubble (lease_test.go).

// waiters is how many waits there are on the server.
func waiters(op *testkit.Client) (n int) {
	_, after, _ := strings.Cut(op.Do("INFO", "locks").Str, "lock_waiters:")
	_, _ = fmt.Sscan(after, &n)
	return n
}

// holder is the owner of a lock; "": it is not held.
func holder(op *testkit.Client, key string) string {
	info := op.Do("LOCK.INFO", key)
	if len(info.Elems) == 0 {
		return ""
	}
	return call.FieldsOf(info).Text("owner")
}

// had holds the results of a call for a lock.
type had struct {
	*client.Lock
	err error
}

// lockLater calls Lock in a goroutine of its own.
func lockLater(ctx context.Context, c *client.Client, key string, options ...client.Option) chan had {
	came := make(chan had, 1)
	go func() {
		l, err := c.Lock(ctx, key, options...)
		came <- had{l, err}
	}()
	return came
}

// TestTenThousandWait: ten thousand goroutines wait for locks, and the client has two connections in all. One
// attachment is for all of their owners. The connections break while all wait, and while the locks go from
// one to the next.
func TestTenThousandWait(t *testing.T) {
	const goroutines, keys = 10_000, 100
	srv, n := start(t, time.Hour) // the lease is not the subject
	c := n.narrow(t, client.Timeout(5*time.Minute))
	op := operator(t, srv)
	for i := range keys {
		op.Do("LOCK", strconv.Itoa(i), "operator", "PX", "3600000")
	}
	var inside [keys]atomic.Int32
	var group sync.WaitGroup
	for i := range goroutines {
		group.Go(func() {
			l, err := c.Lock(ctx, strconv.Itoa(i%keys))
			if err != nil {
				t.Error(err)
				return
			}
			if inside[i%keys].Add(1) != 1 {
				t.Errorf("lock %d is held twice", i%keys)
			}
			inside[i%keys].Add(-1)
			if err := l.Unlock(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	allWait := func() bool { return waiters(op) == goroutines }
	require.Eventually(t, allWait, 2*time.Minute, 10*time.Millisecond)
	connections := func() int { return strings.Count(op.Do("CLIENT", "LIST").Str, "id=") }
	most := 2 // the client's own, and the operator's
	if shardCount > 1 {
		most = 3 * shardCount // and the library's, which has asked for the map
	}
	require.LessOrEqual(t, connections(), most)
	attached := func() int { return strings.Count(op.Do("INFO", "commandstats").Str, "cmdstat_lock.attach:calls=1,") }
	require.Equal(t, shardCount, attached(), "the prefix was attached once")
	n.breakSome(1)
	require.Eventually(t, func() bool { return attached() == 0 && connections() >= 2*shardCount && connections() <= most }, time.Minute, 10*time.Millisecond)
	require.Eventually(t, allWait, time.Minute, 10*time.Millisecond, "all places are kept")
	for i := range keys {
		op.Do("UNLOCK", strconv.Itoa(i), "operator")
		if i == keys/2 {
			n.breakSome(1)
		}
	}
	group.Wait()
	require.Eventually(t, func() bool { return connections() <= 3*shardCount && op.Do("DBSIZE").Int == 0 }, time.Minute, 10*time.Millisecond,
		"the library has one connection by now")
}

// TestCancelRacesGrant: a caller that goes when its lock is granted has it or not, and leaves nothing behind.
func TestCancelRacesGrant(t *testing.T) {
	srv, n := start(t, time.Minute)
	c, op := n.client(t), operator(t, srv)
	var taken, left int
	for i := range 200 {
		held, err := c.Lock(ctx, "k")
		require.NoError(t, err)
		limited, cancel := context.WithCancel(ctx)
		came := lockLater(limited, c, "k")
		require.Eventually(t, func() bool { return waiters(op) == 1 }, time.Minute, 100*time.Microsecond)
		var group sync.WaitGroup
		group.Go(func() {
			for range rand.IntN(1 + i*100) { // not always at once
			}
			cancel()
		})
		require.NoError(t, held.Unlock(ctx))
		group.Wait()
		if next := <-came; next.err == nil {
			taken++
			require.NoError(t, next.Unlock(ctx))
		} else {
			left++
			require.ErrorIs(t, next.err, context.Canceled)
		}
		last, err := c.Lock(ctx, "k", client.Wait(20*time.Second))
		require.NoError(t, err, "of %d", i)
		require.NoError(t, last.Unlock(ctx))
	}
	t.Logf("%d had the lock, %d did not", taken, left)
	require.Eventually(t, func() bool { return op.Do("DBSIZE").Int == 0 && waiters(op) == 0 }, time.Minute, time.Millisecond)
}

// TestTimeoutRacesGrant: the lock is released in the moment in which the wait ends.
func TestTimeoutRacesGrant(t *testing.T) {
	for _, early := range []time.Duration{-time.Millisecond, -time.Nanosecond, 0, time.Nanosecond, time.Millisecond} {
		for range 20 {
			inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
				held, err := c.Lock(ctx, "k")
				require.NoError(t, err)
				came := lockLater(ctx, c, "k", client.Wait(time.Second))
				synctest.Wait()
				time.Sleep(time.Second - early)
				require.NoError(t, held.Unlock(ctx))
				if next := <-came; next.err == nil {
					require.Equal(t, next.Owner(), holder(op, "k"))
					require.NoError(t, next.Unlock(ctx))
				} else {
					require.ErrorIs(t, next.err, client.ErrNotAcquired)
				}
				synctest.Wait()
				require.Equal(t, int64(0), op.Do("DBSIZE").Int)
				require.Zero(t, waiters(op))
			})
		}
	}
}

// TestLostPush: the connection breaks before the client has read that it was granted a lock. It asks again.
func TestLostPush(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		for name, options := range map[string][]client.Option{"renewed": nil, "fixed": {client.Lease(time.Hour)}} {
			op.Do("LOCK", "k", "operator", "PX", "3600000")
			came := lockLater(ctx, c, "k", options...)
			synctest.Wait()
			n.loseAnswer()
			op.Do("UNLOCK", "k", "operator")
			next := <-came
			require.NoError(t, next.err, name)
			require.Equal(t, next.Owner(), holder(op, "k"))
			time.Sleep(10 * time.Minute)
			require.NoError(t, next.Context().Err())
			require.Equal(t, next.Owner(), holder(op, "k"), "it was confirmed")
			require.NoError(t, next.Unlock(ctx))
			require.Equal(t, int64(0), op.Do("EXISTS", "k").Int)
		}
	})
}

// TestGrantWhileAway: a lock is granted while the client has no connection. If it is back in time it has the
// lock; otherwise the lock passes on, and the client waits again.
func TestGrantWhileAway(t *testing.T) {
	for _, away := range []time.Duration{time.Millisecond, lease/3 - time.Second, lease/3 + time.Second} {
		t.Run(away.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
				srv := n.srv
				south := (&network{srv: srv, conns: make(map[*conn]bool)}).client(t)
				op.Do("LOCK", "k", "operator", "PX", "3600000")
				first := lockLater(ctx, c, "k")
				synctest.Wait()
				second := lockLater(ctx, south, "k")
				synctest.Wait()
				n.connect(nil)
				n.breakSome(1)
				synctest.Wait()
				require.Equal(t, 2, waiters(op), "the place is kept")
				op.Do("UNLOCK", "k", "operator")
				time.Sleep(away)
				n.connect(srv)
				turns := []chan had{first, second}
				if away > lease/3 {
					turns = []chan had{second, first}
				}
				for _, turn := range turns {
					next := <-turn
					require.NoError(t, next.err)
					time.Sleep(time.Minute)
					require.Equal(t, next.Owner(), holder(op, "k"))
					require.NoError(t, next.Unlock(ctx))
				}
				require.Equal(t, int64(0), op.Do("EXISTS", "k").Int)
			})
		})
	}
}

// TestPlacesOutliveConnections: the waiters keep their order, however often the connection breaks, and
// get into it again if it was broken for too long.
func TestPlacesOutliveConnections(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		op.Do("LOCK", "k", "operator", "PX", "3600000")
		order := make(chan int, 20)
		var group sync.WaitGroup
		for i := range cap(order) {
			group.Go(func() {
				l, err := c.Lock(ctx, "k")
				if err == nil {
					order <- i
					err = l.Unlock(ctx)
				}
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			if i%3 == 0 {
				n.breakSome(1)
				time.Sleep(time.Second)
				require.Equal(t, i+1, waiters(op))
			}
		}
		time.Sleep(time.Minute)
		srv := n.srv
		n.connect(nil)
		n.breakSome(1)
		time.Sleep(lease/3 + time.Second)
		require.Zero(t, waiters(op), "for so long the server keeps no place")
		n.connect(srv)
		time.Sleep(2 * time.Second)
		require.Equal(t, cap(order), waiters(op))
		op.Do("UNLOCK", "k", "operator")
		for i := range cap(order) {
			require.Equal(t, i, <-order)
		}
		group.Wait()
	})
}

// TestManyAskAgain: very many waits are asked for again. The server needs longer for that than a new
// connection has to be one, and than a sign of life may take. The client stays with the connection, and with
// what it holds.
func TestManyAskAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		const calls = 1000
		held, err := c.Lock(ctx, "held")
		require.NoError(t, err)
		op.Do("LOCK", "k", "operator", "PX", "3600000")
		limited, cancel := context.WithCancel(ctx)
		var calling []chan had
		for range calls {
			calling = append(calling, lockLater(limited, c, "k"))
		}
		synctest.Wait()
		require.Equal(t, calls, waiters(op))
		dials := n.slow(16 * time.Second / calls / time.Duration(len("+QUEUED\r\n")))
		n.breakSome(1)
		time.Sleep(time.Minute)
		require.Equal(t, dials+1, n.slow(0))
		require.NoError(t, held.Context().Err())
		require.Equal(t, calls, waiters(op))
		cancel()
		for _, came := range calling {
			require.ErrorIs(t, (<-came).err, context.Canceled)
		}
		synctest.Wait()
		require.Zero(t, waiters(op))
		require.NoError(t, held.Unlock(ctx))
	})
}

// TestGrantIsTakenBack: the lock is gone when the client confirms the grant. It waits again.
func TestGrantIsTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		op.Do("LOCK", "k", "operator", "PX", "3600000")
		came := lockLater(ctx, c, "k")
		synctest.Wait()
		op.Pipeline([][]string{{"UNLOCK", "k", "operator"}, {"LOCK.FORCE", "k"}, {"LOCK", "k", "operator", "PX", "60000"}})
		began := time.Now()
		next := <-came
		require.NoError(t, next.err)
		require.Equal(t, time.Minute, time.Since(began).Round(10*time.Millisecond))
		require.Equal(t, next.Owner(), holder(op, "k"))
		require.NoError(t, next.Context().Err())
		require.NoError(t, next.Unlock(ctx))
	})
}

// TestRefusals: the caller gets the reason why the server has ended a wait.
func TestRefusals(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		refused := func(end func(owner string)) error {
			op.Do("LOCK", "k", "operator", "PX", "3600000")
			came := lockLater(ctx, c, "k")
			synctest.Wait()
			end(call.FieldsOf(op.Do("LOCK.WAITERS").Elems[0]).Text("owner"))
			next := <-came
			op.Do("DEL", "k")
			return next.err
		}
		require.ErrorIs(t, refused(func(owner string) { op.Do("LOCK.CANCEL", "k", owner) }), client.ErrNotAcquired)
		var reply client.ReplyError
		require.ErrorAs(t, refused(func(string) { op.Do("SET", "k", "v") }), &reply)
		require.Contains(t, string(reply), "WRONGTYPE")

		held, err := c.Lock(c.Task(ctx), "held")
		require.NoError(t, err)
		op.Do("LOCK", "k", "operator", "PX", "3600000")
		came := lockLater(held.Context(), c, "k")
		synctest.Wait()
		op.Do("LOCK", "x", "other", "PX", "3600000")
		came2 := lockLater(held.Context(), c, "x")
		synctest.Wait()
		require.Contains(t, op.Do("LOCK", "held", "other", "WAIT", "0").Str, "DEADLOCK")
		op.Do("UNLOCK", "k", "operator")
		op.Do("UNLOCK", "x", "other")
		for _, turn := range []chan had{came, came2} {
			next := <-turn
			require.NoError(t, next.err)
			require.Equal(t, held.Owner(), next.Owner())
		}
	})
}

// TestDemoted: the server becomes a replica, which ends the waits, and then a master again.
func TestDemoted(t *testing.T) {
	srv, n := start(t, time.Minute)
	c, op := n.client(t), operator(t, srv)
	op.Do("LOCK", "k", "operator", "PX", "3600000")
	came := lockLater(ctx, c, "k")
	require.Eventually(t, func() bool { return waiters(op) == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, "+OK", op.Do("REPLICAOF", "127.0.0.1", "1").String())
	require.Eventually(t, func() bool { return waiters(op) == 0 }, time.Minute, time.Millisecond)
	require.Equal(t, "+OK", op.Do("REPLICAOF", "NO", "ONE").String())
	require.Eventually(t, func() bool { return waiters(op) == 1 }, time.Minute, time.Millisecond)
	op.Do("UNLOCK", "k", "operator")
	next := <-came
	require.NoError(t, next.err)
	require.NoError(t, next.Unlock(ctx))
}

// TestSeveralAndFixed: MLock and RLock wait as Lock does, and a fixed lease begins with the confirmation.
func TestSeveralAndFixed(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		for _, fixed := range []bool{false, true} {
			var options []client.Option
			if fixed {
				options = append(options, client.Lease(time.Hour))
			}
			op.Do("MLOCK", "3", "a", "b", "s", "operator", "PX", "3600000")
			many, shared := make(chan had, 1), make(chan had, 2)
			go func() {
				l, err := c.MLock(ctx, []string{"b", "a"}, options...)
				many <- had{l, err}
			}()
			for range cap(shared) {
				go func() {
					l, err := c.RLock(ctx, "s", options...)
					shared <- had{l, err}
				}()
			}
			synctest.Wait()
			n.breakSome(1)
			time.Sleep(time.Minute)
			op.Do("MUNLOCK", "3", "a", "b", "s", "operator")
			all := []had{<-many, <-shared, <-shared}
			began := time.Now()
			for _, l := range all {
				require.NoError(t, l.err)
			}
			if fixed {
				for _, l := range all {
					<-l.Context().Done()
					require.Equal(t, "expired", lossOf(t, context.Cause(l.Context())).Reason)
				}
				require.Equal(t, time.Hour, time.Since(began))
			} else {
				time.Sleep(2 * time.Hour)
				for _, l := range all {
					require.NoError(t, l.Unlock(ctx))
				}
			}
			synctest.Wait()
			require.Equal(t, int64(0), op.Do("DBSIZE").Int)
		}
	})
}

// TestLateRequest: a connection ends, and only then the server reads what was sent by it. A lock that
// it gives then is given back.
func TestLateRequest(t *testing.T) {
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprint("taken: ", taken), func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
				if taken {
					op.Do("LOCK", "k", "operator", "PX", "3600000")
				}
				arrive := n.holdBack()
				_, err := c.Lock(ctx, "k", client.Wait(time.Second))
				require.ErrorIs(t, err, client.ErrNotAcquired)
				time.Sleep(15 * time.Second) // there is another connection by now
				require.Zero(t, waiters(op))
				arrive()
				synctest.Wait()
				if !taken {
					require.NotEmpty(t, holder(op, "k"), "it is late")
				} else {
					require.Equal(t, 1, waiters(op))
					op.Do("UNLOCK", "k", "operator")
					synctest.Wait()
					require.Empty(t, holder(op, "k"), "it is given back at once")
				}
				time.Sleep(2 * lease)
				require.Empty(t, holder(op, "k"))
			})
		})
	}
}

// TestBrokenWhileWaiting: many wait, in all ways, for few locks, some give up, and connections break all the
// time. No lock is held by two, and none stays behind.
func TestBrokenWhileWaiting(t *testing.T) {
	t.Parallel()
	const workers, rounds = 60, 6
	srv, n := start(t, 30*time.Second)
	c := n.client(t, client.Timeout(time.Minute))
	var writers, readers [3]atomic.Int32
	var done, gone atomic.Int32
	stop := make(chan struct{})
	var breaker, group sync.WaitGroup
	breaker.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				n.breakSome(0.5)
			}
		}
	})
	key := func(n int) string { return "{door}" + strconv.Itoa(n) }
	// round takes some of the locks in some way, and returns what came of it.
	round := func() error {
		limited, cancel := context.WithCancel(ctx)
		defer cancel()
		if rand.IntN(4) == 0 {
			limited, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
			defer cancel()
		}
		first := rand.IntN(len(writers))
		keys, shared := []int{first}, false
		var l *client.Lock
		var err error
		switch rand.IntN(4) {
		case 0:
			keys = []int{first, (first + 1) % len(writers)}
			l, err = c.MLock(limited, []string{key(keys[0]), key(keys[1])})
		case 1:
			shared = true
			l, err = c.RLock(limited, key(first))
		case 2:
			l, err = c.Lock(limited, key(first), client.Lease(time.Minute))
		default:
			l, err = c.Lock(limited, key(first))
		}
		if err != nil {
			return err
		}
		for _, n := range keys {
			if shared {
				readers[n].Add(1)
			} else if writers[n].Add(1) != 1 || readers[n].Load() != 0 {
				t.Errorf("lock %d is held twice", n)
			}
			if shared && writers[n].Load() != 0 {
				t.Errorf("lock %d is held by a reader and a writer", n)
			}
		}
		for _, n := range keys {
			if shared {
				readers[n].Add(-1)
			} else {
				writers[n].Add(-1)
			}
		}
		if err := l.Unlock(ctx); errors.Is(err, client.ErrLost) {
			t.Errorf("%v, though the server was there all the time", err)
		}
		return nil
	}
	for range workers {
		group.Go(func() {
			for range rounds {
				switch err := round(); {
				case err == nil:
					done.Add(1)
				case errors.Is(err, context.DeadlineExceeded):
					gone.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	close(stop)
	breaker.Wait()
	t.Logf("%d locks were held, %d callers gave up", done.Load(), gone.Load())
	op := operator(t, srv)
	require.Eventually(t, func() bool { return op.Do("DBSIZE").Int == 0 && waiters(op) == 0 }, 100*time.Second, 10*time.Millisecond)
}
