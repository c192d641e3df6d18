//go:build oracle

package differential

import "testing"

// TestTracking plays clients that cache keys, and others that change the keys.
func TestTracking(t *testing.T) { playAll(t, startPair(t, ""), trackingCases()) }

func trackingCases() []blockingCase {
	return slicesOfPlays(trackingOptionCases(), trackedKeyCases(), optionalTrackingCases(), broadcastCases(), redirectCases())
}

func slicesOfPlays(lists ...[]blockingCase) (all []blockingCase) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func trackingOptionCases() []blockingCase {
	return []blockingCase{
		{"options that do not fit together", `
			A CLIENT TRACKING
			A CLIENT TRACKING maybe
			A CLIENT TRACKING ON NOSUCH
			A CLIENT TRACKING ON REDIRECT
			A CLIENT TRACKING ON REDIRECT x
			A CLIENT TRACKING ON REDIRECT 0
			A CLIENT TRACKING ON REDIRECT -1
			A CLIENT TRACKING ON REDIRECT 99999999
			A CLIENT TRACKING OFF REDIRECT 99999999
			A CLIENT TRACKING ON REDIRECT {A} REDIRECT {A}
			A CLIENT TRACKING ON PREFIX
			A CLIENT TRACKING ON PREFIX a
			A CLIENT TRACKING ON OPTIN OPTOUT
			A CLIENT TRACKING ON OPTIN BCAST
			A CLIENT TRACKING ON OPTOUT BCAST NOLOOP
			A CLIENT TRACKINGINFO
			A CLIENT TRACKINGINFO x
			A CLIENT GETREDIR
			A CLIENT GETREDIR x
			A CLIENT TRACKING OFF
			A CLIENT TRACKING off OPTIN BCAST PREFIX x
			A CLIENT CACHING
			A CLIENT CACHING YES
			A CLIENT CACHING maybe
		`},
		{"changing one's mind", `
			A CLIENT TRACKING ON
			A CLIENT TRACKINGINFO
			A CLIENT TRACKING ON BCAST
			A CLIENT TRACKING ON NOLOOP
			A CLIENT TRACKINGINFO
			A CLIENT TRACKING ON OPTIN
			A CLIENT TRACKINGINFO
			A CLIENT TRACKING ON OPTOUT
			A CLIENT TRACKING ON
			A CLIENT TRACKING ON OPTOUT
			A CLIENT TRACKING ON OPTIN
			A CLIENT TRACKINGINFO
			A CLIENT TRACKING OFF
			A CLIENT TRACKINGINFO
			A CLIENT TRACKING ON BCAST NOLOOP
			A CLIENT TRACKING ON
			A CLIENT TRACKING ON BCAST
			A CLIENT TRACKINGINFO
			A CLIENT TRACKING ON BCAST REDIRECT {B}
			A CLIENT TRACKING OFF
			A CLIENT GETREDIR
		`},
		{"prefixes", `
			A CLIENT TRACKING ON BCAST PREFIX b PREFIX a PREFIX c
			A CLIENT TRACKINGINFO
			A CLIENT TRACKING ON BCAST PREFIX ab
			A CLIENT TRACKING ON BCAST PREFIX d PREFIX ""
			A CLIENT TRACKING ON BCAST PREFIX e PREFIX e
			A CLIENT TRACKING ON BCAST PREFIX ef PREFIX e
			A CLIENT TRACKING ON BCAST PREFIX d
			A CLIENT TRACKINGINFO
			A CLIENT TRACKING ON BCAST
			A CLIENT TRACKING ON BCAST
			A CLIENT TRACKINGINFO
			A CLIENT TRACKING OFF
			A CLIENT TRACKING ON BCAST PREFIX "a\r\n\x00b"
			A CLIENT TRACKING ON BCAST PREFIX "a\r\n\x00bc"
			A CLIENT TRACKINGINFO
		`},
		{"reset ends it", `
			A CLIENT TRACKING ON BCAST PREFIX a
			A RESET
			A CLIENT TRACKINGINFO
			A CLIENT TRACKING ON OPTIN
			A CLIENT CACHING YES
			A RESET
			A CLIENT GETREDIR
			A CLIENT CACHING YES
		`},
		{"inside a transaction", `
			A MULTI
			A CLIENT TRACKING ON
			A CLIENT TRACKING nonsense
			A GET k
			A CLIENT TRACKINGINFO
			A EXEC
			B SET k 1
			A PING
		`},
	}
}

