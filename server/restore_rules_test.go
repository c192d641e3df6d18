package server

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// openWith starts a server with a clock of its own.
func openWith(t *testing.T, clock Clock) *instance {
	t.Helper()
	srv, err := newInstance(Options{Clock: clock})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

// TestRestoreRefusals: what is wrong with a RESTORE is said in Redis' order, and nothing is changed by it.
func TestRestoreRefusals(t *testing.T) {
	t.Parallel()
	c := testkit.Dial(t, openWith(t, nil).Dial)
	c.Do("RPUSH", "l", "a", "b")
	payload := c.Do("DUMP", "l").Str
	damaged := payload[:3] + "x" + payload[4:]
	c.Do("SET", "k", "old", "EX", "1000")
	before := testkit.ReadDataset(c)
	for _, call := range []struct {
		want string
		args []string
	}{
		{"-BUSYKEY Target key name already exists.", []string{"k", "0", payload}},
		{"-BUSYKEY Target key name already exists.", []string{"k", "-1", "x"}},
		{"-ERR value is not an integer or out of range", []string{"k", "x", damaged, "REPLACE"}},
		{"-ERR Invalid TTL value, must be >= 0", []string{"k", "-1", damaged, "REPLACE"}},
		{"-ERR DUMP payload version or checksum are wrong", []string{"k", "0", damaged, "REPLACE"}},
		{"-ERR DUMP payload version or checksum are wrong", []string{"k", "0", "", "REPLACE"}},
		{"-ERR DUMP payload version or checksum are wrong", []string{"new", "0", payload[:len(payload)-1]}},
		// a list that ends too early, with a sound sum: made by hand
		{"-ERR Bad data format", []string{"k", "0", "\x12\x01\x0a\x00\xd7\xce\xc4\x95\x43\x4a\xad\xa3", "REPLACE"}},
		{"-ERR Invalid IDLETIME value, must be >= 0", []string{"k", "x", damaged, "IDLETIME", "-1"}},
		{"-ERR Invalid FREQ value, must be >= 0 and <= 255", []string{"k", "0", payload, "FREQ", "256"}},
		{"-ERR syntax error", []string{"k", "0", payload, "IDLETIME", "1", "FREQ", "1"}},
		{"-ERR syntax error", []string{"k", "0", payload, "IDLETIME"}},
		{"-ERR syntax error", []string{"k", "0", payload, "FREQ"}},
		{"-ERR syntax error", []string{"k", "0", payload, "REPLACE", "ABSTLL"}},
		{"-ERR value is not an integer or out of range", []string{"k", "0", payload, "FREQ", "x"}},
	} {
		require.Equal(t, call.want, c.Do(append([]string{"RESTORE"}, call.args...)...).String(), "%q", call.args)
	}
	require.Equal(t, before, testkit.ReadDataset(c))
}

// TestRestore: relative and absolute deadlines, a past deadline, idle times, and a transaction.
func TestRestore(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.Unix(1_700_000_000, 0))
	c := testkit.Dial(t, openWith(t, clock).Dial)
	nowMS := time.Unix(1_700_000_000, 0).UnixMilli()
	c.Do("HSET", "h", "f", "v", "g", "w")
	c.Do("HPEXPIRE", "h", "500", "FIELDS", "1", "g")
	payload := c.Do("DUMP", "h").Str
	require.Equal(t, "$nil", c.Do("DUMP", "gone").String())

	require.Equal(t, "+OK", c.Do("RESTORE", "a", "1000", payload).String())
	require.Equal(t, "+OK", c.Do("RESTORE", "b", strconv.FormatInt(nowMS+2000, 10), payload, "absttl", "idletime", "77").String())
	require.Equal(t, int64(1000), c.Do("PTTL", "a").Int)
	require.Equal(t, int64(2000), c.Do("PTTL", "b").Int)
	require.Equal(t, int64(77), c.Do("OBJECT", "IDLETIME", "b").Int)
	require.Equal(t, "[500]", c.Do("HPTTL", "b", "FIELDS", "1", "g").String())
	require.Equal(t, "+OK", c.Do("RESTORE", "b", "1", payload, "ABSTTL", "REPLACE", "FREQ", "255").String())
	require.Equal(t, int64(0), c.Do("EXISTS", "b").Int, "its time had come")
	require.Equal(t, "+OK", c.Do("RESTORE", "b", "9223372036854775807", payload, "REPLACE").String())
	require.Equal(t, int64(0), c.Do("EXISTS", "b").Int, "a time that has run over is past, as in Redis")

	clock.Advance(600 * time.Millisecond)
	require.Equal(t, int64(1), c.Do("HLEN", "a").Int, "the deadline of a field came along")
	c.Do("SET", "b", "old", "EX", "1000")
	require.Equal(t, "+OK", c.Do("MULTI").String())
	c.Do("RESTORE", "b", "0", payload, "REPLACE")
	c.Do("HGETALL", "b")
	c.Do("TTL", "b")
	require.Equal(t, `[+OK ["f" "v"] -1]`, c.Do("EXEC").String())
	clock.Advance(time.Second)
	require.Equal(t, int64(0), c.Do("EXISTS", "a").Int)
}

// TestRestoreAsking: a node of a Redis Cluster that migrates a key sends it under this name.
func TestRestoreAsking(t *testing.T) {
	c := testkit.Dial(t, openWith(t, nil).Dial)
	c.Do("RPUSH", "l", "a", "b")
	payload := c.Do("DUMP", "l").Str
	require.Equal(t, "+OK", c.Do("RESTORE-ASKING", "k", "0", payload).String())
	require.EqualValues(t, 2, c.Do("LLEN", "k").Int)
	require.Equal(t, "-BUSYKEY Target key name already exists.", c.Do("RESTORE-ASKING", "k", "0", payload).String())
	require.Equal(t, "+OK", c.Do("RESTORE-ASKING", "k", "0", payload, "REPLACE").String())
}

// TestRestoreEvents are Redis' names for them.
func TestRestoreEvents(t *testing.T) {
	t.Parallel()
	srv := openWith(t, nil)
	c, listener := testkit.Dial(t, srv.Dial), testkit.Dial(t, srv.Dial)
	c.Do("SET", "s", "v")
	payload := c.Do("DUMP", "s").Str
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "notify-keyspace-events", "EAn").String())
	listener.Do("PSUBSCRIBE", "*")
	c.Do("RESTORE", "k", "0", payload)
	c.Do("RESTORE", "k", "1000000", payload, "REPLACE")
	c.Do("RESTORE", "k", "1", payload, "ABSTTL", "REPLACE")
	c.Do("RESTORE", "k", "1", payload, "ABSTTL", "REPLACE")
	for _, event := range []string{"new", "restore", "new", "restore", "del"} {
		require.Equal(t, "__keyevent@0__:"+event, listener.Receive().Elems[2].Str)
	}
	c.Do("PUBLISH", "end", "")
	require.Equal(t, "end", listener.Receive().Elems[2].Str)
}
