package server

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/server/pubsub"
	"lockserver/tests/testkit"
)

// checkPubSub fails unless no client is subscribed and nothing is left behind.
func checkPubSub(t testing.TB, srv *instance) {
	t.Helper()
	eventually(t, func() bool {
		srv.executor.Mu.Lock()
		defer srv.executor.Mu.Unlock()
		return srv.executor.pubsub.Subscribers() == 0
	}, "there is a subscriber")
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	for kind := range pubsub.Kinds {
		require.Zero(t, srv.executor.pubsub.Len(kind))
	}
	require.Empty(t, srv.executor.pubsub.Patterns())
	require.Empty(t, srv.executor.Terminated)
}

func TestPubSubOnEveryTransport(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b, c := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		b.Hello(3)
		require.Equal(t, `["subscribe" "news" 1]`, a.Do("SUBSCRIBE", "news").String())
		require.Equal(t, `>["psubscribe" "n*" 1]`, b.Do("PSUBSCRIBE", "n*").String())
		require.Equal(t, "2", c.Do("PUBLISH", "news", "one").String())
		require.Equal(t, `["message" "news" "one"]`, a.Receive().String())
		require.Equal(t, `>["pmessage" "n*" "news" "one"]`, b.Receive().String())

		// One's own message comes after the reply, that of a transaction after the whole of it.
		require.Equal(t, "2", b.Do("PUBLISH", "news", "two").String())
		require.Equal(t, `>["pmessage" "n*" "news" "two"]`, b.Receive().String())
		require.Equal(t, `["message" "news" "two"]`, a.Receive().String())
		b.Do("MULTI")
		b.Do("PUBLISH", "news", "three")
		b.Do("SET", "k", "v")
		require.Equal(t, `[2 +OK]`, b.Do("EXEC").String())
		require.Equal(t, `>["pmessage" "n*" "news" "three"]`, b.Receive().String())
		require.Equal(t, `["message" "news" "three"]`, a.Receive().String())
		replies := b.Pipeline([][]string{{"PUBLISH", "news", "four"}, {"GET", "k"}})
		require.Equal(t, "2", replies[0].String())
		require.Equal(t, `>["pmessage" "n*" "news" "four"]`, replies[1].String())
		require.Equal(t, `"v"`, b.Receive().String())
		a.Receive()

		// A waiting client gets messages, and its answer in its turn.
		b.Send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
		awaitParked(t, srv, 1)
		c.Do("PUBLISH", "news", "five")
		require.Equal(t, `>["pmessage" "n*" "news" "five"]`, b.Receive().String())
		a.Receive()
		c.Pipeline([][]string{{"PUBLISH", "news", "six"}, {"XADD", "s", "1-1", "f", "v"}, {"PUBLISH", "news", "seven"}})
		require.Equal(t, `>["pmessage" "n*" "news" "six"]`, b.Receive().String())
		require.Equal(t, `{"s":[["1-1" ["f" "v"]]]}`, b.Receive().String())
		require.Equal(t, `>["pmessage" "n*" "news" "seven"]`, b.Receive().String())

		require.Contains(t, c.Do("INFO").Str, "pubsub_channels:1\r\npubsub_patterns:1\r\npubsubshard_channels:0")
		require.Contains(t, c.Do("INFO").Str, "pubsub_clients:2")
		list := c.Do("CLIENT", "LIST", "TYPE", "pubsub").Str
		require.Contains(t, list, " sub=1 psub=0 ssub=0 ")
		require.Contains(t, list, " sub=0 psub=1 ssub=0 ")
		require.Equal(t, 2, strings.Count(list, " flags=P"))
		a.Close()
		b.Close()
		checkPubSub(t, srv)
	})
}

