package interop

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lineMS is how long a waiter of RFairLock counts by default.
const lineMS = 300_000

// enqueue puts waiters into RFairLock's queue as its script does. A waiter counts until the time in its
// score. The script computes it from the lease and the scores of the waiters before it.
func (n *native) enqueue(leaseMS int64, owners ...string) {
	n.t.Helper()
	until := n.clock.NowUS()/1000 + leaseMS
	for _, owner := range owners {
		until += lineMS
		n.Do("ZADD", patienceKey, strconv.FormatInt(until, 10), owner)
		n.Do("RPUSH", queueKey, owner)
	}
}

func (n *native) replies(want string, args ...string) {
	n.t.Helper()
	require.Equal(n.t, want, n.Do(args...).String(), "%q", args)
}

func startFair(t *testing.T) *native {
	t.Helper()
	return startNative(t, "", time.UnixMilli(1_750_000_000_000))
}

// TestBehindFairLocksQueue: a native LOCK does not pass waiters of an RFairLock.
func TestBehindFairLocksQueue(t *testing.T) {
	n := startFair(t)
	n.enqueue(0, "b", "c")
	n.replies("$nil", "LOCK", key, "x")
	require.Equal(t, "queued", n.play(step{verb: "wait", owner: "y", ms: 10_000}))
	n.replies("$nil", "LOCK", key, "c")
	n.replies("*nil", "MLOCK", "2", "other", key, "x")
	n.replies("0", "EXISTS", key, "other")
	n.replies(`["b" "c"]`, "LRANGE", queueKey, "0", "-1")

	// b takes it as its script does, and gives it back. Then it is c's turn.
	n.Do("HSET", key, "b", "1")
	n.Do("PEXPIRE", key, "5000")
	n.Do("LPOP", queueKey)
	n.Do("ZREM", patienceKey, "b")
	require.True(t, n.blocked("y"))
	n.Do("DEL", key)
	require.True(t, n.blocked("y"), "c stands before it")

	// c gives up. Then it is y's turn.
	n.Do("ZREM", patienceKey, "c")
	n.Do("LREM", queueKey, "0", "c")
	require.False(t, n.blocked("y"))
	require.Equal(t, "got", n.acquired(n.owners["y"].Receive()))
}

// TestHeadOfFairLocksQueue: the head of RFairLock's queue may ask by a native command. It then leaves the
// queue as by the script.
func TestHeadOfFairLocksQueue(t *testing.T) {
	n := startFair(t)
	n.enqueue(0, "b", "c")
	require.Equal(t, "got", n.play(step{verb: "acquire", owner: "b", ms: 5_000}))
	n.replies(`["c"]`, "LRANGE", queueKey, "0", "-1")
	n.replies("1", "ZCARD", patienceKey)
	require.Equal(t, "refused", n.play(step{verb: "acquire", owner: "c", ms: 5_000}))
	require.Equal(t, "released", n.play(step{verb: "release", owner: "b"}))
	require.Equal(t, "refused", n.play(step{verb: "acquire", owner: "b", ms: 5_000}))
	require.Equal(t, "got", n.play(step{verb: "acquire", owner: "c", ms: 5_000}))
	n.replies("0", "EXISTS", queueKey, patienceKey)
}

// TestDeadWaiterOfFairLock: a dead waiter of RFairLock counts until the time in its score. At that moment a
// native waiter gets the lock.
func TestDeadWaiterOfFairLock(t *testing.T) {
	n := startFair(t)
	n.enqueue(0, "dead")
	require.Equal(t, "queued", n.play(step{verb: "wait", owner: "y", ms: 10_000}))
	n.clock.Advance((lineMS - 1) * time.Millisecond)
	require.True(t, n.blocked("y"))
	n.clock.Advance(time.Millisecond)
	require.False(t, n.blocked("y"))
	require.Equal(t, "got", n.acquired(n.owners["y"].Receive()))
	n.replies("10000", "PTTL", key)
}

// TestWhatIsNoQueue: a queue without scores, or of other types, excludes no client.
func TestWhatIsNoQueue(t *testing.T) {
	n := startFair(t)
	for name, make := range map[string][][]string{
		"no score":   {{"RPUSH", queueKey, "b"}},
		"no list":    {{"SET", queueKey, "b"}, {"ZADD", patienceKey, "9e15", "b"}},
		"no set":     {{"RPUSH", queueKey, "b"}, {"SET", patienceKey, "b"}},
		"a past one": {{"RPUSH", queueKey, "b"}, {"ZADD", patienceKey, "1749999999999", "b"}},
	} {
		n.Do("FLUSHALL")
		for _, command := range make {
			require.False(t, n.Do(command...).IsError(), name)
		}
		require.Equal(t, "got", n.play(step{verb: "acquire", owner: "x", ms: 5_000}), name)
	}
}