// trackedKeyCases returns the plays. Messages are compared in RESP3, where the client itself gets them. The
// plays in RESP2 check that it gets none.
func trackedKeyCases() []blockingCase {
	return []blockingCase{
		{"what was read before it was switched off", `
			A= 3
			A CLIENT TRACKING ON
			A MGET a b c
			A CLIENT TRACKING OFF
			B SET a 1
			A PING
			A CLIENT TRACKING ON
			B SET a 1
			A PING
			B SET b 1
			A<
			A CLIENT TRACKING OFF
			A CLIENT TRACKING ON BCAST PREFIX x
			B SET c 1
			A CLIENT TRACKING OFF
			A CLIENT TRACKING ON
			B SET c 1
			A PING
			A GET c
			A RESET
			A= 3
			A CLIENT TRACKING ON NOLOOP
			B SET c 1
			A<
		`},
		{"one's own messages come first", `
			A= 3
			B CONFIG SET notify-keyspace-events KEA
			A CLIENT TRACKING ON
			A SUBSCRIBE c __keyspace@0__:k
			A<
			A MGET k l
			A SET k 1
			A<
			A<
			A MULTI
			A SET l 1
			A PUBLISH c m
			A EXEC
			A<
			A<
			A GET k
			B SET k 1
			A<
			A<
			A GET k
			A EVAL "redis.call('SET', 'k', 1) redis.call('PUBLISH', 'c', 'm') return 1" 0
			A<
			A<
			A<
			B CONFIG SET notify-keyspace-events ""
		`},
		{"evicted before the command", `
			A= 3
			A CONFIG SET maxmemory-policy allkeys-random
			A CLIENT TRACKING ON
			A SET k 1
			A GET k
			A CONFIG SET maxmemory 1
			A~ GET k
			A CONFIG SET maxmemory 0
			A CONFIG SET maxmemory-policy noeviction
		`},
		{"a key that was read, once", `
			A= 3
			A CLIENT TRACKING ON
			A GET k
			B SET k 1
			A<
			B SET k 2
			A PING
			A GET k
			A GET k
			B GET k
			B SET other 1
			B DEL k
			A<
			A GET k
			B DEL k
			A PING
			B SET k 3
			A<
		`},
		{"version 2 is told nothing", `
			A= 2
			A CLIENT TRACKING ON
			A GET k
			B SET k 1
			A PING
			A CLIENT TRACKINGINFO
		`},
		{"what reads", `
			A= 3
			A CLIENT TRACKING ON
			A MGET a b c
			B MSET c 1 a 1
			A<
			A<
			A EXISTS a
			B DEL a
			A<
			A TTL a
			B SET a 1
			A<
			A SINTER s t
			B SADD t x
			A<
			A TYPE h
			B HSET h f v
			A<
			A ZUNION 2 z y
			B ZADD y 1 m
			A<
			A XREAD STREAMS x y 0 0
			B XADD x 1-1 f v
			A<
			A OBJECT ENCODING b
			B SET b 1
			A<
			A SCAN 0 MATCH nothing
			A INCR n
			B INCR n
			A PING
			A LLEN h
			B HSET h f w
			A<
			A ZUNION 9 z y
			B ZADD z 1 m
			A PING
		`},
		{"what a waiting command reads", `
			A= 3
			A CLIENT TRACKING ON
			A* XREAD BLOCK 0 STREAMS x y $ $
			B XADD x 1-1 f v
			A<
			A<
			B XADD y 1-1 f v
			A<
			B XADD x 1-2 f v
			A<
			B XADD x 1-3 f v
			A PING
			A* BLPOP l 0
			B RPUSH l 1 2
			A<
			B RPUSH l 3
			A PING
		`},
		{"a waiting command that is not served", `
			A= 3
			A CLIENT TRACKING ON
			A* XREAD BLOCK 0 STREAMS x 5-5
			B XADD x 1-1 f v
			A<
			B XADD x 1-2 f v
			A<
			B SET other 1
			A?
			B XADD x 6-1 f v
			A<
			A<
			B DEL x
			A<
			A PING
		`},
		{"what a waiting command reads at its option", `
			A= 3
			A CLIENT TRACKING ON OPTIN
			A* XREAD BLOCK 0 STREAMS x $
			B XADD x 1-1 f v
			A<
			B XADD x 1-2 f v
			A CLIENT CACHING YES
			A* XREAD BLOCK 0 STREAMS x $
			B XADD x 1-3 f v
			A<
			A<
			B XADD x 1-4 f v
			A<
			A GET other
			B SET other 1
			A PING
			A CLIENT TRACKING OFF
			A CLIENT TRACKING ON OPTOUT
			A CLIENT CACHING NO
			A* XREAD BLOCK 0 STREAMS x $
			B XADD x 1-5 f v
			A<
			B XADD x 1-6 f v
			A GET other
			B SET other 2
			A<
		`},
		{"what changes", `
			A= 3
			A CLIENT TRACKING ON
			B SET k 1
			A GET k
			B EXPIRE k 100
			A<
			A GET k
			B PERSIST k
			A<
			A GET k
			B RENAME k l
			A<
			A GET k
			A GET l
			B COPY l k
			A<
			B MOVE l 1
			A<
			A GET k
			B TOUCH k
			B SETNX k 2
			B GETEX k
			B GETEX k PX 100000
			A<
			A SMEMBERS s
			B SREM s x
			B SADD s x
			A<
			A SMEMBERS s
			B SADD s x
			B SPOP s
			A<
		`},
		{"a key of another database", `
			A= 3
			A CLIENT TRACKING ON
			A GET k
			B SELECT 1
			B SET k 1
			A<
		`},
		{"one's own changes come after the reply", `
			A= 3
			A CLIENT TRACKING ON
			A GET k
			A SET k 1
			A<
			A MGET k l
			A MSET l 1 k 1
			A<
			A<
			A PING
		`},
		{"no loop", `
			A= 3
			A CLIENT TRACKING ON NOLOOP
			A GET k
			A SET k 1
			A PING
			B SET k 2
			A PING
			A GET k
			B SET k 3
			A<
		`},
		{"in a transaction", `
			A= 3
			A CLIENT TRACKING ON
			A MULTI
			A GET k
			A SET k 1
			A GET k
			A MGET k l
			A EXEC
			A<
			B MULTI
			B SET k 2
			B SET l 2
			B SET k 3
			A?
			B EXEC
			A<
			A<
			A PING
			A WATCH w
			B SET w 1
			A PING
			A MULTI
			A EXEC
		`},
		{"expiry", `
			A= 3
			A CLIENT TRACKING ON
			B SET k 1 PX 400
			A GET k
			sleep 600
			B GET k
			A<
			B SET k 1 PX 400
			A GET k
			A CLIENT TRACKING ON NOLOOP
			sleep 600
			B GET k
			A<
		`},
		{"flushing", `
			A= 3
			A CLIENT TRACKING ON
			C= 3
			C CLIENT TRACKING ON BCAST PREFIX nothing NOLOOP
			A GET k
			B SET k 1
			A<
			A GET k
			B FLUSHALL
			A<
			C<
			B SET k 1
			A PING
			A GET k
			B SELECT 1
			B FLUSHDB
			A<
			C<
			B SET k 1
			A PING
			A~ FLUSHALL
			C<
			A~ FLUSHDB SYNC
			C<
			A~ FLUSHALL ASYNC
			C<
			A~ EVAL "return redis.call('FLUSHALL')" 0
			C<
			A+ EVAL "redis.call('FLUSHDB') return redis.call('FLUSHALL')" 0
			A<
			A<
			A<
			C<
			C<
			A FLUSHALL x
			A MULTI
			A FLUSHALL
			A SET k 2
			A FLUSHDB
			A EXEC
			A<
			A<
			C<
			C<
			A PING
		`},
		{"several who track", `
			A= 3
			B= 3
			A CLIENT TRACKING ON
			B CLIENT TRACKING ON NOLOOP
			A GET k
			B GET k
			C GET k
			B SET k 1
			A<
			B PING
			B GET k
			A GET k
			A CLIENT TRACKING OFF
			C SET k 2
			B<
			A PING
		`},
		{"who is gone", `
			A= 3
			B= 3
			A CLIENT TRACKING ON
			B CLIENT TRACKING ON
			A GET k
			B GET k
			A-
			sleep 20
			C SET k 1
			B<
		`},
		{"one who waits", `
			A= 3
			A CLIENT TRACKING ON
			A LRANGE l 0 -1
			A* BLPOP l 0
			B RPUSH l x y
			A<
			A<
			A LRANGE l 0 -1
			B LPOP l
			A<
			A GET k
			A* XREAD BLOCK 0 STREAMS x $
			B SET k 1
			A<
			B XADD x 1-1 f v
			A<
			A<
		`},
		{"what is taken for one who waits is its own doing", `
			A= 3
			C= 3
			A CLIENT TRACKING ON NOLOOP
			C CLIENT TRACKING ON NOLOOP
			A LRANGE m 0 -1
			C LRANGE m 0 -1
			A* BLMOVE l m LEFT LEFT 0
			C RPUSH l x
			A<
			C<
			A PING
			C PING
		`},
		{"replies that are switched off", `
			A= 3
			A CLIENT TRACKING ON
			A GET k
			A+ CLIENT REPLY OFF
			B SET k 1
			A<
			A+ GET k
			A+ SET k 2
			A<
			A CLIENT REPLY ON
		`},
		{"a client that goes back to version 2", `
			A= 3
			A CLIENT TRACKING ON
			A GET k
			A CLIENT TRACKING ON
			B SET k 1
			A<
			A= 2
			A GET k
			B SET k 1
			A PING
		`},
	}
}
