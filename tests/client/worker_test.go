package client_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/call"
	"lockserver/tests/testkit"
)

// attempt is a call of a handler.
type attempt struct {
	n  string
	of int
	at time.Duration // since the test began
}

// attempts are the calls of a handler.
type attempts struct {
	mu    sync.Mutex
	began time.Time
	seen  []attempt
}

func (a *attempts) add(e client.Entry) {
	a.mu.Lock()
	a.seen = append(a.seen, attempt{e.Field("n"), e.Attempt, time.Since(a.began)})
	a.mu.Unlock()
}

// of are the attempts of an entry.
func (a *attempts) of(n string) (list []attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.seen {
		if one.n == n {
			list = append(list, one)
		}
	}
	return list
}

// run runs a worker until the test, or stop, ends it.
func run(t *testing.T, c *client.Client, work client.Work) (stop func()) {
	t.Helper()
	work.Stream, work.Group = "{s}", "g"
	w, err := c.Worker(work)
	require.NoError(t, err)
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(running) }()
	return sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
}

// inHand is how many entries of the group are not acknowledged.
func inHand(op *testkit.Client) int64 { return op.Do("XPENDING", "{s}", "g").Elems[0].Int }

// TestWorker: handlers fail. An entry comes again after a pause that grows, and is in the dead letter stream
// after its last attempt. An entry without an answer is tried again. A worker that has ended leaves the
// group.
func TestWorker(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, _ *client.Client, op *testkit.Client) {
		var log logged
		c := n.client(t, log.logger())
		a := &attempts{began: time.Now()}
		stop := run(t, c, client.Work{Attempts: 3, Handle: func(_ context.Context, e client.Entry) error {
			a.add(e)
			switch n := e.Field("n"); {
			case n == "bad", n == "twice" && e.Attempt < 2:
				return errors.New("no")
			case n == "panics" && e.Attempt == 1:
				panic("oh")
			case n == "goes" && e.Attempt == 1:
				runtime.Goexit()
			}
			return nil
		}})
		synctest.Wait()
		bad := op.Do("XADD", "{s}", "*", "n", "bad", "more", "x").Str
		for _, n := range []string{"good", "twice", "panics", "goes"} {
			op.Do("XADD", "{s}", "*", "n", n)
		}
		synctest.Wait() // each was tried once, and the worker waits for the next
		n.loseAnswer()
		op.Do("XADD", "{s}", "*", "n", "lost")
		time.Sleep(5 * time.Minute)
		require.Zero(t, inHand(op))
		require.Len(t, a.of("good"), 1)
		lost := a.of("lost")
		require.Len(t, lost, 1)
		require.Equal(t, 2, lost[0].of, "the first attempt was lost with its answer")
		for _, n := range []string{"twice", "panics", "goes"} {
			require.Len(t, a.of(n), 2, n)
		}
		tried := a.of("bad")
		require.Len(t, tried, 3)
		for i, pause := range []time.Duration{time.Second, 2 * time.Second} {
			require.Equal(t, i+2, tried[i+1].of)
			require.InDelta(t, pause, tried[i+1].at-tried[i].at, float64(1500*time.Millisecond), "and at most one reading more")
			require.GreaterOrEqual(t, tried[i+1].at-tried[i].at, pause-time.Millisecond)
		}
		dead := op.Do("XRANGE", "{s}:dead", "-", "+").Elems
		require.Len(t, dead, 1)
		var fields []string
		for _, f := range dead[0].Elems[1].Elems {
			fields = append(fields, f.Str)
		}
		require.Equal(t, []string{"n", "bad", "more", "x", "entry-id", bad, "entry-error", "no", "entry-attempts", "3"}, fields)
		require.Len(t, log.lines("dead letter"), 1)
		require.Len(t, log.lines("panic: oh"), 1)
		require.NotEmpty(t, log.lines("attempt=2"))
		stop()
		require.Empty(t, op.Do("XINFO", "CONSUMERS", "{s}", "g").Elems)
	})
}

// TestWorkerTakesOver: what another consumer had in hand is done after ClaimAfter. An entry that has lost
// its worker with each attempt is in the dead letter stream.
func TestWorkerTakesOver(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		op.Do("XGROUP", "CREATE", "{s}", "g", "0", "MKSTREAM")
		op.Do("XADD", "{s}", "*", "n", "left")
		spent := op.Do("XADD", "{s}", "*", "n", "spent").Str
		op.Do("XREADGROUP", "GROUP", "g", "dead", "COUNT", "2", "STREAMS", "{s}", ">")
		op.Do("XCLAIM", "{s}", "g", "dead", "0", spent, "RETRYCOUNT", "5", "IDLE", "0")
		a := &attempts{began: time.Now()}
		stop := run(t, c, client.Work{Parallel: 4, Handle: func(_ context.Context, e client.Entry) error {
			a.add(e)
			return nil
		}})
		op.Do("XADD", "{s}", "*", "n", "new")
		time.Sleep(time.Minute)
		require.Equal(t, 1, a.of("new")[0].of)
		left := a.of("left")
		require.Len(t, left, 1)
		require.Equal(t, 2, left[0].of)
		require.GreaterOrEqual(t, left[0].at, 30*time.Second-10*time.Millisecond)
		require.Empty(t, a.of("spent"))
		require.Equal(t, int64(1), op.Do("XLEN", "{s}:dead").Int)
		require.Zero(t, inHand(op))
		stop()
	})
}

