package conversations

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// latchScripts are the edges of LATCH.SET, LATCH.DOWN, LATCH.WAIT and LATCH.GET.
var latchScripts = []script{
	{"a latch is closed, counted down, and open", `
		A LATCH.SET l 2 -> 1
		A LATCH.SET l 5 -> 0
		A LATCH.GET l -> 2
		A GET l -> "2"
		A LATCH.WAIT l -> 0
		B LATCH.WAIT l WAIT 0 -> waits
		C LATCH.WAIT l WAIT 0 -> waits
		A LATCH.DOWN l -> 1
		parked 2
		A LATCH.DOWN l -> 0
		B <- 1
		C <- 1
		A EXISTS l -> 0
		A LATCH.WAIT l WAIT 0 -> 1
		A LATCH.DOWN l -> 0
		A EXISTS l -> 0
		A LATCH.GET l -> 0
		A LATCH.SET l 1 -> 1`},
	{"several counts at once, and more than there are", `
		A LATCH.SET l 10 -> 1
		A LATCH.DOWN l 3 -> 7
		A LATCH.DOWN l 9223372036854775807 -> 0
		A EXISTS l -> 0`},
	{"a wait has an end", `
		A LATCH.SET l 1 -> 1
		B LATCH.WAIT l WAIT 100 -> waits
		C LATCH.WAIT l WAIT 200 -> waits
		+99ms
		parked 2
		+1ms
		B <- 0
		A LATCH.DOWN l -> 0
		C <- 1`},
	{"whatever removes the key opens the latch", `
		A LATCH.SET l 1 -> 1
		B LATCH.WAIT l WAIT 0 -> waits
		A DEL l -> 1
		B <- 1
		A LATCH.SET l 1 -> 1
		A PEXPIRE l 500 -> 1
		A LATCH.SET m 1 -> 1
		B LATCH.WAIT l WAIT 0 -> waits
		+501ms
		B <- 1
		B LATCH.WAIT m WAIT 0 -> waits
		A RENAME m n -> +OK
		B <- 1
		B LATCH.WAIT n WAIT 0 -> waits
		A FLUSHALL -> +OK
		B <- 1`},
	{"counting down keeps the deadline of the key", `
		A LATCH.SET l 3 -> 1
		A PEXPIRE l 500 -> 1
		A LATCH.DOWN l -> 2
		A PTTL l -> 500`},
	{"a latch that Redisson's scripts count down", `
		A EVAL return(redis.call('set',KEYS[1],ARGV[1])) 1 l 2 -> +OK
		A LATCH.GET l -> 2
		B LATCH.WAIT l WAIT 0 -> waits
		A DECR l -> 1
		A EVAL return(redis.call('decr',KEYS[1])<=0)and(redis.call('del',KEYS[1]))or(5) 1 l -> 1
		B <- 1`},
	{"a count of 0 or less, which only others can write, is open", `
		A SET l -3 -> +OK
		A LATCH.GET l -> 0
		A LATCH.WAIT l WAIT 0 -> 1
		A LATCH.SET l 1 -> 0
		A LATCH.DOWN l -> 0
		A EXISTS l -> 0`},
	{"wrong types and words change nothing", `
		A LATCH.SET l 0 -> -ERR value is out of range, must be positive
		A LATCH.SET l -1 -> -ERR value is out of range, must be positive
		A LATCH.SET l x -> -ERR value is not an integer or out of range
		A LATCH.SET l -> -ERR wrong number of arguments for 'latch.set' command
		A LATCH.SET l 1 2 -> -ERR wrong number of arguments for 'latch.set' command
		A EXISTS l -> 0
		A LATCH.SET l 5 -> 1
		A LATCH.DOWN l 0 -> -ERR value is out of range, must be positive
		A LATCH.DOWN l -2 -> -ERR value is out of range, must be positive
		A LATCH.DOWN l x -> -ERR value is not an integer or out of range
		A LATCH.DOWN l 1 1 -> -ERR syntax error
		A LATCH.WAIT l NOW -> -ERR syntax error
		A LATCH.WAIT l WAIT -> -ERR syntax error
		A LATCH.WAIT l WAIT 1 WAIT 1 -> -ERR syntax error
		A LATCH.WAIT l WAIT -1 -> -ERR timeout is negative
		A LATCH.WAIT l WAIT x -> -ERR timeout is not an integer or out of range
		A LATCH.GET l -> 5
		A RPUSH k e -> 1
		A LATCH.SET k 1 -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A LATCH.DOWN k -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A LATCH.WAIT k -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A LATCH.GET k -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A SET t text -> +OK
		A LATCH.SET t 1 -> 0
		A LATCH.DOWN t -> -ERR value is not an integer or out of range
		A LATCH.WAIT t -> -ERR value is not an integer or out of range
		A LATCH.GET t -> -ERR value is not an integer or out of range`},
	{"the key is overwritten under waiters", `
		A LATCH.SET l 1 -> 1
		B LATCH.WAIT l WAIT 0 -> waits
		A DEL x -> 0
		A MULTI -> +OK
		A DEL l -> +QUEUED
		A RPUSH l e -> +QUEUED
		A EXEC -> [1 1]
		B <- -WRONGTYPE Operation against a key holding the wrong kind of value`},
	{"a latch that is closed again in the same unit stays closed", `
		A LATCH.SET l 1 -> 1
		B LATCH.WAIT l WAIT 0 -> waits
		A MULTI -> +OK
		A LATCH.DOWN l -> +QUEUED
		A LATCH.SET l 2 -> +QUEUED
		A EXEC -> [0 1]
		parked 1
		A LATCH.DOWN l 2 -> 0
		B <- 1`},
	{"in MULTI and in Lua a wait ends at once", `
		A LATCH.SET l 1 -> 1
		A MULTI -> +OK
		A LATCH.WAIT l WAIT 0 -> +QUEUED
		A LATCH.DOWN l -> +QUEUED
		A LATCH.WAIT l WAIT 0 -> +QUEUED
		A EXEC -> [0 0 1]
		A LATCH.SET l 1 -> 1
		A EVAL return(redis.call('LATCH.WAIT','l','WAIT','0')) 0 -> 0
		A EVAL return(redis.call('LATCH.DOWN','l')) 0 -> 0`},
	{"Redisson's clients hear of it", `
		B SUBSCRIBE redisson_countdownlatch__channel__{l} -> ["subscribe" "redisson_countdownlatch__channel__{l}" 1]
		A LATCH.SET l 2 -> 1
		B <- ["message" "redisson_countdownlatch__channel__{l}" "1"]
		A LATCH.SET l 2 -> 0
		A LATCH.DOWN l -> 1
		A LATCH.DOWN l 5 -> 0
		B <- ["message" "redisson_countdownlatch__channel__{l}" "0"]
		A LATCH.DOWN l -> 0
		A PUBLISH redisson_countdownlatch__channel__{l} end -> 1
		B <- ["message" "redisson_countdownlatch__channel__{l}" "end"]
		B SUBSCRIBE redisson_countdownlatch__channel__{{l}x} -> ["subscribe" "redisson_countdownlatch__channel__{{l}x}" 2]
		A LATCH.SET {l}x 2 -> 1
		B <- ["message" "redisson_countdownlatch__channel__{{l}x}" "1"]`},
	{"what operators see of a latch that clients wait for", `
		A LATCH.SET l 2 -> 1
		A LOCK.LIST -> []
		A LOCK.INFO l -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A LOCK.FORCE l -> -WRONGTYPE Operation against a key holding the wrong kind of value
		B CLIENT SETNAME bob -> +OK
		B LATCH.WAIT l WAIT 5000 -> waits
		C LATCH.WAIT l WAIT 0 -> waits
		A LOCK m ann PX 9000 -> token=m
		A LOCK.LIST MATCH m* CURSOR 0 -> ["0" [["key" "m" "owner" "ann" "holds" 1 "token" token:m "ttl" 9000]]]
		A LOCK.LIST MATCH l* -> [["key" "l" "owner" "" "holds" 2 "token" 0 "ttl" -1 "mode" "latch"]]
		A LOCK.LIST OWNER ann CURSOR 0 -> ["0" [["key" "m" "owner" "ann" "holds" 1 "token" token:m "ttl" 9000]]]
		A PEXPIRE l 60000 -> 1
		A LATCH.DOWN l -> 1
		A LOCK.LIST COUNT 1 -> [["key" "l" "owner" "" "holds" 1 "token" 0 "ttl" 60000 "mode" "latch"]]
		A LOCK.FORCE l OWNER ann -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A LOCK.FORCE l -> 1
		B <- 1
		C <- 1
		A EXISTS l -> 0
		A LOCK.INFO l -> $nil
		A LOCK.LIST MATCH l* -> []
		A SET l 5 -> +OK
		A LOCK.FORCE l -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A GET l -> "5"`},
	{"a waiter that goes, or is unblocked, leaves", `
		A LATCH.SET l 1 -> 1
		B LATCH.WAIT l WAIT 0 -> waits
		C LATCH.WAIT l WAIT 0 -> waits
		parked 2
		close B
		parked 1
		A CLIENT UNBLOCK 3 -> 1
		C <- 0`},
}

