package replication

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestOwnKeysExpire: keys that clients created in a writable replica are removed at their deadlines. It does
// not matter which command set the deadline. Keys of the master stay until the master removes them, even
// after a client of the replica gave the key another deadline.
func TestOwnKeysExpire(t *testing.T) {
	begin := time.UnixMilli(time.Now().UnixMilli())
	clocks := []*server.ManualClock{server.NewManualClock(begin), server.NewManualClock(begin)}
	master := start(t, server.Options{EventLoops: true, Clock: clocks[0]})
	require.Equal(t, "+OK", master.do("DEBUG SET-ACTIVE-EXPIRE 0"))
	replica := start(t, server.Options{EventLoops: true, Clock: clocks[1], Directives: map[string]string{"replica-read-only": "no"}})
	replica.follow(master.addr)
	inStep(t, master, replica)
	for _, line := range []string{"SET set 1 PX 300", "SET expired 1", "PEXPIRE expired 300", "SADD old a", "PEXPIRE old 300", "RENAME old renamed",
		"LOCK lock me PX 300", "SET later 1 PX 100", "PEXPIRE later 100000", "SET kept 1 PX 100", "PERSIST kept", "SET both 1 PX 300",
		"SET copied 1 PX 300", "COPY copied copy", "SELECT 3", "SET elsewhere 1 PX 300", "SELECT 0"} {
		require.False(t, strings.HasPrefix(replica.do(line), "-"), line)
	}
	require.Equal(t, "+OK", master.do("SET masters 1 PX 200"))
	require.Equal(t, "+OK", master.do("SET both 1 PX 600"))
	require.Equal(t, "1", master.do("WAIT 1 10000"))
	for _, clock := range clocks {
		clock.Advance(time.Second)
	}
	keys := func() string {
		return replica.do("DBSIZE") + replica.info("db3")
	}
	eventually(t, "the keys have gone", func() bool { return keys() == "4" })
	require.Equal(t, "2", replica.do("EXISTS later kept"))
	require.Equal(t, "1", replica.info("slave_expires_tracked_keys"), "of those that are left one has a deadline of its own")
	require.Equal(t, "0", replica.do("EXISTS masters both"), "the master's keys are not found")
	require.Equal(t, "4", keys(), "and stay")
	require.Equal(t, "+OK", master.do("DEBUG SET-ACTIVE-EXPIRE 1"))
	eventually(t, "the master has removed them", func() bool {
		clocks[0].Advance(time.Millisecond)
		return keys() == "2"
	})
}

// TestFieldCommandsOnOverdue: HGETEX, HGETDEL and HSETEX, which Redis 7.4 does not have, do not find an
// overdue field of a writable replica, and do not remove it.
func TestFieldCommandsOnOverdue(t *testing.T) {
	replica, master := start(t, server.Options{EventLoops: true}), start(t, server.Options{EventLoops: true})
	require.Equal(t, "+OK", replica.do("CONFIG SET replica-read-only no"))
	require.Equal(t, "2", master.do("HSET h a 5 b 7"))
	replica.follow(master.addr)
	inStep(t, master, replica)
	require.Equal(t, "[1]", replica.do("HPEXPIREAT h 1 FIELDS 1 a"))
	for _, c := range [][2]string{
		{"HGETEX h EX 1000 FIELDS 2 a b", `[$nil "7"]`},
		{"HTTL h FIELDS 2 a b", "[-2 1000]"},
		{"HGETEX h PERSIST FIELDS 2 a b", `[$nil "7"]`},
		{"HTTL h FIELDS 2 a b", "[-2 -1]"},
		{"HGETDEL h FIELDS 1 a", "[$nil]"},
		{"HLEN h", "2"},
		{"HSETEX h FXX FIELDS 1 a 1", "0"},
		{"HGET h a", "$nil"},
		{"HSETEX h FNX FIELDS 1 a 1", "1"},
		{"HGET h a", `"1"`},
	} {
		require.Equal(t, c[1], replica.do(c[0]), c[0])
	}
}