// TestWorkerLives: an entry stays with a handler that takes long. A handler hears when another worker has its
// entry.
func TestWorkerLives(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		a, lost := &attempts{began: time.Now()}, make(chan error, 1)
		work := client.Work{ClaimAfter: 3 * time.Second, Handle: func(ctx context.Context, e client.Entry) error {
			a.add(e)
			if e.Field("n") == "taken" {
				<-ctx.Done()
				lost <- context.Cause(ctx)
			} else {
				time.Sleep(time.Hour)
			}
			return ctx.Err()
		}}
		one, two := run(t, c, work), run(t, n.client(t), work)
		op.Do("XADD", "{s}", "*", "n", "long")
		time.Sleep(time.Hour - time.Minute)
		require.Len(t, a.of("long"), 1)
		time.Sleep(2 * time.Minute)
		require.Zero(t, inHand(op))
		id := op.Do("XADD", "{s}", "*", "n", "taken").Str
		time.Sleep(time.Minute)
		op.Do("XCLAIM", "{s}", "g", "other", "0", id)
		require.ErrorIs(t, <-lost, client.ErrLost)
		op.Do("XACK", "{s}", "g", id)
		one()
		two()
		require.Len(t, a.of("taken"), 1)
	})
}

// TestWorkerEnds: at the end handlers may end, and what was not begun is given back. A worker goes on over
// broken connections, and ends with its client or with what the server refuses.
func TestWorkerEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		a := &attempts{began: time.Now()}
		work := client.Work{Handle: func(_ context.Context, e client.Entry) error {
			a.add(e)
			time.Sleep(10 * time.Second)
			return nil
		}}
		stop := run(t, c, work)
		for i := range 3 {
			n.breakSome(1)
			synctest.Wait() // the server knows that the reader is gone
			op.Do("XADD", "{s}", "*", "n", fmt.Sprint(i))
			synctest.Wait() // no entry is on its way
		}
		time.Sleep(15 * time.Second) // the second one is in hand
		began := time.Now()
		stop()
		require.Less(t, time.Since(began), 10*time.Second)
		require.Empty(t, a.of("2"))
		require.Zero(t, inHand(op), "the second one is done, and the third one not begun")
		require.Equal(t, int64(1), call.FieldsOf(op.Do("XINFO", "GROUPS", "{s}").Elems[0]).Int("lag"))

		work.Stream, work.Group = "string", "g"
		op.Do("SET", "string", "x")
		w, err := c.Worker(work)
		require.NoError(t, err)
		require.ErrorContains(t, w.Run(ctx), "WRONGTYPE")
		work.Stream = "{s}"
		w, err = c.Worker(work)
		require.NoError(t, err)
		c.Close()
		require.ErrorIs(t, w.Run(ctx), client.ErrClosed)
		for _, wrong := range []client.Work{{}, {Stream: "{s}", Group: "g"}, {Stream: "", Group: "g", Handle: work.Handle}, {Stream: "{s}", Handle: work.Handle},
			{Stream: "{s}", Group: "g", Handle: work.Handle, Attempts: -1}, {Stream: "{s}", Group: "g", Handle: work.Handle, Parallel: -1},
			{Stream: "{s}", Group: "g", Handle: work.Handle, ClaimAfter: time.Microsecond}, {Stream: "{s}", Group: "g", Handle: work.Handle, ClaimAfter: -1}} {
			_, err = c.Worker(wrong)
			require.ErrorIs(t, err, client.ErrValue)
		}
	})
}

// TestWorkerEndsBesideASilentServer: Run does not wait for a server that is silent after the end of its
// context, whatever the timeout of the client is. The worker reads, has an entry in hand, or has begun none.
func TestWorkerEndsBesideASilentServer(t *testing.T) {
	for name, entries := range map[string]int{"reading": 0, "working": 1, "working and reading": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(func() { time.Sleep(3 * time.Hour) }) // what Close has left is tried once more
				srv, n := start(t, lease)
				op := operator(t, srv)
				for i := range entries {
					op.Do("XADD", "{s}", "*", "n", fmt.Sprint(i))
				}
				leave := make(chan struct{})
				w, err := n.client(t, client.Timeout(time.Hour)).Worker(client.Work{Stream: "{s}", Group: "g", Parallel: 4,
					Handle: func(context.Context, client.Entry) error {
						<-leave
						return nil
					}})
				require.NoError(t, err)
				running, cancel := context.WithCancel(ctx)
				ended := make(chan error, 1)
				go func() { ended <- w.Run(running) }()
				time.Sleep(500 * time.Millisecond)
				n.silence()
				cancel()
				time.Sleep(10 * time.Minute)
				select {
				case err := <-ended:
					require.NoError(t, err)
					require.Zero(t, entries, "it waits for the handlers")
					return
				default:
				}
				require.NotZero(t, entries, "it ends without them")
				began := time.Now()
				close(leave)
				require.NoError(t, <-ended)
				require.LessOrEqual(t, time.Since(began), 3*time.Second)
			})
		})
	}
}