func TestLatchScripts(t *testing.T) { play(t, nil, "", latchScripts) }

// TestLatchInfo: LOCK.INFO and LOCK.WAITERS show a latch and the clients that wait for it, to users that may
// read it.
func TestLatchInfo(t *testing.T) {
	t.Parallel()
	const begun = 1_750_000_000_000
	clock := server.NewManualClock(time.UnixMilli(begun))
	srv := serve(t, server.Options{Clock: clock})
	asks, b, c := client(t, srv), client(t, srv), client(t, srv)
	asks.Do("HELLO", "3")
	b.Do("CLIENT", "SETNAME", "bob")
	asks.Do("LATCH.SET", "l", "7")
	b.Send("LATCH.WAIT", "l", "WAIT", "5000")
	awaitParked(t, srv, 1)
	clock.Advance(time.Second)
	c.Send("LATCH.WAIT", "l", "WAIT", "0")
	awaitParked(t, srv, 2)
	asks.Do("LOCK", "k", "ann", "PX", "60000")
	client(t, srv).Send("LOCK", "k", "eve", "WAIT", "0")
	awaitParked(t, srv, 3)

	info := testkit.Entries(t, asks.Do("LOCK.INFO", "l", "COUNT", "1"))
	require.Equal(t, "latch", info["mode"].Str)
	require.EqualValues(t, 7, info["count"].Int)
	require.EqualValues(t, -1, info["ttl"].Int)
	require.EqualValues(t, 2, info["waiting"].Int)
	require.Len(t, info["waiters"].Elems, 1)
	info = testkit.Entries(t, asks.Do("LOCK.INFO", "l"))
	require.NotContains(t, info, "waiting")
	require.Len(t, info["waiters"].Elems, 2)
	first, second := testkit.Entries(t, info["waiters"].Elems[0]), testkit.Entries(t, info["waiters"].Elems[1])
	require.True(t, first["owner"].IsNull())
	require.Equal(t, "bob", testkit.Entries(t, first["client"])["name"].Str)
	require.EqualValues(t, begun, first["waiting-since"].Int)
	require.EqualValues(t, begun+5000, first["deadline"].Int)
	require.EqualValues(t, begun+1000, second["waiting-since"].Int)
	require.True(t, second["deadline"].IsNull())

	waits := asks.Do("LOCK.WAITERS").Elems
	require.Len(t, waits, 3)
	require.Equal(t, "eve", testkit.Entries(t, waits[0])["owner"].Str, "waiters for locks come first")
	last := testkit.Entries(t, waits[1])
	require.Equal(t, "latch", last["mode"].Str)
	require.Equal(t, `[["l" nil]]`, last["locks"].String())
	require.Len(t, asks.Do("LOCK.WAITERS", "COUNT", "2").Elems, 2)
	require.Len(t, asks.Do("LOCK.WAITERS", "OWNER", "eve").Elems, 1)

	asks.Do("ACL", "SETUSER", "few", "on", "nopass", "~k", "+@all")
	other := client(t, srv)
	other.Do("AUTH", "few", "x")
	require.Len(t, other.Do("LOCK.WAITERS").Elems, 1)
	require.Len(t, other.Do("LOCK.LIST").Elems, 1)
	require.Len(t, other.Do("LOCK.LIST", "CURSOR", "0").Elems[1].Elems, 1)
	require.Contains(t, other.Do("LOCK.INFO", "l").Str, "NOPERM")
}

