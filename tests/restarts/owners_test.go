package restarts

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// leaseOfWatchdog is how long a lock lasts after its client has gone.
const leaseOfWatchdog = 30 * time.Second

// shutdown saves the data and ends the server.
func shutdown(t *testing.T, p *testkit.Process) {
	t.Helper()
	c := p.Client(t)
	c.Send("SHUTDOWN", "SAVE")
	_, err := c.Next()
	require.Error(t, err, "it hangs up")
	code, err := p.Wait()
	require.NoError(t, err)
	require.Zero(t, code)
}

// heldLock is a lock of alice's.
type heldLock struct {
	db, key string
	token   int64
}

// acquire takes each kind of lock for alice, and one that bob shares with her.
func acquire(t *testing.T, p *testkit.Process) (locks []heldLock) {
	t.Helper()
	c := p.Client(t)
	c.Do("LOCK", "read", "bob", "SHARED")
	for _, l := range []struct {
		db, key string
		words   []string
	}{
		{"0", "alone", nil}, {"0", "read", []string{"SHARED"}}, {"0", "sent twice", []string{"ONCE"}}, {"1", "elsewhere", nil},
		{"1", "fixed", []string{"EX", "3600"}},
	} {
		c.Do("SELECT", l.db)
		token := c.Do(append([]string{"LOCK", l.key, "alice"}, l.words...)...).Int
		require.Positive(t, token)
		locks = append(locks, heldLock{l.db, l.key, token})
	}
	return locks
}

// attach returns a connection with the owner alice attached. She must have the given number of locks.
func attach(t *testing.T, p *testkit.Process, holds int64) *testkit.Client {
	t.Helper()
	c := p.Client(t)
	c.Hello(3)
	require.Equal(t, holds, c.Do("LOCK.ATTACH", "alice").Int)
	return c
}

// TestAnOwnerWhoAttachesAgainHasLostNothing: an owner with a connection that attaches again within the lease
// keeps its locks over a restart, whatever ended the server. The lease then restarts, which the next restart
// shows. An owner that does not attach again loses the locks that the server renews.
func TestAnOwnerWhoAttachesAgainHasLostNothing(t *testing.T) {
	for _, tt := range []struct {
		name       string
		appendOnly bool
		end        func(*testing.T, *testkit.Process)
	}{
		{"kill -9, with a log", true, func(_ *testing.T, p *testkit.Process) { p.Kill() }},
		{"SHUTDOWN SAVE, with a snapshot", false, shutdown},
	} {
		begin := func(t *testing.T) (p *testkit.Process, again func(later time.Duration) *testkit.Process) {
			c := child{Dir: t.TempDir(), StartMS: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), Speed: 1, AppendOnly: tt.appendOnly}
			p = startChild(t, c)
			attach(t, p, 0)
			return p, func(later time.Duration) *testkit.Process {
				tt.end(t, p)
				c.StartMS += later.Milliseconds()
				p = startChild(t, c)
				return p
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			p, again := begin(t)
			locks := acquire(t, p)
			keeper := attach(t, again(leaseOfWatchdog*2/3), int64(len(locks)))
			require.Greater(t, keeper.Do("PTTL", "alone").Int, (leaseOfWatchdog / 2).Milliseconds(), "the lease begins anew")
			require.Equal(t, "PONG", keeper.Do("PING").Str, "it hears of no loss")

			c := again(leaseOfWatchdog * 2 / 3).Client(t)
			require.True(t, c.Do("UNLOCK", "read", "bob").IsNull(), "nobody lived for him")
			for _, l := range locks {
				c.Do("SELECT", l.db)
				require.EqualValues(t, 1, c.Do("UNLOCK", l.key, "alice", "TOKEN", strconv.FormatInt(l.token, 10)).Int, l.key)
			}
		})
		t.Run(tt.name+", too late", func(t *testing.T) {
			p, again := begin(t)
			acquire(t, p)
			attach(t, again(2*leaseOfWatchdog), 1) // only the lock with a fixed lease is left
		})
	}
}
