package lockbench

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestHandoffOnOurServer runs the native contest as the benchmark does, on a server in this process.
func TestHandoffOnOurServer(t *testing.T) {
	srv, err := server.New(server.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	dial := func() (net.Conn, error) { return net.Dial("tcp", srv.Addr().String()) }
	const clients = 8
	contenders, err := enterAll(t.Context(), products()[0], dial, "key", clients)
	require.NoError(t, err)
	defer closeContenders(contenders)
	records, elapsed, err := contest(t.Context(), contenders, 200*time.Millisecond)
	require.NoError(t, err)
	require.GreaterOrEqual(t, elapsed, 200*time.Millisecond)
	count, err := contenders[0].read(t.Context())
	require.NoError(t, err)
	o, err := judge(records, count)
	require.NoError(t, err)
	require.Positive(t, o.sections)
	// A client that has released goes to the end of the queue, so all others are served before it is served
	// again. This may not hold at the start, while the clients queue up.
	require.Greater(t, o.handoffs, o.sections/2)
	require.NotZero(t, o.shares[0])
	require.GreaterOrEqual(t, len(o.waits), o.sections)
}

// fake is a lock in memory. Without a mutex acquire always fails.
type fake struct {
	lock *sync.Mutex
	n    *int64
	fail error
}

func (f *fake) acquire(ctx context.Context) error {
	if f.lock != nil {
		f.lock.Lock()
	}
	return f.fail
}

func (f *fake) release(context.Context) error {
	if f.lock != nil {
		f.lock.Unlock()
	}
	return nil
}

func (f *fake) read(context.Context) (int64, error) { return *f.n, nil }

func (f *fake) write(_ context.Context, n int64) error {
	*f.n = n
	time.Sleep(time.Millisecond)
	return nil
}

func (f *fake) close() {}

func TestContestStopsWhenTimeIsUp(t *testing.T) {
	var lock sync.Mutex
	var n int64
	list := []contender{&fake{lock: &lock, n: &n}, &fake{lock: &lock, n: &n}, &fake{lock: &lock, n: &n}}
	records, _, err := contest(t.Context(), list, 50*time.Millisecond)
	require.NoError(t, err)
	o, err := judge(records, n)
	require.NoError(t, err)
	require.Positive(t, o.sections)
	require.LessOrEqual(t, len(o.waits), o.sections+len(list), "at most one wait each was cut short")
	require.True(t, lock.TryLock(), "everyone has released")
}

func TestContestReportsErrors(t *testing.T) {
	var n int64
	broken := errors.New("broken")
	_, _, err := contest(t.Context(), []contender{&fake{n: &n, fail: broken}}, time.Second)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "client 0")
}

func TestConnectionsAreOnesOwn(t *testing.T) {
	c := connect(func() (net.Conn, error) { return nil, errors.New("nobody is there") })
	defer func() { _ = c.Close() }()
	o := c.Options()
	require.Equal(t, 1, o.PoolSize)
	require.Equal(t, 0, o.MaxRetries, "a LOCK that is sent twice would be held twice")
	require.Equal(t, time.Duration(0), o.ReadTimeout, "WAIT 0 may take for ever")
}