// TestListOfLatches: LOCK.LIST in pieces has each latch and each lock once, and no latch without waiters.
func TestListOfLatches(t *testing.T) {
	t.Parallel()
	srv := serve(t, server.Options{})
	c := client(t, srv)
	const latches, locks = 23, 17
	var waits [latches]*testkit.Client
	for i := range latches {
		c.Do("LATCH.SET", fmt.Sprint("l", i), "1")
		waits[i] = client(t, srv)
		waits[i].Send("LATCH.WAIT", fmt.Sprint("l", i), "WAIT", "0")
		awaitParked(t, srv, i+1)
	}
	for i := range locks {
		c.Do("LOCK", fmt.Sprint("k", i), "ann", "PX", "60000")
	}
	for i := range 7 {
		require.EqualValues(t, 0, c.Do("LATCH.DOWN", fmt.Sprint("l", 3*i)).Int)
	}
	for _, count := range []string{"1", "2", "5", "16", "33", "1000"} {
		seen := map[string]int{}
		for cursor := "0"; ; {
			piece := c.Do("LOCK.LIST", "CURSOR", cursor, "COUNT", count)
			for _, e := range piece.Elems[1].Elems {
				seen[e.Elems[1].Str]++
			}
			if cursor = piece.Elems[0].Str; cursor == "0" {
				break
			}
		}
		require.Len(t, seen, latches-7+locks, "COUNT %s", count)
		for key, n := range seen {
			require.Equal(t, 1, n, "%s, COUNT %s", key, count)
		}
		require.NotContains(t, seen, "l3")
		require.Contains(t, seen, "l4")
	}
	require.Len(t, c.Do("LOCK.LIST").Elems, latches-7+locks)
	require.Len(t, c.Do("LOCK.LIST", "COUNT", "20").Elems, 20)
	for i := range latches {
		c.Do("LATCH.DOWN", fmt.Sprint("l", i))
	}
	require.Len(t, c.Do("LOCK.LIST").Elems, locks)
	require.Zero(t, parked(srv))
}
