package conversations

import (
	"testing"
)

// semScripts are the edges of SEM.ACQUIRE, SEM.RELEASE, SEM.RENEW, SEM.RESIZE and SEM.INFO, on a clock that
// stands still.
var semScripts = []script{
	{"permits are acquired, and none above the limit", `
		A SEM.ACQUIRE s a LIMIT 2 PX 1000 -> token=1
		B SEM.ACQUIRE s b PX 1000 -> token=2
		C SEM.ACQUIRE s c PX 1000 -> $nil
		A SEM.RELEASE s a -> 0
		C SEM.ACQUIRE s c PX 1000 -> token=3
		A SEM.RELEASE s a -> $nil
		B SEM.RELEASE s b -> 0
		C SEM.RELEASE s c -> 0
		C EXISTS s -> 0`},
	{"the key is the hash of a shared lock", `
		A SEM.ACQUIRE s a LIMIT 5 PERMITS 2 PX 1000 -> token=1
		A TYPE s -> +hash
		A HLEN s -> 3
		A HGET s $mode -> "sem"
		A HGET s $limit -> "5"
		A HGET s a -> share:1:2:0
		A PTTL s -> 1000
		A HPTTL s FIELDS 3 a $mode $limit -> [1000 -1 -1]
		B SEM.ACQUIRE s b -> token=2
		B HGET s b -> share:2:1:0:w
		B PTTL s -> 30000
		A HPTTL s FIELDS 2 a b -> [1000 30000]`},
	{"an owner gets more by acquiring again, with the same token", `
		A SEM.ACQUIRE s a LIMIT 5 PERMITS 2 PX 1000 -> token=1
		+500ms
		A SEM.ACQUIRE s a PERMITS 2 PX 1000 -> token=1
		A HGET s a -> share:1:4:0
		A HPTTL s FIELDS 1 a -> [1000]
		A SEM.ACQUIRE s a PERMITS 2 PX 1000 -> $nil
		A SEM.RELEASE s a PERMITS 1 -> 3
		A SEM.RELEASE s a PERMITS 4 -> $nil
		A SEM.RELEASE s a PERMITS 2 TOKEN 5 -> $nil
		A SEM.RELEASE s a PERMITS 2 TOKEN token:1 -> 1
		A SEM.RELEASE s a TOKEN token:1 -> 0`},
	{"with ONCE an owner has at least so many, and is not counted twice", `
		A SEM.ACQUIRE s a LIMIT 5 PERMITS 2 ONCE PX 1000 -> token=1
		A SEM.ACQUIRE s a PERMITS 2 ONCE PX 2000 -> token=1
		A HGET s a -> share:1:2:0
		A PTTL s -> 2000
		A SEM.ACQUIRE s a PERMITS 1 ONCE PX 2000 -> token=1
		A HGET s a -> share:1:2:0
		A SEM.ACQUIRE s a PERMITS 4 ONCE PX 2000 -> token=1
		A HGET s a -> share:1:4:0
		B SEM.ACQUIRE s b PERMITS 2 PX 1000 -> $nil
		B SEM.ACQUIRE s b PX 1000 -> token>1
		A SEM.ACQUIRE s a PERMITS 5 ONCE PX 2000 -> $nil
		A SEM.ACQUIRE s a PERMITS 4 ONCE -> token=1
		A HGET s a -> share:1:4:0:w`},
	{"the limit", `
		A SEM.ACQUIRE s a -> -ERR no such semaphore 's', the SEM.ACQUIRE that makes it needs a LIMIT
		A SEM.ACQUIRE s a LIMIT 5 PX 1000 -> token
		A SEM.ACQUIRE s b LIMIT 8 PX 1000 -> -LIMITMISMATCH semaphore 's' has limit 5, not 8
		A SEM.ACQUIRE s b LIMIT 5 PX 1000 -> token
		A SEM.ACQUIRE s b PERMITS 6 PX 1000 -> -ERR semaphore 's' has limit 5, which is less than the 6 PERMITS asked for
		A SEM.ACQUIRE s b LIMIT 5 PERMITS 6 PX 1000 -> -ERR semaphore 's' has limit 5, which is less than the 6 PERMITS asked for
		A SEM.ACQUIRE t b LIMIT 5 PERMITS 6 PX 1000 -> -ERR semaphore 't' has limit 5, which is less than the 6 PERMITS asked for
		A HLEN s -> 4
		A EXISTS t -> 0
		A SEM.RELEASE s a -> 0
		A SEM.RELEASE s b -> 0
		A SEM.ACQUIRE s a LIMIT 8 PX 1000 -> token`},
	{"SEM.RESIZE takes nothing from holders", `
		A SEM.RESIZE s 3 -> 0
		A SEM.ACQUIRE s a LIMIT 5 PERMITS 4 PX 1000 -> token=1
		A SEM.RESIZE s 2 -> 1
		A HGET s a -> share:1:4:0
		B SEM.ACQUIRE s b PX 1000 -> $nil
		A SEM.RELEASE s a PERMITS 2 -> 2
		B SEM.ACQUIRE s b PX 1000 -> $nil
		A SEM.RELEASE s a PERMITS 1 -> 1
		B SEM.ACQUIRE s b PX 1000 LIMIT 5 -> -LIMITMISMATCH semaphore 's' has limit 2, not 5
		B SEM.ACQUIRE s b PX 1000 LIMIT 2 -> token
		C SEM.ACQUIRE s c PERMITS 2 WAIT 0 -> waits
		A SEM.RESIZE s 4 -> 1
		C <- token
		A SEM.RESIZE s 0 -> -ERR LIMIT must be between 1 and 1000000000
		A SEM.RESIZE s x -> -ERR value is not an integer or out of range
		A SEM.RESIZE s 1 2 -> -ERR wrong number of arguments for 'sem.resize' command`},
	{"a waiter for more than the new limit hears of it when its turn comes", `
		A SEM.ACQUIRE s a LIMIT 5 PERMITS 5 PX 10000 -> token
		B SEM.ACQUIRE s b PERMITS 1 WAIT 0 -> waits
		C SEM.ACQUIRE s c PERMITS 4 WAIT 0 -> waits
		D SEM.ACQUIRE s d PERMITS 2 WAIT 0 -> waits
		A SEM.RESIZE s 3 -> 1
		parked 3
		A SEM.RELEASE s a PERMITS 3 -> 2
		B <- token
		C <- -ERR semaphore 's' has limit 3, which is less than the 4 PERMITS asked for
		parked 1
		A SEM.RELEASE s a -> 0
		D <- token`},
	{"the limit outlives the last holder while others wait", `
		A SEM.ACQUIRE s a LIMIT 5 PERMITS 5 PX 1000 -> token
		B SEM.ACQUIRE s b PERMITS 3 LIMIT 5 PX 1000 WAIT 0 -> waits
		A SEM.RESIZE s 4 -> 1
		A SEM.RELEASE s a -> 0
		B <- token
		B HGET s $limit -> "4"
		C SEM.ACQUIRE s c PERMITS 2 PX 1000 WAIT 0 -> waits
		+1000ms
		C <- token
		C HGET s $limit -> "4"
		+1000ms
		C EXISTS s -> 0`},
	{"one strict queue: a small request does not overtake a large one", `
		A SEM.ACQUIRE s a LIMIT 3 PERMITS 2 PX 10000 -> token
		B SEM.ACQUIRE s b PERMITS 3 WAIT 0 -> waits
		C SEM.ACQUIRE s c -> $nil
		C SEM.ACQUIRE s c WAIT 0 -> waits
		D SEM.ACQUIRE s d WAIT 500 -> waits
		+500ms
		D <- $nil
		A SEM.RELEASE s a -> 0
		B <- token
		parked 1
		B SEM.RELEASE s b PERMITS 1 -> 2
		C <- token`},
	{"several small ones go in together behind a large one", `
		A SEM.ACQUIRE s a LIMIT 3 PERMITS 3 PX 10000 -> token
		B SEM.ACQUIRE s b WAIT 0 -> waits
		C SEM.ACQUIRE s c PERMITS 2 WAIT 0 -> waits
		D SEM.ACQUIRE s d WAIT 0 -> waits
		A SEM.RELEASE s a -> 0
		B <- token
		C <- token
		parked 1
		close C
		parked 1
		+30s
		D <- token`},
	{"each holder has its lease, to the millisecond", `
		A SEM.ACQUIRE s a LIMIT 2 PX 1000 -> token
		B SEM.ACQUIRE s b PX 2000 -> token
		C SEM.ACQUIRE s c PX 1000 WAIT 0 -> waits
		+999ms
		parked 1
		+1ms
		C <- token
		D SEM.ACQUIRE s d PX 1000 WAIT 0 -> waits
		+999ms
		parked 1
		+1ms
		D <- token
		+999ms
		A EXISTS s -> 1
		+1ms
		A EXISTS s -> 0`},
	{"the server renews the lease while the connection lives", `
		A SEM.ACQUIRE s a LIMIT 1 -> token
		+3600s
		B SEM.ACQUIRE s b -> $nil
		B SEM.ACQUIRE s b WAIT 0 -> waits
		close A
		+29999ms
		parked 1
		+1ms
		B <- token`},
	{"SEM.RENEW", `
		A SEM.ACQUIRE s a LIMIT 2 PX 1000 -> token=1
		A SEM.RENEW s a PX 5000 -> 1
		A HPTTL s FIELDS 1 a -> [5000]
		A PTTL s -> 5000
		A SEM.RENEW s a EX 2 TOKEN token:1 -> 1
		A PTTL s -> 2000
		A SEM.RENEW s a TOKEN 1 -> 0
		A SEM.RENEW s b -> 0
		A SEM.RENEW x b -> 0
		A SEM.RENEW s a -> 1
		A PTTL s -> 30000
		A SEM.RENEW s a PX 0 -> -ERR invalid expire time in 'sem.renew' command
		A SEM.RENEW s a TOKEN token:1 TOKEN token:1 -> -ERR syntax error
		+30s
		A EXISTS s -> 0
		A SEM.RENEW s a -> 0
		A SEM.ACQUIRE s a LIMIT 2 -> token
		A SEM.RENEW s a PX 15000 -> 1
		+15s
		A EXISTS s -> 0`},
	{"the key's deadline is the last lease", `
		A SEM.ACQUIRE s a LIMIT 3 PX 5000 -> token
		B SEM.ACQUIRE s b PX 3000 -> token
		C SEM.ACQUIRE s c PX 1000 -> token
		A PTTL s -> 5000
		A SEM.RELEASE s a -> 0
		A PTTL s -> 3000
		B SEM.RENEW s b PX 500 -> 1
		A PTTL s -> 1000
		C SEM.RELEASE s c -> 0
		A PTTL s -> 500`},
	{"SEM.INFO", `
		A SEM.INFO s -> $nil
		A SEM.ACQUIRE s a LIMIT 5 PERMITS 2 PX 1000 -> token=1
		B SEM.ACQUIRE s b PERMITS 4 PX 1000 WAIT 5000 -> waits
		A SEM.INFO s -> ["limit" 5 "available" 3 "used" 2 "holders" [["owner" "a" "permits" 2 "token" token:1 "ttl" 1000 "watchdog" 0 "client" $nil "attached" []]] "waiters" [["owner" "b" "permits" 4 "client" ["id" 2 "address" "addr" "name" ""] "since" 1750000000000 "deadline" 1750000005000]]]
		A SEM.INFO s COUNT 0 -> -ERR value is out of range, must be positive
		A SEM.RESIZE s 4 -> 1
		C SEM.ACQUIRE s c WAIT 0 -> waits
		A SEM.INFO s COUNT 1 -> ["limit" 4 "available" 2 "used" 2 "holding" 1 "holders" [["owner" "a" "permits" 2 "token" token:1 "ttl" 1000 "watchdog" 0 "client" $nil "attached" []]] "waiting" 2 "waiters" [["owner" "b" "permits" 4 "client" ["id" 2 "address" "addr" "name" ""] "since" 1750000000000 "deadline" 1750000005000]]]
		A SEM.RESIZE s 1 -> 1
		A LOCK x y PX 1000 -> token
		A SEM.INFO x -> -WRONGTYPE Operation against a key holding the wrong kind of value`},
	{"in MULTI and in Lua nothing waits, and grants come after the unit", `
		A SEM.ACQUIRE s a LIMIT 2 PERMITS 2 PX 1000 -> token
		B SEM.ACQUIRE s b PERMITS 2 PX 1000 WAIT 0 -> waits
		A MULTI -> +OK
		A SEM.RELEASE s a -> +QUEUED
		A SEM.ACQUIRE s a LIMIT 2 WAIT 0 -> +QUEUED
		A SEM.ACQUIRE s c LIMIT 2 -> +QUEUED
		A EXEC -> [0 $nil $nil]
		B <- token
		A EVAL return(redis.call('SEM.ACQUIRE','s','a','WAIT','0')) 0 -> $nil
		A EVAL return(redis.call('SEM.RELEASE','s','b')) 0 -> 0
		A EVAL return(redis.call('SEM.ACQUIRE','s','a','LIMIT','1','PX','100')) 0 -> token`},
	{"permits come back with whatever removes them", `
		A SEM.ACQUIRE s a LIMIT 2 PX 10000 -> token
		A SEM.ACQUIRE s z PX 10000 -> token
		B SEM.ACQUIRE s b PX 10000 WAIT 0 -> waits
		A HDEL s a -> 1
		B <- token
		C SEM.ACQUIRE s c PERMITS 2 PX 10000 WAIT 0 -> waits
		A DEL s -> 1
		C <- token
		D SEM.ACQUIRE s d PX 10000 WAIT 0 -> waits
		A FLUSHALL -> +OK
		D <- token
		C SEM.ACQUIRE s c PX 10000 PERMITS 2 WAIT 0 -> waits
		A RENAME s t -> +OK
		C <- token
		C SEM.RELEASE t d -> 0`},
	{"the key is overwritten under waiters", `
		A SEM.ACQUIRE s a LIMIT 1 PX 10000 -> token
		B SEM.ACQUIRE s b WAIT 0 -> waits
		A SET s x -> +OK
		B <- -WRONGTYPE Operation against a key holding the wrong kind of value`},
	{"CLIENT UNBLOCK", `
		A SEM.ACQUIRE s a LIMIT 1 PX 10000 -> token
		B SEM.ACQUIRE s b WAIT 0 -> waits
		A CLIENT UNBLOCK 2 -> 1
		B <- $nil
		B SEM.ACQUIRE s b WAIT 0 -> waits
		A CLIENT UNBLOCK 2 ERROR -> 1
		B <- -UNBLOCKED client unblocked via CLIENT UNBLOCK`},
	{"deadlocks: only if the permits that can come back are too few", `
		A SEM.ACQUIRE s a LIMIT 2 PX 100000 -> token
		B SEM.ACQUIRE s b PX 100000 -> token
		C LOCK k c PX 100000 -> token
		A LOCK k a WAIT 0 -> waits
		C SEM.ACQUIRE s c WAIT 200 -> waits
		+200ms
		C <- $nil
		C SEM.ACQUIRE s c PERMITS 2 WAIT 0 -> -DEADLOCK c -> s -> a -> k -> c
		B LOCK k b WAIT 0 -> waits
		C SEM.ACQUIRE s c WAIT 0 -> -DEADLOCK c -> s -> a -> k -> c
		C UNLOCK k c -> 1
		A <- token`},
	{"an owner cannot wait for permits that only it could release", `
		A SEM.ACQUIRE s a LIMIT 3 PERMITS 2 PX 100000 -> token
		A SEM.ACQUIRE s a PERMITS 2 WAIT 0 -> -DEADLOCK a -> s -> a
		B SEM.ACQUIRE s b PERMITS 2 PX 100000 WAIT 0 -> waits
		A SEM.ACQUIRE s a PERMITS 3 ONCE WAIT 0 -> -DEADLOCK a -> s -> a
		A SEM.ACQUIRE s a PERMITS 2 ONCE WAIT 0 PX 100000 -> token
		A SEM.RELEASE s a -> 0
		B <- token`},
	{"a wait that is sent again is granted with the first", `
		A SEM.ACQUIRE s a LIMIT 2 PERMITS 2 PX 100000 -> token
		B SEM.ACQUIRE s b PERMITS 2 WAIT 0 ONCE -> waits
		C SEM.ACQUIRE s c WAIT 0 -> waits
		D SEM.ACQUIRE s b PERMITS 2 WAIT 0 ONCE -> waits
		A SEM.RELEASE s a -> 0
		B <- token=b
		D <- token=b
		D SEM.RELEASE s b PERMITS 1 -> 1
		C <- token>b`},
	{"WATCH: acquire, release, renew, resize and expiry abort; joining the queue does not", `
		A SEM.ACQUIRE s a LIMIT 1 PX 1000 -> token
		B WATCH s -> +OK
		C SEM.ACQUIRE s c WAIT 100 -> waits
		B MULTI -> +OK
		B PING -> +QUEUED
		B EXEC -> [+PONG]
		B WATCH s -> +OK
		A SEM.RESIZE s 2 -> 1
		C <- token
		B MULTI -> +OK
		B EXEC -> *nil
		B WATCH s -> +OK
		A SEM.RENEW s a PX 2000 -> 1
		B MULTI -> +OK
		B EXEC -> *nil
		B WATCH s -> +OK
		+2000ms
		B MULTI -> +OK
		B EXEC -> *nil`},
	{"GUARD runs anything with the token of a holder", `
		A SEM.ACQUIRE s a LIMIT 2 PX 1000 -> token=1
		A SEM.ACQUIRE s b PX 2000 -> token=2
		A GUARD s token:1 SET x 1 -> +OK
		A GUARD s token:2 SET x 2 -> +OK
		A GUARD s 5 SET x 3 -> -STALETOKEN the lock is not held with this token
		+1000ms
		A GUARD s token:1 SET x 3 -> -STALETOKEN the lock is not held with this token
		A GET x -> "2"`},
	{"LOCK.FORCE of all holders, and of one", `
		A SEM.ACQUIRE s a LIMIT 3 PX 1000 PERMITS 2 -> token
		A SEM.ACQUIRE s b PX 2000 -> token
		C SEM.ACQUIRE s c PERMITS 2 PX 1000 WAIT 0 -> waits
		A LOCK.FORCE s OWNER x -> 0
		A LOCK.FORCE s OWNER a -> 1
		C <- token
		A LOCK.FORCE s OWNER a -> 0
		A LOCK.FORCE s -> 1
		A EXISTS s -> 0
		A LOCK.FORCE s -> 0
		A LOCK.FORCE s OWNER -> -ERR syntax error
		A LOCK.FORCE s OWNER a OWNER a -> -ERR syntax error
		A LOCK k a PX 1000 -> token
		A LOCK.FORCE k OWNER b -> 0
		A LOCK.FORCE k OWNER a -> 1
		A LOCK k a SHARED PX 1000 -> token
		A LOCK k b SHARED PX 1000 -> token
		B LOCK k x WAIT 0 -> waits
		A LOCK.FORCE k OWNER a -> 1
		A LOCK.FORCE k OWNER a -> 0
		A LOCK.FORCE k OWNER b -> 1
		B <- token`},
	{"LOCK.LIST, LOCK.INFO and LOCK.WAITERS know semaphores", `
		A SEM.ACQUIRE s a LIMIT 3 PERMITS 2 PX 1000 -> token=1
		A LOCK.LIST -> [["key" "s" "owner" "a" "holds" 2 "token" token:1 "ttl" 1000 "mode" "semaphore"]]
		A LOCK.LIST OWNER a -> [["key" "s" "owner" "a" "holds" 2 "token" token:1 "ttl" 1000 "mode" "semaphore"]]
		A LOCK.LIST OWNER b -> []
		A LOCK.LIST OWNER $limit -> []
		B SEM.ACQUIRE s b PERMITS 2 WAIT 0 -> waits
		A LOCK.WAITERS -> [["owner" "b" "permits" 2 "client" ["id" 2 "address" "addr" "name" ""] "waiting-since" 1750000000000 "deadline" $nil "locks" [["s" "a"]]]]
		A LOCK.INFO s -> ["mode" "semaphore" "ttl" 1000 "limit" 3 "available" 1 "holders" [["owner" "a" "mode" "semaphore" "holds" 2 "token" token:1 "ttl" 1000 "watchdog" 0 "client" $nil "held-since" 1750000000000 "attached" []]] "waiters" [["owner" "b" "permits" 2 "client" ["id" 2 "address" "addr" "name" ""] "waiting-since" 1750000000000 "deadline" $nil]]]`},
	{"COPY, RENAME, DUMP and RESTORE keep holders and leases", `
		A SEM.ACQUIRE s a LIMIT 2 PX 1000 -> token=1
		A SEM.ACQUIRE s b PX 2000 -> token=2
		A COPY s t -> 1
		A SEM.ACQUIRE t c -> $nil
		A SEM.RELEASE t a TOKEN token:1 -> 0
		A SEM.ACQUIRE t c PX 5000 -> token>2
		A RENAME t u -> +OK
		A SEM.RELEASE u b -> 0
		+1000ms
		A SEM.RELEASE s a -> $nil
		A SEM.RELEASE s b -> 0
		A SEM.RELEASE u c -> 0`},
	{"losses", `
		A HELLO 3 -> ~
		A LOCK.ATTACH a -> 0
		A SEM.ACQUIRE s a LIMIT 3 PX 1000 -> token=1
		B SEM.ACQUIRE s b PX 5000 -> token
		+1000ms
		A <- >["lock-lost" "s" token:1 "expired"]
		A SEM.ACQUIRE s a PX 1000 -> token=2
		B LOCK.FORCE s OWNER a -> 1
		A <- >["lock-lost" "s" token:2 "forced"]
		A SEM.ACQUIRE s a PX 1000 -> token=3
		A SEM.RELEASE s a -> 0
		A SEM.ACQUIRE s a PX 1000 -> token=4
		B DEL s -> 1
		A <- >["lock-lost" "s" token:4 "deleted"]`},
	{"an attached connection keeps permits alive", `
		A LOCK.ATTACH a -> 0
		B SEM.ACQUIRE s a LIMIT 1 -> token
		close B
		+3600s
		C SEM.ACQUIRE s c -> $nil
		close A
		+30s
		C SEM.ACQUIRE s c LIMIT 1 -> token`},
}

func TestSemScripts(t *testing.T) { play(t, nil, "", semScripts) }
