//go:build netns

package vanish

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
)

func TestMain(m *testing.M) {
	os.Exit(testkit.Main(func() int {
		if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
			fmt.Fprintln(os.Stderr, "these tests make network namespaces: they need root, and the program ip (make deps)")
			return 1
		}
		return m.Run()
	}))
}

// slackPct is the part of a lease, in percent, by which a lock may end too late. It allows for a loaded
// machine, and for the interval in which a silent client is checked. It is less than a third, because one
// renewal too many would take a third. A machine that is too slow for it gets a longer lease, up to
// longestLease. With that a renewal too many is too late as well.
const (
	slackPct     = 30
	longestLease = 2 * time.Minute
)

// world is a server on one host, with a given lease, and clients on another.
type world struct {
	*link
	t    *testing.T
	near func() *client // connects from the server's own host, which is never cut off
}

func newWorld(t *testing.T, lease time.Duration, options ...string) *world {
	t.Helper()
	local := filepath.Join(t.TempDir(), "socket")
	w := &world{link: newLink(t), t: t}
	w.near = func() *client {
		nc, err := net.Dial("unix", local)
		require.NoError(t, err)
		return w.of(nc)
	}
	p := w.server.prepare(t, testkit.Command{Addr: local}, append([]string{"--bind", serverIP, "--port", "6379", "--protected-mode", "no",
		"--unixsocket", local, "--save", "", "--lock-watchdog-timeout", fmt.Sprint(lease.Milliseconds())}, options...)...)
	require.NoError(t, p.Start())
	return w
}

// newEmbedded is newWorld with a server in this process, which has goroutines for each connection.
func newEmbedded(t *testing.T, lease time.Duration) *world {
	t.Helper()
	w := &world{link: newLink(t), t: t}
	c := config.Default()
	c.Port = 0
	c.Dir, c.ProtectedMode, c.LockWatchdogTimeoutMS = t.TempDir(), false, lease.Milliseconds()
	o := server.Options{Directives: c.Directives()}
	var err error
	w.server.within(t, func() { o.Listener, err = net.Listen("tcp", serverIP+":6379") })
	require.NoError(t, err)
	srv, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	w.near = func() *client {
		nc, err := srv.Dial()
		require.NoError(t, err)
		return w.of(nc)
	}
	return w
}

// onBoth runs a test with event loops and with goroutines.
func onBoth(t *testing.T, what string, lease time.Duration, test func(t *testing.T, w *world)) {
	t.Run(what+" event loops", func(t *testing.T) {
		t.Parallel()
		test(t, newWorld(t, lease))
	})
	t.Run(what+" goroutines", func(t *testing.T) {
		t.Parallel()
		test(t, newEmbedded(t, lease))
	})
}

// endsInTime runs a test on both servers. The test returns by how much a lock ended too late. If the lease
// was too short for the machine, the test runs again with a longer one.
func endsInTime(t *testing.T, what string, lease time.Duration, test func(t *testing.T, w *world, lease time.Duration) (late time.Duration)) {
	inTime := func(t *testing.T, world func(t *testing.T, lease time.Duration) *world) {
		t.Parallel()
		for lease := lease; ; lease *= 2 {
			late := test(t, world(t, lease), lease)
			t.Logf("with a lease of %v it ended %v too late", lease, late.Round(time.Millisecond))
			if late < lease*slackPct/100 {
				return
			}
			require.Less(t, lease, longestLease, "it ended %v too late", late)
		}
	}
	t.Run(what+" event loops", func(t *testing.T) {
		inTime(t, func(t *testing.T, lease time.Duration) *world { return newWorld(t, lease) })
	})
	t.Run(what+" goroutines", func(t *testing.T) { inTime(t, newEmbedded) })
}

// client is a connection that sends commands and reads replies.
type client struct {
	t  *testing.T
	nc net.Conn
	in *bufio.Reader
}

func (w *world) of(nc net.Conn) *client {
	w.t.Cleanup(func() { _ = nc.Close() })
	return &client{w.t, nc, bufio.NewReader(nc)}
}

// far connects from the other host.
func (w *world) far() *client { return w.of(w.client.dial(w.t, serverIP+":6379")) }

func (c *client) send(words ...string) {
	c.t.Helper()
	b := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(word), word)
	}
	_, err := c.nc.Write(b)
	require.NoError(c.t, err)
}

// receive returns the next reply; within is the longest wait.
func (c *client) receive(within time.Duration) (resp.Value, error) {
	_ = c.nc.SetReadDeadline(time.Now().Add(within))
	return resp.ReadValue(c.in)
}

func (c *client) do(words ...string) resp.Value {
	c.t.Helper()
	c.send(words...)
	v, err := c.receive(time.Minute)
	require.NoError(c.t, err, "%v", words)
	require.False(c.t, v.IsError(), "%v: %v", words, v)
	return v
}

// waits sends a LOCK that must wait, and checks that it does.
func (c *client) waits(looker *client, key, owner string, options ...string) {
	c.t.Helper()
	before := looker.waiters(key)
	c.send(append([]string{"LOCK", key, owner, "WAIT", "0"}, options...)...)
	require.Eventually(c.t, func() bool { return looker.waiters(key) == before+1 }, time.Minute, time.Millisecond)
}

func (c *client) waiters(key string) int {
	v := c.do("LOCK.INFO", key)
	return len(v.Elems[len(v.Elems)-1].Elems)
}

