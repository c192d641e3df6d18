package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	serverclock "lockserver/server/clock"
	"lockserver/tests/testkit"
)

// world is a server with an inspecting connection and a client that makes the data.
type world struct {
	srv  *server.Server
	seen *Server
	*testkit.Client
}

func newWorld(t *testing.T) world {
	t.Helper()
	srv, err := server.New(server.Options{Version: "9.8.7"})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	return world{srv, connect(t, srv, "", ""), client(t, srv)}
}

func connect(t *testing.T, srv *server.Server, user, password string) *Server {
	t.Helper()
	s, err := Connect(t.Context(), Target{Addr: srv.Addr().String(), User: user, Password: password, Patience: time.Minute})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, srv *server.Server) *testkit.Client {
	t.Helper()
	c := testkit.Dial(t, srv.Dial)
	t.Cleanup(c.Close)
	return c
}

// wait makes an owner wait for a lock, and returns when the owner is in the queue.
func (w world) wait(t *testing.T, key, owner, ms string) {
	t.Helper()
	before := w.waiting(t)
	client(t, w.srv).Send("LOCK", key, owner, "WAIT", ms)
	require.Eventually(t, func() bool { return w.waiting(t) == before+1 }, 30*time.Second, time.Millisecond)
}

func (w world) waiting(t *testing.T) int64 {
	t.Helper()
	sample, err := w.seen.Sample()
	require.NoError(t, err)
	return sample.Stats.Waiting
}

// TestTimesAreTheServers: times in replies are by the clock of the server's data. That clock may be far from
// this machine's clock: a group continues from the time of a leader with a clock that was ahead.
func TestTimesAreTheServers(t *testing.T) {
	srv, err := server.New(server.Options{Clock: serverclock.NewManual(time.Now().Add(time.Hour).Truncate(time.Second))})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	w := world{srv, connect(t, srv, "", ""), client(t, srv)}
	w.Do("LOCK", "order:1", "alice")
	w.wait(t, "order:1", "carol", "3000")
	w.Do("SECKILL.CREATE", "v", "STOCK", "7", "END", fmt.Sprint(w.seen.now().Add(90*time.Second).UnixMilli()))
	reason, err := w.seen.Why("order:1")
	require.NoError(t, err)
	var out strings.Builder
	reason.Print(&out)
	require.Regexp(t, `since     20\S+Z \(0ms\)`, out.String())
	require.Regexp(t, `carol, for 0ms, gives up in 3.0s`, out.String())
	sample, err := w.seen.Sample()
	require.NoError(t, err)
	require.EqualValues(t, 90_000, sample.Sales[0].EndMS-sample.Now.UnixMilli())
}

// TestWhy follows a holder that waits for another holder.
func TestWhy(t *testing.T) {
	w := newWorld(t)
	w.Do("CLIENT", "SETNAME", "till")
	w.Do("LOCK", "order:1", "alice")
	w.Do("LOCK", "order:1", "alice")
	w.Do("LOCK", "stock", "bob", "PX", "60000")
	w.wait(t, "stock", "alice", "0")
	w.wait(t, "order:1", "carol", "30000")
	reason, err := w.seen.Why("order:1")
	require.NoError(t, err)
	var out strings.Builder
	reason.Print(&out)
	require.Regexp(t, `^order:1 is held by alice, 2 times
  client    till at \S+ \(id \d+\)
  since     20\S+Z \(\d+m?s\)
  lease     \S+ left, renewed by the server as long as the client lives
  token     \d+
  waiting   1
     1\. carol, for \S+, gives up in (30.0|[12]\d.\d)s, \S+ \(id \d+\)
  alice waits for
    stock is held by bob
      client    till at \S+ \(id \d+\)
      since     20\S+Z \(\S+\)
      lease     \S+ left
      token     \d+
      waiting   1
         1\. alice, for \S+, without limit, \S+ \(id \d+\)
$`, out.String())

	var text bytes.Buffer
	require.NoError(t, reason.PrintJSON(&text))
	var again Reason
	require.NoError(t, json.Unmarshal(text.Bytes(), &again))
	require.Equal(t, "bob", again.Behind[0].Lock.Owner)

	free, err := w.seen.Why("nobody\x1b's")
	require.NoError(t, err)
	out.Reset()
	free.Print(&out)
	require.Equal(t, `nobody\x1b's is free`+"\n", out.String())

	w.Do("SET", "text", "1")
	_, err = w.seen.Why("text")
	require.ErrorContains(t, err, "WRONGTYPE")
}

// A grant that is not confirmed, and a wait that blocks no connection, are marked in the output.
func TestWhyOfNotify(t *testing.T) {
	w := newWorld(t)
	w.Do("LOCK", "door", "alice")
	other := client(t, w.srv)
	require.Equal(t, "+QUEUED", other.Do("LOCK", "door", "bob", "WAIT", "0", "NOTIFY").String())
	require.Equal(t, "+QUEUED", other.Do("LOCK", "door", "carol", "WAIT", "0", "NOTIFY").String())
	w.Do("UNLOCK", "door", "alice")
	reason, err := w.seen.Why("door")
	require.NoError(t, err)
	var out strings.Builder
	reason.Print(&out)
	require.Regexp(t, `^door is held by bob
  client    \S+ \(id \d+\)
  since     \S+ \(\S+\)
  lease     .*
  confirm   the owner has \S+ to confirm the grant
  token     \d+
  waiting   1
     1\. carol, for \S+, without limit, \S+ \(id \d+\), NOTIFY
$`, out.String())
}