// A killed subscriber is reached no more, and a client that closes in the middle leaves nothing behind.
func TestPubSubKill(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	a, c := client(t, srv), client(t, srv)
	a.Do("SUBSCRIBE", "a")
	a.Do("PSUBSCRIBE", "*")
	a.Do("SSUBSCRIBE", "s")
	require.Equal(t, "2", c.Do("PUBLISH", "a", "x").String())
	require.Equal(t, "1", c.Do("CLIENT", "KILL", "TYPE", "pubsub").String())
	require.Equal(t, "0", c.Do("PUBLISH", "a", "x").String())
	checkPubSub(t, srv)
}

// TestPubSubManyLoops lets several clients publish to several listeners on all loops: each gets
// all, in the order of each publisher.
func TestPubSubManyLoops(t *testing.T) {
	t.Parallel()
	const publishers, listeners, messages = 3, 6, 400
	srv := startWith(t, Options{EventLoops: true}, func(c *config.Config) { c.IOThreads = 4 })
	dial := overPort(srv)
	var work sync.WaitGroup
	for i := range listeners {
		l := testkit.Dial(t, dial)
		if i%2 == 0 {
			l.Hello(3)
		}
		l.Do("SUBSCRIBE", "c")
		work.Go(func() {
			next := map[string]int{}
			for range publishers * messages {
				v, err := resp.Value{}, error(nil)
				if v, err = l.Next(); err != nil {
					t.Error(err)
					return
				}
				who, n, _ := strings.Cut(v.Elems[2].Str, " ")
				if n != strconv.Itoa(next[who]) {
					t.Errorf("listener %d: message %s of %s, expected %d", i, n, who, next[who])
					return
				}
				next[who]++
			}
		})
	}
	for i := range publishers {
		c := testkit.Dial(t, dial)
		work.Go(func() {
			for n := range messages {
				v, err := c.Call("PUBLISH", "c", fmt.Sprintf("%d %d", i, n))
				if err != nil || v.Int != listeners {
					t.Errorf("reached %s: %v", v, err)
					return
				}
			}
		})
	}
	work.Wait()
}

// A message without subscribers costs a look-up.
func TestPublishAllocations(t *testing.T) {
	srv := start(t, Options{})
	channel, text := []byte("nobody"), []byte("x")
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	require.Zero(t, testing.AllocsPerRun(100, func() { srv.executor.publish(channel, text) }))
}

// limitedOutput starts a server that limits the output of each class.
func limitedOutput(t *testing.T, clock Clock, l config.OutputLimit) *instance {
	return startWith(t, Options{Clock: clock}, func(c *config.Config) {
		c.ClientOutputBufferLimit = config.OutputLimits{Normal: l, PubSub: l}
	})
}

func TestOutputHardLimit(t *testing.T) {
	t.Parallel()
	srv := limitedOutput(t, nil, config.OutputLimit{HardBytes: 100_000})
	a, c := client(t, srv), client(t, srv)
	a.Do("SUBSCRIBE", "a")
	text := strings.Repeat("x", 30_000)
	for range 3 {
		require.Equal(t, "1", c.Do("PUBLISH", "a", text).String())
	}
	require.Equal(t, "1", c.Do("PUBLISH", "a", text).String(), "counted, and closed")
	require.Equal(t, "0", c.Do("PUBLISH", "a", text).String())
	checkPubSub(t, srv)
	eventually(t, func() bool { return srv.connected() == 1 }, "it is closed")

	// One who floods itself is closed, too, and its command is not disturbed.
	b := client(t, srv)
	b.Hello(3)
	b.Do("SUBSCRIBE", "a")
	b.Send("PUBLISH", "a", strings.Repeat("x", 200_000))
	eventually(t, func() bool { return srv.connected() == 1 }, "it is closed")
	checkPubSub(t, srv)
	b = client(t, srv)
	b.Hello(3)
	b.Do("SUBSCRIBE", "a")
	b.Do("MULTI")
	b.Do("GET", "k")
	b.Do("PUBLISH", "a", strings.Repeat("x", 200_000))
	b.Do("GET", "k")
	b.Send("EXEC")
	eventually(t, func() bool { return srv.connected() == 1 }, "it is closed")
	require.Equal(t, "+PONG", c.Do("PING").String())
}