// TestTheLockOfAHolderWhoVanished: the lock ends one lease after the last sign of life of its holder, and not
// later. It does not matter when the cable was cut between two renewals or two probes.
func TestTheLockOfAHolderWhoVanished(t *testing.T) {
	for _, lease := range []time.Duration{5 * time.Second, 12 * time.Second} {
		for _, idlePct := range []time.Duration{0, 30, 90} {
			what := fmt.Sprintf("a lease of %v, idle for %d%% of it,", lease, idlePct)
			endsInTime(t, what, lease, func(t *testing.T, w *world, lease time.Duration) time.Duration {
				holder, next := w.far(), w.near()
				holder.do("LOCK", "k", "holder")
				next.waits(w.near(), "k", "next")
				time.Sleep(lease * idlePct / 100)
				w.cut(true)
				began := time.Now()
				v, err := next.receive(lease + time.Minute)
				require.NoError(t, err)
				require.Positive(t, v.Int)
				return time.Since(began) - lease
			})
		}
	}
}

// TestAWaiterWhoVanished: a waiter that has disappeared does not keep a living one out. That holds if the
// server notices it while it waits, and if it gets the lock.
func TestAWaiterWhoVanished(t *testing.T) {
	const lease = 6 * time.Second
	for _, options := range [][]string{nil, {"PX", "60000"}} {
		endsInTime(t, fmt.Sprint("it leaves the queue, ", options), lease, func(t *testing.T, w *world, lease time.Duration) time.Duration {
			holder, dead, looker := w.near(), w.far(), w.near()
			holder.do("LOCK", "k", "holder")
			dead.waits(looker, "k", "dead", options...)
			w.cut(true)
			began := time.Now()
			require.Eventually(t, func() bool { return looker.waiters("k") == 0 }, lease+time.Minute, 5*time.Millisecond)
			return time.Since(began) - lease
		})
		endsInTime(t, fmt.Sprint("it is granted the lock, ", options), lease, func(t *testing.T, w *world, lease time.Duration) time.Duration {
			holder, dead, living := w.near(), w.far(), w.near()
			holder.do("LOCK", "k", "holder")
			dead.waits(w.near(), "k", "dead", options...)
			living.waits(w.near(), "k", "living")
			time.Sleep(time.Second)
			w.cut(true)
			time.Sleep(time.Second)
			holder.do("UNLOCK", "k", "holder")
			began := time.Now()
			v, err := living.receive(lease + time.Minute)
			late := time.Since(began) - lease/3
			require.NoError(t, err)
			require.Positive(t, v.Int)
			w.cut(false) // data on its way cannot be read now
			v, err = dead.receive(5 * time.Second)
			require.Error(t, err, "it read %v", v)
			return late
		})
	}
}

// TestALostAcknowledgement: the grant arrives, but its acknowledgement does not. The lock is taken back, and
// the client's connection is reset, so that the client soon stops its work.
func TestALostAcknowledgement(t *testing.T) {
	onBoth(t, "on", 6*time.Second, func(t *testing.T, w *world) {
		holder, deaf, living := w.near(), w.far(), w.near()
		holder.do("LOCK", "k", "holder")
		deaf.waits(w.near(), "k", "deaf")
		living.waits(w.near(), "k", "living")
		w.toServer.cut.Store(true)
		holder.do("UNLOCK", "k", "holder")
		v, err := deaf.receive(time.Minute)
		require.NoError(t, err)
		token := v.Int
		require.Positive(t, token)
		v, err = living.receive(time.Minute)
		require.NoError(t, err)
		require.Greater(t, v.Int, token, "its writes are refused from now on")
		_, err = deaf.receive(time.Minute)
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})
}

// TestABadLink: a live client keeps its lock, its place in the queue and its grants, however slow the link is
// and although it loses packets. That also holds if the link is cut for less than a lease.
func TestABadLink(t *testing.T) {
	const lease = 6 * time.Second
	for _, transport := range []string{"1", "4"} {
		t.Run("io-threads "+transport, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, lease, "--io-threads", transport)
			near := w.near()
			holder, waiter, closer := w.far(), w.far(), w.far()
			holder.do("LOCK", "held", "holder")
			near.do("LOCK", "k", "near")
			waiter.waits(near, "k", "waiter")
			bad := func(lostInPct int64) {
				for _, d := range []*direction{&w.toServer, &w.toClient} {
					d.delayMS.Store(150)
					d.lostInPct.Store(lostInPct)
				}
			}
			bad(5) // a tenth of probes or their answers is lost, so that five in a row never are
			watch := func(long time.Duration) {
				for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
					require.Positive(t, near.do("EXISTS", "held").Int, "the lock of a living holder ended")
					require.Equal(t, 1, near.waiters("k"))
				}
			}
			watch(4 * lease)
			bad(0) // two probes are lost by the cut: with the loss, three more would be lost once in a thousand runs
			w.cut(true)
			watch(lease / 4)
			w.cut(false)
			watch(lease)
			bad(5)
			near.do("UNLOCK", "k", "near")
			v, err := waiter.receive(time.Minute)
			require.NoError(t, err)
			require.Positive(t, v.Int)
			for end := time.Now().Add(2 * lease); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				require.EqualValues(t, 2, near.do("EXISTS", "held", "k").Int)
			}
			_ = closer.nc.Close()
			require.EqualValues(t, 1, waiter.do("UNLOCK", "k", "waiter").Int)
			require.EqualValues(t, 1, holder.do("UNLOCK", "held", "holder").Int)
		})
	}
}