// TestWhyOfASemaphore: its holders, its permits, its waiters, and what a holder waits for.
func TestWhyOfASemaphore(t *testing.T) {
	w := newWorld(t)
	w.Do("SEM.ACQUIRE", "pool", "alice", "LIMIT", "5", "PERMITS", "3", "PX", "60000")
	w.Do("SEM.ACQUIRE", "pool", "bob", "PX", "60000")
	w.Do("LOCK", "stock", "dave", "PX", "60000")
	w.wait(t, "stock", "alice", "0")
	reason, err := w.seen.Why("pool")
	require.NoError(t, err)
	var out strings.Builder
	reason.Print(&out)
	require.Regexp(t, `^pool is held by (alice, bob|bob, alice), 4 permits
  permits   5, 1 available, 2 holders
  lease     \S+ left
  waiting   none
  (alice, bob|bob, alice) waits for
    stock is held by dave
`, out.String())
}

// TestLocks lists more locks than fit in one request.
func TestLocks(t *testing.T) {
	w := newWorld(t)
	var out strings.Builder
	require.NoError(t, w.seen.PrintLocks(t.Context(), &out, Filter{}, false))
	require.Equal(t, "no lock is held\n", out.String())
	const n = 2500
	for i := range n {
		w.Do("LOCK", fmt.Sprint("order:", i), fmt.Sprint("worker-", i%2), "PX", "3600000")
	}
	out.Reset()
	require.NoError(t, w.seen.PrintLocks(t.Context(), &out, Filter{}, false))
	require.Equal(t, n+1, strings.Count(out.String(), "\n"))
	out.Reset()
	require.NoError(t, w.seen.PrintLocks(t.Context(), &out, Filter{Owner: "worker-1", Match: "order:1?"}, false))
	require.Regexp(t, `^KEY +OWNER +HOLDS +TOKEN +LEASE\n(order:1[13579]  worker-1  1      \d+  59m5\ds\n){5}$`, out.String())

	out.Reset()
	require.NoError(t, w.seen.PrintLocks(t.Context(), &out, Filter{}, true))
	keys := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		var l listed
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		require.NotZero(t, l.Token)
		keys[l.Key] = true
	}
	require.Len(t, keys, n)
}

// TestSample reads the figures, and the rates between two samples.
func TestSample(t *testing.T) {
	w := newWorld(t)
	w.Do("LOCK", "quiet", "q", "PX", "60000")
	w.Do("LOCK", "busy", "a", "PX", "60000")
	w.Do("LOCK", "busier", "a", "PX", "60000")
	w.wait(t, "busy", "b", "0")
	w.wait(t, "busier", "b", "0")
	w.wait(t, "busier", "c", "0")
	w.Do("SECKILL.CREATE", "10", "STOCK", "5")
	w.Do("XGROUP", "CREATE", "stream.orders", "g", "0", "MKSTREAM")
	w.Do("SECKILL", "10", "u1", "o1")
	before, err := w.seen.Sample()
	require.NoError(t, err)
	require.Equal(t, "9.8.7", before.Version)
	require.Equal(t, []string{"busier", "busy"}, []string{before.Contended[0].Key, before.Contended[1].Key})
	require.Equal(t, int64(2), before.Contended[0].Waiting)
	require.Len(t, before.Contended[0].Waiters, 1)
	require.Equal(t, "quiet", before.Held[0].Key)
	require.Equal(t, int64(3), before.Stats.Held)
	require.Equal(t, Sale{Voucher: "10", State: "open", Stock: 4, Sold: 1, Lag: 1}, before.Sales[0])

	w.Do("SECKILL", "10", "u2", "o2")
	w.Do("UNLOCK", "busy", "a")
	after, err := w.seen.Sample()
	require.NoError(t, err)
	after.At = before.At.Add(2 * time.Second)
	r := after.Since(before)
	require.Equal(t, 0.5, r.Sold["10"])
	require.Equal(t, 0.5, r.Handoffs)
	require.Greater(t, r.Commands, 1.0)
	require.Zero(t, before.Since(after).Commands, "time does not run backwards")
}

// TestWhatAUserMayNotSee: figures that the user may not read are left out, and the others are shown.
func TestWhatAUserMayNotSee(t *testing.T) {
	w := newWorld(t)
	w.Do("LOCK", "mine:1", "a")
	w.Do("LOCK", "theirs:1", "a")
	w.wait(t, "theirs:1", "b", "0")
	w.Do("ACL", "SETUSER", "ops", "on", ">pw", "+@all", "~mine:*")
	s := connect(t, w.srv, "ops", "pw")
	sample, err := s.Sample()
	require.NoError(t, err)
	require.Empty(t, sample.Contended)
	require.Len(t, sample.Held, 1)
	_, err = s.Why("theirs:1")
	require.ErrorContains(t, err, "NOPERM")

	_, err = Connect(t.Context(), Target{Addr: w.srv.Addr().String(), User: "ops", Password: "wrong"})
	require.ErrorContains(t, err, "WRONGPASS")
}

func TestConnectToNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = Connect(context.Background(), Target{Addr: addr})
	require.ErrorContains(t, err, "refused")
	_, err = Connect(context.Background(), Target{Addr: "nowhere"})
	require.ErrorContains(t, err, "host:port")
}
