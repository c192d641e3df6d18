package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/tests/testkit"
)

// faraway is a client on another host: when it was heard of is the test's to say.
type faraway struct {
	recorder
	t          *testing.T
	srv        *instance
	clock      *ManualClock
	session    *session
	lastSign   time.Time
	unanswered bool
	inFlight   int // bytes that its system has not acknowledged
	asked      int
	hungUp     bool
}

func (f *faraway) Heard() transport.Silence {
	f.asked++
	return transport.Silence{Known: true, Lasts: time.UnixMicro(f.clock.NowUS()).Sub(f.lastSign), Unanswered: f.unanswered}
}

func (f *faraway) Unacked() int { return f.inFlight }
func (f *faraway) HangUp()      { f.hungUp = true }

// sign is a sign of life.
func (f *faraway) sign() { f.lastSign = time.UnixMicro(f.clock.NowUS()) }

// says sends one command and returns the reply; nil if it has not come yet.
func (f *faraway) says(words ...string) string {
	f.sign()
	f.session.Feed(appendCommand(nil, words...), &batch{}, nil)
	return f.reads()
}

// reads returns what has been sent to the client.
func (f *faraway) reads() string {
	if f.session.Feed(nil, &batch{}, nil) || f.hungUp {
		f.session.Close()
	}
	defer f.sent.Reset()
	return f.sent.String()
}

// farServer is a server with a lease of so long, and what opens clients of it.
func farServer(t *testing.T, lease time.Duration) (*instance, *ManualClock, func() *faraway) {
	t.Helper()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	open := func() *faraway {
		f := &faraway{t: t, srv: srv, clock: clock}
		addr := &net.UnixAddr{Net: "unix"}
		f.session, _ = srv.executor.open(f, transport.Peer{Local: addr, Remote: addr, FD: -1})
		require.NotNil(t, f.session)
		f.sign()
		return f
	}
	require.Equal(t, "+OK\r\n", open().says("CONFIG", "SET", "lock-watchdog-timeout", fmt.Sprint(lease.Milliseconds())))
	return srv, clock, open
}

// TestALockEndsOneLeaseAfterTheLastSignOfLife, and no moment earlier, whenever that sign was.
func TestALockEndsOneLeaseAfterTheLastSignOfLife(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		lease := time.Duration(1000+random.IntN(60_000)) * time.Millisecond
		srv, clock, open := farServer(t, lease)
		holder := open()
		require.Equal(t, ":", holder.says("LOCK", "k", "a")[:1])
		held := func() bool { return srv.executor.Store.DB(0).Peek([]byte("k")).OK() }
		promised := max(lease, wait.LeastSilenceMS*time.Millisecond)
		seen := 2 * wait.LeastCheckMS * time.Millisecond // a sign so long before the end is seen in time
		for range random.IntN(20) {                      // as the answers to probes come, or fail to
			clock.Advance(time.Duration(random.Int64N(int64(promised - seen))))
			require.True(t, held(), "%v after a sign of life, with a lease of %v", clock.NowUS()-holder.lastSign.UnixMicro(), lease)
			holder.sign()
		}
		clock.Advance(promised - time.Millisecond - time.UnixMicro(clock.NowUS()).Sub(holder.lastSign))
		_ = holder.reads()
		clock.Advance(2 * time.Millisecond)
		require.False(t, held(), "%v after the last sign of life, with a lease of %v", clock.NowUS()-holder.lastSign.UnixMicro(), lease)
		require.NoError(t, srv.Close())
	}
}

// TestManyLocksNeedFewLooks: how often one looks at a client does not depend on how many locks it holds.
func TestManyLocksNeedFewLooks(t *testing.T) {
	t.Parallel()
	_, clock, open := farServer(t, 30*time.Second)
	holder := open()
	for i := range 2000 {
		require.Equal(t, ":", holder.says("LOCK", fmt.Sprint("k", i), "a")[:1])
		clock.Advance(10 * time.Millisecond)
	}
	holder.asked = 0
	for range 60 {
		clock.Advance(time.Second)
		holder.sign()
	}
	require.LessOrEqual(t, holder.asked, 2*wait.AsksPerLease+10)
	require.Positive(t, holder.asked)
}