// checkSoftLimit lets a client that does not read get over its soft limit of 100,000 bytes for 5 seconds by
// flood, which sends it about 60,000.
func checkSoftLimit(t *testing.T, srv *instance, clock *ManualClock, victim *testkit.Client, flood func()) {
	t.Helper()
	over := func() bool {
		srv.executor.Mu.Lock()
		defer srv.executor.Mu.Unlock()
		for _, s := range srv.executor.clients {
			if s.soft.sinceMS != 0 {
				return true
			}
		}
		return false
	}
	flood()
	require.False(t, over())
	flood()
	eventually(t, over, "above the soft limit")
	clock.Advance(4900 * time.Millisecond)
	require.Equal(t, 2, srv.connected())

	// What is read does not count, and time starts anew.
	for range 2 {
		victim.Receive()
	}
	clock.Advance(200 * time.Millisecond)
	eventually(t, func() bool { return !over() }, "below the soft limit")
	require.Equal(t, 2, srv.connected())
	flood()
	flood()
	eventually(t, over, "above the soft limit")
	clock.Advance(4900 * time.Millisecond)
	require.Equal(t, 2, srv.connected())
	clock.Advance(200 * time.Millisecond)
	eventually(t, func() bool { return srv.connected() == 1 }, "closed, though nothing more was sent to it")
}

func TestOutputSoftLimit(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 60_000)
	limit := config.OutputLimit{SoftBytes: 100_000, SoftMS: 5000}
	t.Run("pubsub", func(t *testing.T) {
		clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
		srv := limitedOutput(t, clock, limit)
		a, c := client(t, srv), client(t, srv)
		a.Do("SUBSCRIBE", "a")
		checkSoftLimit(t, srv, clock, a, func() { require.Equal(t, "1", c.Do("PUBLISH", "a", text).String()) })
		checkPubSub(t, srv)
	})
	t.Run("normal", func(t *testing.T) {
		clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
		srv := limitedOutput(t, clock, limit)
		a, c := client(t, srv), client(t, srv)
		c.Do("SET", "k", text)
		checkSoftLimit(t, srv, clock, a, func() {
			before := srv.commandsRun()
			a.Send("GET", "k")
			eventually(t, func() bool { return srv.commandsRun() > before }, "it runs")
		})
	})
}

func (srv *instance) commandsRun() int64 {
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	return srv.executor.Stats.Total
}

// A listener that has gone is noticed when something is written to it, in the middle of serving the others.
func TestListenersThatVanishWhileTheyAreServed(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		publisher, well := testkit.Dial(t, dial), testkit.Dial(t, dial)
		var gone []*testkit.Client
		for range 5 {
			c := testkit.Dial(t, dial)
			c.Do("SUBSCRIBE", "news")
			gone = append(gone, c)
		}
		well.Do("SUBSCRIBE", "news")
		srv.executor.Mu.Lock()
		_, err := publisher.Conn().Write([]byte("PUBLISH news 1\r\nPUBLISH news 2\r\n"))
		require.NoError(t, err)
		eventually(t, srv.executor.Mu.Awaited, "the server has read the commands")
		for _, c := range gone {
			sever(c.Conn())
		}
		srv.executor.Mu.Unlock()
		require.Positive(t, publisher.Receive().Int)
		require.Positive(t, publisher.Receive().Int)
		require.Equal(t, "1", well.Receive().Elems[2].Str)
		require.Equal(t, "2", well.Receive().Elems[2].Str)
		eventually(t, func() bool { return srv.connected() == 2 }, "the others' connections end")
		require.EqualValues(t, 1, publisher.Do("PUBLISH", "news", "3").Int)
	})
}
