package server

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// testShards runs a cluster of three shards in test mode, and returns a network connection to each.
func testShards(t *testing.T) (c *Cluster, conns []*testkit.Client) {
	t.Helper()
	c, err := NewCluster(Options{Directives: map[string]string{"test-mode": "yes"}}, 3)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.Start())
	for _, srv := range c.Shards() {
		conns = append(conns, dialAddr(t, srv.Addr().String()))
	}
	return c, conns
}

func dialAddr(t *testing.T, addr string) *testkit.Client {
	t.Helper()
	return testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
}

// TestOneClockOfShards: TEST.CLOCK at any shard is the time of all shards. Events on the way happen in the
// order of their time over all shards.
func TestOneClockOfShards(t *testing.T) {
	_, shards := testShards(t)
	at := shards[1].Do("TEST.CLOCK", "FREEZE").Int
	for i, c := range shards {
		require.Equal(t, at, c.Do("TEST.CLOCK", "GET").Int)
		require.Positive(t, c.Do("LOCK", keyIn(i), "me", "PX", fmt.Sprint(1000*(3-i))).Int)
	}
	waits := make([]*testkit.Client, 3)
	for i := range shards {
		waits[i] = dialAddr(t, shards[i].Conn().RemoteAddr().String())
		waits[i].Send("LOCK", keyIn(i), "other", "WAIT", "60000")
	}
	for i, c := range shards {
		require.Eventually(t, func() bool { return len(c.Do("LOCK.WAITERS").Elems) == 1 }, soon, time.Millisecond, "shard %d", i)
	}
	require.Equal(t, at+3000, shards[2].Do("TEST.CLOCK", "ADVANCE", "3000").Int)
	var tokens []int64
	for _, w := range waits {
		tokens = append(tokens, w.Receive().Int)
	}
	require.Greater(t, tokens[0], tokens[1], "granted a second later")
	require.Greater(t, tokens[1], tokens[2])
	require.Equal(t, at+3000, shards[0].Do("TEST.CLOCK", "RESUME").Int)
	_, err := NewCluster(Options{Directives: map[string]string{"test-mode": "yes"}, Clock: NewManualClock(time.Now())}, 2)
	require.ErrorIs(t, err, errTestOptions)
}

// TestResetOfShards: TEST.RESET at any shard makes all of them as new.
func TestResetOfShards(t *testing.T) {
	_, shards := testShards(t)
	for i, c := range shards {
		c.Do("SET", keyIn(i), "v")
		c.Do("TEST.FAULT", "ADD", "ERROR", "x", "MATCH", "get")
	}
	shards[0].Do("TEST.CLOCK", "FREEZE", "1000")
	require.Equal(t, "+OK", shards[2].Do("TEST.RESET").String())
	for i, c := range shards {
		require.Equal(t, "$nil", c.Do("GET", keyIn(i)).String())
		require.WithinDuration(t, time.Now(), time.UnixMilli(c.Do("TEST.CLOCK", "GET").Int), time.Minute)
	}
}

// TestKillOverTheWire: TEST.SHARD KILL ends the named shard alone, also the shard that is asked.
func TestKillOverTheWire(t *testing.T) {
	c, shards := testShards(t)
	for _, n := range []string{"0", "4"} {
		require.Contains(t, shards[0].Do("TEST.SHARD", "KILL", n).String(), "ERR there is no such shard")
	}
	require.Equal(t, "+OK", shards[0].Do("TEST.SHARD", "KILL", "2").String())
	_, err := shards[1].Call("PING")
	require.Error(t, err)
	_, err = net.Dial("tcp", c.Shards()[1].Addr().String())
	require.Error(t, err)
	require.Equal(t, 1, strings.Count(shards[0].Do("CLUSTER", "NODES").Str, "master,fail "))
	require.Equal(t, "+OK", shards[2].Do("TEST.RESET").String(), "of those that are there")
	shards[2].Send("TEST.SHARD", "KILL", "3")
	require.Eventually(t, func() bool { return strings.Count(shards[0].Do("CLUSTER", "NODES").Str, "master,fail ") == 2 }, soon, time.Millisecond)
	alone := testkit.Dial(t, start(t, Options{Directives: map[string]string{"test-mode": "yes"}}).Dial)
	require.Contains(t, alone.Do("TEST.SHARD", "KILL", "1").String(), "ERR there is no such shard")
}

// TestSilence: a shard that is cut off runs nothing and answers nothing, also to a command that has waited
// before. Its commands of test mode work, and new connections are answered when the fault is gone.
func TestSilence(t *testing.T) {
	_, shards := testShards(t)
	c := shards[1]
	addr := c.Conn().RemoteAddr().String()
	require.Positive(t, c.Do("LOCK", keyIn(1), "me", "PX", "60000").Int)
	waiter, control := dialAddr(t, addr), dialAddr(t, addr)
	waiter.Send("LOCK", keyIn(1), "other", "WAIT", "0")
	require.Eventually(t, func() bool { return len(control.Do("LOCK.WAITERS").Elems) == 1 }, soon, time.Millisecond)
	fault := control.Do("TEST.FAULT", "ADD", "SILENCE").Int
	require.Positive(t, fault)
	other := dialAddr(t, addr)
	other.Send("UNLOCK", keyIn(1), "me")
	require.Eventually(t, func() bool {
		return strings.Contains(control.Do("TEST.FAULT", "LIST").String(), `"struck" 1`)
	}, soon, time.Millisecond)
	require.Equal(t, "+OK", shards[0].Do("SET", keyIn(0), "v").String())
	require.True(t, control.Do("TEST.CLOCK", "ADVANCE", "60000").Int > 0, "the lease ends, and the waiter has the lock without hearing of it")
	require.Equal(t, "+OK", control.Do("TEST.FAULT", "DEL", fmt.Sprint(fault)).String())
	fresh := dialAddr(t, addr)
	require.Contains(t, fresh.Do("LOCK.INFO", keyIn(1)).String(), `"other"`)
	_, err := waiter.Next()
	require.Error(t, err, "its connection is lost")
	other.Send("PING")
	_, heard := other.ReceiveWithin(20 * time.Millisecond)
	require.False(t, heard)
}