// TestASilentWaiterLeaves: a waiter that was silent for a lease is closed, and does not stand in the way. A
// living waiter waits on.
func TestASilentWaiterLeaves(t *testing.T) {
	t.Parallel()
	srv, clock, open := farServer(t, 30*time.Second)
	holder, dead, living := open(), open(), open()
	require.Equal(t, ":", holder.says("LOCK", "k", "h", "PX", "100000")[:1])
	require.Empty(t, dead.says("LOCK", "k", "d", "WAIT", "0"))
	require.Empty(t, living.says("LOCK", "k", "l", "WAIT", "0"))
	for range 29 {
		clock.Advance(time.Second)
		living.sign()
	}
	require.Equal(t, 2, srv.parked())
	require.False(t, dead.hungUp)
	clock.Advance(time.Second + wait.LeastCheckMS*time.Millisecond)
	require.True(t, dead.hungUp)
	require.Equal(t, 1, srv.parked())
	_ = dead.reads()
	require.Equal(t, ":1\r\n", holder.says("UNLOCK", "k", "h"))
	require.Equal(t, ":", living.reads()[:1])
	require.False(t, living.hungUp)
	checkParking(t, srv)
}

// TestAGrantThatIsNotAcknowledged goes to the next in line in time. A grant that is acknowledged, however
// late, stays.
func TestAGrantThatIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second
	for _, tt := range []struct {
		name     string
		after    time.Duration // the grant is acknowledged so long after it; 0: never
		quiet    bool          // nothing is heard meanwhile
		heard    bool          // the connection is full, but lives
		takeBack bool
	}{
		{name: "never", quiet: true, takeBack: true},
		{name: "at once", after: time.Millisecond},
		{name: "when it was sent for the third time", after: 2 * time.Second, quiet: true},
		{name: "by a client that is heard of and takes nothing", heard: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv, clock, open := farServer(t, lease)
			holder, first, second := open(), open(), open()
			require.Equal(t, ":", holder.says("LOCK", "k", "h", "PX", "100000")[:1])
			require.Empty(t, first.says("LOCK", "k", "first", "WAIT", "0"))
			require.Empty(t, second.says("LOCK", "k", "second", "WAIT", "0"))
			clock.Advance(8 * time.Second) // it has been silent: that alone says nothing
			second.sign()
			require.Equal(t, ":1\r\n", holder.says("UNLOCK", "k", "h"))
			first.session.Feed(nil, &batch{}, nil) // the grant is sent
			require.Equal(t, ":", first.sent.String()[:1])
			first.unanswered, first.inFlight = true, first.sent.Len()
			for at := time.Duration(0); at < wait.MostConfirmMS*time.Millisecond; at += 100 * time.Millisecond {
				require.False(t, first.hungUp, "after %v", at)
				clock.Advance(100 * time.Millisecond)
				if tt.heard {
					first.sign()
				}
				if tt.after > 0 && at <= tt.after && tt.after < at+100*time.Millisecond {
					first.sign()
					first.unanswered, first.inFlight = false, 0
				}
			}
			require.Equal(t, tt.takeBack, first.hungUp)
			_ = first.reads()
			if tt.takeBack {
				require.Equal(t, ":", second.reads()[:1], "it is the next one's")
			} else {
				require.Empty(t, second.reads())
				require.Equal(t, ":1\r\n", first.says("UNLOCK", "k", "first"))
			}
			checkParking(t, srv)
		})
	}
}

// TestALateGrantOfALostClient: what its system has acknowledged is never taken back, though the
// client is taken for dead later.
func TestALateGrantOfALostClient(t *testing.T) {
	t.Parallel()
	_, clock, open := farServer(t, 30*time.Second)
	holder, first, second := open(), open(), open()
	require.Equal(t, ":", holder.says("LOCK", "k", "h", "PX", "100000")[:1])
	require.Empty(t, first.says("LOCK", "k", "first", "PX", "90000", "WAIT", "0"))
	require.Empty(t, first.says("LOCK", "other", "first", "WAIT", "0")) // behind it
	require.Empty(t, second.says("LOCK", "k", "second", "WAIT", "0"))
	require.Equal(t, ":1\r\n", holder.says("UNLOCK", "k", "h"))
	require.Equal(t, ":", first.reads()[:1])
	first.sign()
	for range 32 {
		clock.Advance(time.Second)
		second.sign()
	}
	require.True(t, first.hungUp, "it holds a lock that is renewed")
	_ = first.reads()
	require.Empty(t, second.reads(), "it may be at work")
	require.Equal(t, ":", holder.says("LOCK", "other", "h")[:1], "it ended one lease after the last sign of life")
	for range 60 {
		clock.Advance(time.Second)
		second.sign()
	}
	require.Equal(t, ":", second.reads()[:1], "the lease that it chose is over")
}
