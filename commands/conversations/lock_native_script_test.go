package conversations

import (
	"testing"
)

// lockNativeScripts are the edges of GUARD and LOCK.LIST, of the messages for Redisson's clients, and of
// what Redisson keeps beside a lock.
var lockNativeScripts = []script{
	{"GUARD", `
		A LOCK k a PX 1000 -> token=a
		A GUARD k token:a SET x 1 -> +OK
		A GUARD k 1 SET x 2 -> -STALETOKEN the lock is not held with this token
		A GUARD k token:a GET x -> "1"
		B GUARD k token:a INCR x -> 2
		+1000ms
		A GUARD k token:a SET x 3 -> -STALETOKEN the lock is not held with this token
		B LOCK k b -> token=b
		A GUARD k token:a SET x 3 -> -STALETOKEN the lock is not held with this token
		B GUARD k token:b SET x 4 -> +OK
		B UNLOCK k b -> 1
		B GUARD k token:b SET x 5 -> -STALETOKEN the lock is not held with this token
		B GET x -> "4"`},
	{"GUARD, and what makes no sense", `
		A LOCK k a -> token=a
		A GUARD k token:a -> -ERR wrong number of arguments for 'guard' command
		A GUARD k x GET y -> -ERR value is not an integer or out of range
		A GUARD k 0 GET y -> -ERR value is not an integer or out of range
		A GUARD k token:a NOSUCH y -> -ERR unknown command 'NOSUCH', with args beginning with: 'y' 
		A GUARD k token:a GET -> -ERR wrong number of arguments for 'get' command
		A GUARD k token:a HGET k -> -ERR wrong number of arguments for 'hget' command
		A GUARD k token:a INCR k -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A SET s v -> +OK
		A GUARD s 1 GET s -> -WRONGTYPE Operation against a key holding the wrong kind of value`},
	{"GUARD is for commands on data", `
		A LOCK k a -> token=a
		A GUARD k token:a MULTI -> -ERR GUARD cannot run 'multi': only commands on data can be guarded
		A GUARD k token:a EXEC -> -ERR GUARD cannot run 'exec': only commands on data can be guarded
		A GUARD k token:a WATCH x -> -ERR GUARD cannot run 'watch': only commands on data can be guarded
		A GUARD k token:a UNWATCH -> -ERR GUARD cannot run 'unwatch': only commands on data can be guarded
		A GUARD k token:a SELECT 1 -> -ERR GUARD cannot run 'select': only commands on data can be guarded
		A GUARD k token:a HELLO 3 -> -ERR GUARD cannot run 'hello': only commands on data can be guarded
		A GUARD k token:a RESET -> -ERR GUARD cannot run 'reset': only commands on data can be guarded
		A GUARD k token:a QUIT -> -ERR GUARD cannot run 'quit': only commands on data can be guarded
		A GUARD k token:a SUBSCRIBE x -> -ERR GUARD cannot run 'subscribe': only commands on data can be guarded
		A GUARD k token:a CLIENT REPLY OFF -> -ERR GUARD cannot run 'client|reply': only commands on data can be guarded
		A GUARD k token:a SHUTDOWN NOSAVE -> -ERR GUARD cannot run 'shutdown': only commands on data can be guarded
		A GUARD k token:a GUARD k token:a GET x -> -ERR GUARD cannot run 'guard': only commands on data can be guarded
		A GUARD k token:a PUBLISH c m -> 0
		A GUARD k token:a FLUSHALL -> +OK
		A EXISTS k -> 0`},
	{"under GUARD nothing waits", `
		A LOCK k a -> token=a
		B LOCK j b -> token
		A GUARD k token:a LOCK j a WAIT 0 -> $nil
		A GUARD k token:a MLOCK 2 i j a WAIT 0 -> *nil
		A GUARD k token:a XREAD BLOCK 0 STREAMS s $ -> *nil
		A GUARD k token:a BLPOP l 0 -> *nil
		A GUARD k token:a UNLOCK k a -> 1
		parked 0`},
	{"GUARD in a transaction", `
		A LOCK k a -> token=a
		A MULTI -> +OK
		A GUARD k token:a SET x 1 -> +QUEUED
		A UNLOCK k a -> +QUEUED
		A GUARD k token:a SET x 2 -> +QUEUED
		A GET x -> +QUEUED
		A EXEC -> [+OK 1 -STALETOKEN the lock is not held with this token "1"]`},
	{"the keys of GUARD", `
		A COMMAND GETKEYS GUARD k 5 MSET a 1 b 2 -> ["k" "a" "b"]
		A COMMAND GETKEYS GUARD k 5 MLOCK 2 a b o -> ["k" "a" "b"]
		A COMMAND GETKEYS GUARD k 5 GUARD j 5 GET x -> -ERR Invalid arguments specified for command
		A COMMAND GETKEYS GUARD k 5 NOSUCH -> -ERR Invalid arguments specified for command
		A COMMAND GETKEYS MLOCK 2 a b o WAIT 5 -> ["a" "b"]
		A COMMAND GETKEYS MUNLOCK 2 a b o -> ["a" "b"]`},
	{"LOCK.LIST", `
		A LOCK.LIST -> []
		A LOCK k a PX 5000 -> token=k
		A LOCK k a PX 5000 -> token=k
		A HSET h f v -> 1
		A HSET r u:1 1 -> 1
		A LOCK.LIST COUNT 5 -> [["key" "k" "owner" "a" "holds" 2 "token" token:k "ttl" 5000]]
		A PERSIST k -> 1
		A LOCK.LIST -> [["key" "k" "owner" "a" "holds" 2 "token" token:k "ttl" -1]]
		A LOCK r u:1 PX 100 -> token=r
		A LOCK.LIST OWNER u:1 -> [["key" "r" "owner" "u:1" "holds" 2 "token" token:r "ttl" 100]]
		A LOCK.LIST OWNER nobody -> []
		A LOCK.LIST MATCH k* OWNER u:1 -> []
		A LOCK.LIST MATCH [kq] COUNT 1 -> [["key" "k" "owner" "a" "holds" 2 "token" token:k "ttl" -1]]
		A LOCK.LIST COUNT 0 -> -ERR value is out of range, must be positive
		A LOCK.LIST COUNT x -> -ERR value is out of range, must be positive
		A LOCK.LIST LIMIT 5 -> -ERR syntax error
		A LOCK.LIST MATCH -> -ERR syntax error
		B SELECT 1 -> +OK
		B LOCK.LIST -> []
		A SWAPDB 0 1 -> +OK
		B LOCK.LIST MATCH k -> [["key" "k" "owner" "a" "holds" 2 "token" token:k "ttl" -1]]
		B RENAME k j -> +OK
		B LOCK.LIST MATCH ? OWNER a -> [["key" "j" "owner" "a" "holds" 2 "token" token:k "ttl" -1]]
		+100ms
		B UNLOCK j a -> 0
		B LOCK.LIST -> [["key" "j" "owner" "a" "holds" 1 "token" token:k "ttl" -1]]
		B UNLOCK j a -> 1
		B LOCK.LIST -> []`},
	{"a release tells Redisson's clients", `
		S SUBSCRIBE redisson_lock__channel:{k} redisson_lock__channel:{a}k -> ["subscribe" "redisson_lock__channel:{k}" 1]
		S <- ["subscribe" "redisson_lock__channel:{a}k" 2]
		A LOCK k a -> token
		A LOCK k a -> token
		A UNLOCK k a -> 0
		A UNLOCK k b -> $nil
		A UNLOCK k a -> 1
		S <- ["message" "redisson_lock__channel:{k}" "0"]
		A MLOCK 3 {a}k k x a -> tokens=1,2,3
		A MUNLOCK 3 k x {a}k a -> [1 1 1]
		S <- ["message" "redisson_lock__channel:{k}" "0"]
		S <- ["message" "redisson_lock__channel:{a}k" "0"]
		A LOCK k a -> token
		B LOCK.FORCE k -> 1
		S <- ["message" "redisson_lock__channel:{k}" "0"]
		B LOCK.FORCE k -> 0
		A LOCK k a PX 100 -> token
		+100ms
		A PUBLISH redisson_lock__channel:{k} last -> 1
		S <- ["message" "redisson_lock__channel:{k}" "last"]`},
	{"a token of RFencedLock", `
		A SET redisson_lock_token:{k} 5 -> +OK
		A LOCK k a -> token=a
		A GET redisson_lock_token:{k} -> token:a
		A LOCK k a -> token=a
		A INCRBY redisson_lock_token:{k} 1000000000 -> token>a
		A UNLOCK k a -> 0
		A UNLOCK k a -> 1
		A LOCK k b -> token=b
		A LOCK other b -> token>b
		A SET redisson_lock_token:{k} 100 PX 50 -> +OK
		A UNLOCK k b -> 1
		A MLOCK 2 k z c -> tokens=k2,z2
		A GET redisson_lock_token:{k} -> token:k2
		+51ms
		A EXISTS redisson_lock_token:{k} redisson_lock_token:{z} -> 0
		A MUNLOCK 2 k z c -> [1 1]
		A SET redisson_lock_token:{a}k 7 -> +OK
		A LOCK {a}k a -> token=ak
		A GET redisson_lock_token:{a}k -> token:ak`},
	{"a token of RFencedLock that is none", `
		A SET redisson_lock_token:{k} x -> +OK
		A LOCK k a -> -ERR value is not an integer or out of range
		A MLOCK 2 j k a -> -ERR value is not an integer or out of range
		A EXISTS j k -> 0
		A SET redisson_lock_token:{k} 9007199254740990 -> +OK
		A LOCK k a -> -ERR the lock's fencing token cannot rise any further
		A DEL redisson_lock_token:{k} -> 1
		A SADD redisson_lock_token:{k} x -> 1
		A LOCK k a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A EXISTS k -> 0
		A HSET k a 1 -> 1
		A LOCK k a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A LOCK k b -> $nil`},
	{"a token by hand raises all", `
		A SET redisson_lock_token:{k} 1900000000000000 -> +OK
		A SET redisson_lock_token:{l} 1900000000000000 -> +OK
		A LOCK k a -> 1900000000000001
		A LOCK l a -> 1900000000000002
		A LOCK j a -> 1900000000000003
		A FLUSHALL -> +OK
		A LOCK k a -> 1900000000000004`},
	{"dead waiters of RFairLock are removed", `
		A ZADD redisson_lock_timeout:{k} 1 dead -> 1
		A RPUSH redisson_lock_queue:{k} dead -> 1
		A LOCK k a -> token
		A EXISTS redisson_lock_queue:{k} redisson_lock_timeout:{k} -> 0
		A UNLOCK k a -> 1
		A RPUSH redisson_lock_queue:{k} dead u:1 -> 2
		A ZADD redisson_lock_timeout:{k} 1 dead 1750000050000 u:1 -> 2
		A LOCK k a -> $nil
		A LOCK k u:1 -> token
		A EXISTS redisson_lock_queue:{k} redisson_lock_timeout:{k} -> 0`},
	{"the first of RFairLock's queue passes native waiters", `
		A RPUSH redisson_lock_queue:{k} u:1 -> 1
		A ZADD redisson_lock_timeout:{k} 1750000050000 u:1 -> 1
		B LOCK k b WAIT 0 -> waits
		A LOCK k u:1 -> token
		A UNLOCK k u:1 -> 1
		B <- token`},
	{"who waits has it before a command finds that the lease is over", `
		A LOCK k a PX 1000 -> token
		B LOCK k b WAIT 0 -> waits
		!1s
		C LOCK k b -> token
		B <- token
		A HGET k b -> "2"`},
	{"a stall longer than the lease", `
		A LOCK k a -> token
		!40s
		B LOCK k b -> $nil
		A HEXISTS k a -> 1
		+29s
		B LOCK k b -> $nil
		+11s
		B LOCK k b -> $nil
		A UNLOCK k a -> 1
		!40s
		B LOCK k b -> token`},
	{"a token by hand does not use the counter up", `
		A SET redisson_lock_token:{k} 9007199254740980 -> +OK
		A LOCK k a -> -ERR the lock's fencing token cannot rise any further
		A EXISTS k -> 0
		A HSET h $token 9007199254740985 -> 1
		A LOCK h a -> -ERR the lock's fencing token cannot rise any further
		A LOCK j a -> token=j
		A LOCK i a -> token>j
		A HSET g $token 9007199254740990 -> 1
		A LOCK g a -> -ERR the lock's fencing token cannot rise any further
		A HSET g $token 9007199254740991 -> 0
		A LOCK g a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A HSET f a 1 $token 0 -> 2
		A UNLOCK f a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A GUARD i token:j GET x -> -STALETOKEN the lock is not held with this token`},
	{"behind RFairLock's queue", `
		A RPUSH redisson_lock_queue:{k} u:1 u:2 -> 2
		A ZADD redisson_lock_timeout:{k} 1750000005000 u:1 1750000009000 u:2 -> 2
		B LOCK k b -> $nil
		B LOCK k b WAIT 1000 -> waits
		+1000ms
		B <- $nil
		A LOCK other a -> token
		B LOCK k b WAIT 0 -> waits
		+3999ms
		parked 1
		+1ms
		parked 1
		A PTTL k -> -2
		+3999ms
		parked 1
		+1ms
		B <- token`},
	{"its head leaves", `
		A RPUSH redisson_lock_queue:{k} u:1 -> 1
		A ZADD redisson_lock_timeout:{k} 1750000005000 u:1 -> 1
		B LOCK k b WAIT 0 -> waits
		A LPOP redisson_lock_queue:{k} -> "u:1"
		B <- token`},
	{"its head is set back", `
		A RPUSH redisson_lock_queue:{k} u:1 -> 1
		A ZADD redisson_lock_timeout:{k} 1750000005000 u:1 -> 1
		B LOCK k b WAIT 0 -> waits
		A ZADD redisson_lock_timeout:{k} 1750000000100 u:1 -> 0
		parked 1
		+100ms
		B <- token`},
	{"its head takes the lock, as the script does", `
		A RPUSH redisson_lock_queue:{k} u:1 -> 1
		A ZADD redisson_lock_timeout:{k} 1750000005000 u:1 -> 1
		B LOCK k b WAIT 0 -> waits
		A MULTI -> +OK
		A LPOP redisson_lock_queue:{k} -> +QUEUED
		A ZREM redisson_lock_timeout:{k} u:1 -> +QUEUED
		A HSET k u:1 1 -> +QUEUED
		A PEXPIRE k 2000 -> +QUEUED
		A EXEC -> ["u:1" 1 1 1]
		parked 1
		+2001ms
		B <- token`},
	{"its head may take the lock natively", `
		A RPUSH redisson_lock_queue:{k} u:1 u:2 -> 2
		A ZADD redisson_lock_timeout:{k} 1750000005000 u:1 1750000009000 u:2 -> 2
		B LOCK k u:1 -> token
		B LRANGE redisson_lock_queue:{k} 0 -1 -> ["u:2"]
		B ZRANGE redisson_lock_timeout:{k} 0 -1 -> ["u:2"]
		B LOCK k u:1 -> token
		C LOCK k u:2 WAIT 0 -> waits
		D MLOCK 2 k j d WAIT 0 -> waits
		B UNLOCK k u:1 -> 0
		B UNLOCK k u:1 -> 1
		C <- token
		B EXISTS redisson_lock_queue:{k} redisson_lock_timeout:{k} -> 0
		C UNLOCK k u:2 -> 1
		D <- tokens=k,j`},
	{"a queue without a live head is none", `
		A RPUSH redisson_lock_queue:{k} u:1 u:2 -> 2
		B LOCK k b -> token
		B UNLOCK k b -> 1
		A ZADD redisson_lock_timeout:{k} 1750000000000 u:1 -> 1
		B LOCK k b -> token
		B UNLOCK k b -> 1
		A ZADD redisson_lock_timeout:{k} +inf u:2 -> 1
		B LOCK k b -> $nil
		A SET redisson_lock_queue:{j} x -> +OK
		B LOCK j b -> token
		A DEL redisson_lock_timeout:{k} -> 1
		A SET redisson_lock_timeout:{k} x -> +OK
		B LOCK k b -> token`},
	{"a holder of the lock is behind no waiter", `
		A LOCK k a -> token=a
		A RPUSH redisson_lock_queue:{k} u:1 -> 1
		A ZADD redisson_lock_timeout:{k} 1750000005000 u:1 -> 1
		A LOCK k a -> token=a
		S SUBSCRIBE redisson_lock__channel:{k}:u:1 -> ["subscribe" "redisson_lock__channel:{k}:u:1" 1]
		A UNLOCK k a -> 0
		A UNLOCK k a -> 1
		S <- ["message" "redisson_lock__channel:{k}:u:1" "0"]
		A LOCK k a -> $nil`},
	{"the watchdog goes with RENAME", `
		A LOCK k a -> token
		A LOCK o a PX 5000 -> token
		A RENAME k j -> +OK
		+3600s
		B HGET j a -> "1"
		B LOCK k b -> token
		B RENAME j k -> +OK
		+3600s
		B HGET k a -> "1"
		B HGET k b -> $nil
		A UNLOCK k a -> 1
		+60s
		B EXISTS k j -> 0`},
	{"the watchdog goes with MOVE and SWAPDB", `
		A LOCK k a -> token
		B LOCK s b -> token
		A MOVE k 1 -> 1
		+3600s
		A SWAPDB 1 2 -> +OK
		+3600s
		A SELECT 2 -> +OK
		A HGET k a -> "1"
		A LOCK k a -> token
		A UNLOCK k a -> 0
		B EXISTS s -> 1
		close A
		+30s
		B SELECT 2 -> +OK
		B EXISTS k -> 0`},
	{"the watchdog does not follow a copy", `
		A LOCK k a -> token
		A COPY k j -> 1
		+30s
		A EXISTS k j -> 1`},
}

func TestLockNativeScripts(t *testing.T) { play(t, nil, "", lockNativeScripts) }