// TestReleaseTellsFairLocksHead: a native release sends a message to the head of RFairLock's queue, on the
// channel that it listens to, and one to all clients, on RLock's.
func TestReleaseTellsFairLocksHead(t *testing.T) {
	n := startFair(t)
	n.play(step{verb: "acquire", owner: "a", ms: 10_000})
	n.enqueue(10_000, "b", "c")
	o := n.do(step{verb: "release", owner: "a"})
	require.Equal(t, "released", o.reply)
	require.ElementsMatch(t, []string{channel + " 0", channel + ":b 0"}, o.published)
	n.replies(`["b" "c"]`, "LRANGE", queueKey, "0", "-1")
}

// TestNamesOfKeysWithBraces: a key that contains a brace is its own hash tag, in all names that Redisson
// derives from it.
func TestNamesOfKeysWithBraces(t *testing.T) {
	const ahead = 1_750_003_600_000_000 // the value of RFencedLock's counter: an hour ahead of the clock
	for k, name := range map[string]string{"plain": "{plain}", "{user}:1": "{user}:1", "a{b": "a{b", "}": "{}}", "": "{}"} {
		n := startFair(t)
		n.Do("SET", "redisson_lock_token:"+name, strconv.Itoa(ahead))
		token := n.Do("LOCK", k, "a", "PX", "1000").Int
		require.EqualValues(t, ahead+1, token, k)
		n.replies(strconv.Quote(strconv.FormatInt(token, 10)), "GET", "redisson_lock_token:"+name)
		n.Do("UNLOCK", k, "a")
		require.Equal(t, []string{"redisson_lock__channel:" + name + " 0"}, heard(t, n.Client, n.ear, "mark"), k)
		n.Do("FLUSHALL")
		require.Equal(t, token+1, n.Do("LOCK", k, "a", "PX", "1").Int, "the next one is above it all the same")
	}
}

// TestFencedLocksCounter: RFencedLock's counter is found whichever way it was created. A value that is no
// counter is refused before anything changes.
func TestFencedLocksCounter(t *testing.T) {
	const ahead = "1750003600000000"
	for _, commands := range []string{
		"SET redisson_lock_token:{door} 1750003600000000",
		"SET x 1750003600000000 | RENAME x redisson_lock_token:{door}",
		"SET x 1750003600000000 | COPY x redisson_lock_token:{door}",
		"SELECT 1 | SET redisson_lock_token:{door} 1750003600000000 | MOVE redisson_lock_token:{door} 0 | SELECT 0",
		"SELECT 1 | SET redisson_lock_token:{door} 1750003600000000 | SWAPDB 1 0 | SELECT 0",
		"APPEND redisson_lock_token:{door} 1750003600000000",
		"INCRBY redisson_lock_token:{door} 1750003600000000",
	} {
		n := startFair(t)
		for _, line := range strings.Split(commands, " | ") {
			require.False(t, n.Do(strings.Fields(line)...).IsError(), line)
		}
		n.replies(strconv.Quote(ahead), "GET", tokenKey)
		n.replies("1750003600000001", "LOCK", key, "a", "PX", "1000")
		n.replies(`"1750003600000001"`, "GET", tokenKey)
		n.replies("1750003600000001", "LOCK", key, "a", "PX", "1000")
		n.replies("0", "UNLOCK", key, "a")
		n.replies("1", "UNLOCK", key, "a")
		n.replies("1", "DEL", tokenKey)
		n.replies("1750003600000002", "LOCK", key, "a", "PX", "1000")
		n.replies("0", "EXISTS", tokenKey)
	}
	n := startFair(t)
	for command, refusal := range map[string]string{
		"SET redisson_lock_token:{door} x":                   "-ERR value is not an integer or out of range",
		"SET redisson_lock_token:{door} 9223372036854775807": "-ERR",
		"SADD redisson_lock_token:{door} x":                  "-WRONGTYPE Operation against a key holding the wrong kind of value",
	} {
		n.Do("DEL", tokenKey)
		require.False(t, n.Do(strings.Fields(command)...).IsError())
		require.Contains(t, n.Do("LOCK", key, "a", "PX", "1000").String(), refusal)
		require.Contains(t, n.Do("MLOCK", "2", "other", key, "a").String(), refusal)
		n.replies("0", "EXISTS", key, "other")
	}
}
