package conversations

import (
	"testing"
)

const staleToken = "-STALETOKEN the lock is not held with this token"

// nativeEdges are the edges of what LOCK, UNLOCK and RENEW are not enough for: MLOCK, MUNLOCK, GUARD,
// LOCK.INFO, LOCK.LIST, LOCK.FORCE.
var nativeEdges = []script{
	{"MLOCK: numkeys that are none", `
		A MLOCK 0 k a -> -ERR numkeys should be greater than 0
		A MLOCK -1 k a -> -ERR numkeys should be greater than 0
		A MLOCK k l a -> -ERR numkeys should be greater than 0
		A MLOCK 9223372036854775807 k a -> -ERR Number of keys can't be greater than number of args
		A MLOCK 2 k a -> -ERR Number of keys can't be greater than number of args
		A MUNLOCK 0 k a -> -ERR numkeys should be greater than 0
		A MUNLOCK 2 k a -> -ERR Number of keys can't be greater than number of args
		A MUNLOCK 1 k a TOKEN 1 -> -ERR syntax error
		A MLOCK 1 k a WAIT -> -ERR syntax error
		A MLOCK 1 k a PX 1 EX 1 -> -ERR syntax error
		A MLOCK 1 k -> -ERR wrong number of arguments for 'mlock' command
		A EXISTS k l a -> 0`},
	{"MLOCK: a key with a lease that is over, not noticed yet", `
		A LOCK l a PX 1000 -> token
		!1000ms
		B MLOCK 2 k l b PX 500 -> [1750000001000000 1750000001000001]
		A UNLOCK l a -> $nil
		B PTTL l -> 500`},
	{"MLOCK: such a key is kept for who waits for it", `
		A LOCK l a PX 1000 -> token
		C LOCK l c WAIT 0 -> waits
		!1000ms
		B MLOCK 2 k l b -> *nil
		A EXISTS k -> 0
		+0ms
		C <- token`},
	{"MLOCK: lost under one of its keys while it waits, and still all or nothing", `
		A MLOCK 2 k l a PX 1000 -> [1750000000000000 1750000000000001]
		B MLOCK 2 l k b WAIT 0 -> waits
		A UNLOCK k a -> 1
		C LOCK k c -> $nil
		parked 1
		A HLEN l -> 2
		+1000ms
		B <- [1750000001000000 1750000001000001]`},
	{"MLOCK in one with its own keys", `
		A MLOCK 3 k l k a PX 1000 -> [1750000000000000 1750000000000001 1750000000000000]
		A MUNLOCK 2 k l a -> [0 1]
		A MUNLOCK 3 k l x a -> [1 $nil $nil]
		A DBSIZE -> 0`},
	{"GUARD: a lease that is over, not noticed yet", `
		A LOCK k a PX 1000 -> 1750000000000000
		!1000ms
		A GUARD k 1750000000000000 SET x 1 -> ` + staleToken + `
		A EXISTS x -> 0`},
	{"GUARD: a lock that is free, of another type, or has no token", `
		A GUARD k 1 SET x 1 -> ` + staleToken + `
		A SET s v -> +OK
		A GUARD s 1 SET x 1 -> ` + wrongType + `
		A HSET r u:1 1 -> 1
		A GUARD r 1 SET x 1 -> ` + staleToken + `
		A HSET w mode read u:1 1 -> 2
		A GUARD w 1 SET x 1 -> ` + staleToken + `
		A EXISTS x -> 0`},
	{"GUARD: the token of another lock, of an earlier holder, of one to come", `
		A LOCK k a -> 1750000000000000
		A LOCK l a -> 1750000000000001
		A GUARD k 1750000000000001 SET x 1 -> ` + staleToken + `
		A UNLOCK k a -> 1
		A LOCK k a -> 1750000000000002
		A GUARD k 1750000000000000 SET x 1 -> ` + staleToken + `
		A GUARD k 1750000000000003 SET x 1 -> ` + staleToken + `
		A GUARD k 01750000000000002 SET x 1 -> -ERR value is not an integer or out of range
		A GUARD k -1 SET x 1 -> -ERR value is not an integer or out of range
		A GUARD k 1750000000000002 SET x 1 -> +OK`},
	{"GUARD: a command of the connection, or one that would wait", `
		A LOCK k a -> 1750000000000000
		A GUARD k 1750000000000000 DISCARD -> -ERR GUARD cannot run 'discard': only commands on data can be guarded
		A GUARD k 1750000000000000 AUTH x -> -ERR GUARD cannot run 'auth': only commands on data can be guarded
		A GUARD k 1750000000000000 CLIENT KILL ID 1 -> -ERR GUARD cannot run 'client|kill': only commands on data can be guarded
		A GUARD k 1750000000000000 PSUBSCRIBE x -> -ERR GUARD cannot run 'psubscribe': only commands on data can be guarded
		B LOCK j b -> token
		A GUARD k 1750000000000000 LOCK j a WAIT 0 -> $nil
		A GUARD k 1750000000000000 XREAD BLOCK 0 STREAMS s $ -> *nil
		parked 0
		A GUARD k 1750000000000000 LOCK k a PX 100 -> 1750000000000000
		A PTTL k -> 100`},
	{"GUARD: a stale one in a transaction does not stop the others", `
		A LOCK k a -> 1750000000000000
		A MULTI -> +OK
		A GUARD k 1750000000000000 UNLOCK k a -> +QUEUED
		A GUARD k 1750000000000000 SET x 1 -> +QUEUED
		A SET y 1 -> +QUEUED
		A EXEC -> [1 ` + staleToken + ` +OK]
		A EXISTS x y -> 1`},
	{"GUARD changes what it runs on, and not the lock", `
		C WATCH k -> +OK
		D WATCH x -> +OK
		C MULTI -> +OK
		D MULTI -> +OK
		C EXEC -> []
		D EXEC -> []
		A LOCK k a PX 1000 -> 1750000000000000
		C WATCH k -> +OK
		D WATCH x -> +OK
		+300ms
		A GUARD k 1750000000000000 SET x 1 -> +OK
		A PTTL k -> 700
		C MULTI -> +OK
		D MULTI -> +OK
		C EXEC -> []
		D EXEC -> *nil`},
	{"GUARD wakes who waits", `
		A LOCK k a -> 1750000000000000
		B LOCK k b WAIT 0 -> waits
		C XREAD BLOCK 0 STREAMS s $ -> waits
		A GUARD k 1750000000000000 XADD s 1-1 f v -> "1-1"
		C <- [["s" [["1-1" ["f" "v"]]]]]
		A GUARD k 1750000000000000 UNLOCK k a -> 1
		B <- token`},
	{"LOCK.FORCE: of nothing, of a lock held more than once, under waiters", `
		A LOCK.FORCE k -> 0
		A LOCK k a -> token=1
		A LOCK k a -> token=1
		B LOCK k b WAIT 0 -> waits
		C LOCK.FORCE k -> 1
		B <- token>1
		A UNLOCK k a -> $nil
		+60s
		A HEXISTS k b -> 1
		!0ms
		C LOCK.FORCE k -> 1
		C LOCK.FORCE k -> 0
		C EXISTS k -> 0`},
	{"LOCK.FORCE: a lease that is over, not noticed yet", `
		A LOCK k a PX 10 -> token
		!10ms
		C LOCK.FORCE k -> 0`},
	{"LOCK.FORCE: one that Redisson took", `
		A HSET k u:1 3 -> 1
		B LOCK k b WAIT 0 -> waits
		C LOCK.FORCE k -> 1
		B <- token`},
	{"LOCK.INFO: free, overdue, without end, and Redisson's", `
		A LOCK.INFO k -> $nil
		A LOCK k a PX 10 -> token
		!10ms
		A LOCK.INFO k -> $nil
		A HSET k u:1 2 -> 1
		A LOCK.INFO k -> ["owner" "u:1" "holds" 2 "token" $nil "ttl" -1 "watchdog" 0 "client" $nil "held-since" $nil "attached" [] "waiters" []]
		A PEXPIRE k 800 -> 1
		A LOCK.INFO k -> ["owner" "u:1" "holds" 2 "token" $nil "ttl" 800 "watchdog" 0 "client" $nil "held-since" $nil "attached" [] "waiters" []]
		A HSET k mode read -> 1
		A LOCK.INFO k -> ["mode" "shared" "ttl" 800 "holders" [["owner" "u:1" "mode" "shared" "holds" 2 "token" $nil "ttl" 800 "watchdog" 0 "client" $nil "held-since" $nil "attached" []]] "waiters" []]
		A HSET k mode dark -> 0
		A LOCK.INFO k -> ` + wrongType + `
		A SET s v -> +OK
		A LOCK.INFO s -> ` + wrongType},
	{"LOCK.LIST: filters", `
		A LOCK.LIST -> []
		A MLOCK 2 a:1 a:2 x PX 1000 -> [1750000000000000 1750000000000001]
		A LOCK b:1 x PX 2000 -> 1750000000000002
		A LOCK b:2 y PX 3000 -> 1750000000000003
		A LOCK.LIST MATCH b:* OWNER x -> [["key" "b:1" "owner" "x" "holds" 1 "token" 1750000000000002 "ttl" 2000]]
		A LOCK.LIST OWNER y -> [["key" "b:2" "owner" "y" "holds" 1 "token" 1750000000000003 "ttl" 3000]]
		A LOCK.LIST OWNER Y -> []
		A LOCK.LIST MATCH c* -> []
		A LOCK.LIST MATCH "" -> []
		A LOCK.LIST COUNT 0 -> -ERR value is out of range, must be positive
		A LOCK.LIST COUNT x -> -ERR value is out of range, must be positive
		A LOCK.LIST LIMIT 1 -> -ERR syntax error
		A LOCK.LIST MATCH -> -ERR syntax error
		!2000ms
		A LOCK.LIST COUNT 9 -> [["key" "b:2" "owner" "y" "holds" 1 "token" 1750000000000003 "ttl" 1000]]
		A SELECT 1 -> +OK
		A LOCK.LIST -> []
		A SWAPDB 0 1 -> +OK
		A LOCK.LIST COUNT 1 -> [["key" "b:2" "owner" "y" "holds" 1 "token" 1750000000000003 "ttl" 1000]]`},
	{"LOCK.LIST: in pieces", `
		A LOCK a x PX 2000 -> 1750000000000000
		A LOCK b y PX 3000 -> 1750000000000001
		A LOCK c x PX 4000 -> 1750000000000002
		A LOCK.LIST CURSOR 0 COUNT 1 -> ["2" [["key" "c" "owner" "x" "holds" 1 "token" 1750000000000002 "ttl" 4000]]]
		A LOCK.LIST CURSOR 2 COUNT 1 OWNER x -> ["1" []]
		A LOCK.LIST COUNT 9 CURSOR 1 -> ["0" [["key" "a" "owner" "x" "holds" 1 "token" 1750000000000000 "ttl" 2000]]]
		A LOCK.LIST CURSOR 18446744073709551615 MATCH b -> ["0" [["key" "b" "owner" "y" "holds" 1 "token" 1750000000000001 "ttl" 3000]]]
		A LOCK.LIST CURSOR x -> -ERR invalid cursor
		A LOCK.LIST CURSOR 0 COUNT 0 -> -ERR value is out of range, must be positive`},
	{"LOCK.LIST: what is no lock any more, and what is not held", `
		A LOCK k a -> 1750000000000000
		A LOCK l a -> 1750000000000001
		A LOCK m a -> 1750000000000002
		A SET k v -> +OK
		A HDEL l a -> 1
		A HSET m b 1 -> 1
		A HSET n $token 5 -> 1
		A LOCK.LIST -> []
		A HDEL m b -> 1
		A RENAME m z -> +OK
		A LOCK.LIST -> [["key" "z" "owner" "a" "holds" 1 "token" 1750000000000002 "ttl" 30000]]
		A UNLOCK z a -> 1
		A LOCK.LIST -> []`},
	{"in RESP3", `
		A HELLO 3 -> {"server":"redis" "version":"7.4.1" "proto":3 "id":1 "mode":"standalone" "role":"master" "modules":[]}
		A MLOCK 2 k l a PX 1000 -> [1750000000000000 1750000000000001]
		A LOCK.LIST MATCH k -> [{"key":"k" "owner":"a" "holds":1 "token":1750000000000000 "ttl":1000}]
		A LOCK.INFO j -> nil
		A MUNLOCK 3 j k l a -> [nil 1 1]
		A HSET k b 1 -> 1
		A MLOCK 2 k l a -> nil
		A LOCK.INFO k -> {"owner":"b" "holds":1 "token":nil "ttl":-1 "watchdog":#f "client":nil "held-since":nil "attached":[] "waiters":[]}`},
}

func TestNativeLockEdges(t *testing.T) { play(t, nil, "", nativeEdges) }
