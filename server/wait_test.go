package server

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestWait: there are no replicas, so no wait ever succeeds, except for zero replicas; and it can be cut
// short.
func TestWait(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.Unix(1_700_000_000, 0))
	srv := start(t, Options{Clock: clock})
	c, other := client(t, srv), client(t, srv)
	require.Equal(t, int64(0), c.Do("WAIT", "0", "0").Int)
	require.Equal(t, "[0 0]", c.Do("WAITAOF", "0", "0", "0").String())
	for want, args := range map[string][]string{
		"-ERR timeout is negative":                                                          {"WAIT", "1", "-1"},
		"-ERR timeout is not an integer or out of range":                                    {"WAIT", "1", "x"},
		"-ERR timeout is out of range":                                                      {"WAIT", "1", "9223372036854775807"},
		"-ERR value is not an integer or out of range":                                      {"WAIT", "x", "x"},
		"-ERR value is out of range, value must between 0 and 1":                            {"WAITAOF", "2", "0", "0"},
		"-ERR value is out of range, must be positive":                                      {"WAITAOF", "1", "-1", "0"},
		"-" + "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.": {"WAITAOF", "1", "0", "0"},
	} {
		require.Equal(t, want, c.Do(args...).String(), "%q", args)
	}
	for _, call := range []struct{ want, words string }{{"0", "WAIT 1 50"}, {"[0 0]", "WAITAOF 0 2 50"}} {
		c.Send(strings.Fields(call.words)...)
		awaitParked(t, srv, 1)
		clock.Advance(49 * time.Millisecond)
		require.Equal(t, 1, srv.parked())
		clock.Advance(time.Millisecond)
		require.Equal(t, call.want, c.Receive().String())
	}
	id := c.Do("CLIENT", "ID").String()
	c.Send("WAIT", "1", "0")
	awaitParked(t, srv, 1)
	clock.Advance(time.Hour)
	require.Equal(t, int64(1), other.Do("CLIENT", "UNBLOCK", id).Int)
	require.Equal(t, int64(0), c.Receive().Int)
	c.Do("MULTI")
	c.Do("WAIT", "1", "0")
	require.Equal(t, "[0]", c.Do("EXEC").String())
	checkParking(t, srv)
}

// A client that has given up WAITAOF, or has gone, is forgotten at once, also while the log is never synced.
func TestWhoEndsWaitAOFIsForgotten(t *testing.T) {
	t.Parallel()
	d := newTestDisk()
	srv := startOn(t, d, Options{Directives: logged(t.TempDir(), "everysec").Directives()})
	c, gone := client(t, srv), client(t, srv)
	awaiting := func() (n int) {
		srv.executor.Do(func() {
			n = len(srv.executor.Waits.Syncing.Waiters)
			require.EqualValues(t, n, srv.executor.Waits.Syncing.Count.Load())
		})
		return n
	}
	d.hold()
	for _, who := range []*testkit.Client{c, gone} {
		require.Equal(t, "+OK", who.Do("SET", "k", "v").String())
	}
	for range 3 {
		require.Equal(t, "[0 0]", c.Do("WAITAOF", "1", "0", "1").String())
	}
	require.Zero(t, awaiting())
	gone.Send("WAITAOF", "1", "0", "0")
	c.Send("WAITAOF", "1", "0", "0")
	eventually(t, func() bool { return awaiting() == 2 }, "both wait")
	gone.Close()
	eventually(t, func() bool { return awaiting() == 1 }, "one has gone")
	d.release()
	require.Equal(t, "[1 0]", c.Receive().String())
	require.Zero(t, awaiting())
}
