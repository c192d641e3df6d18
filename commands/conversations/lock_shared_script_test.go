package conversations

import (
	"testing"
)

// lockSharedScripts are the edges of locks that are held by several at once, on a clock that stands still.
var lockSharedScripts = []script{
	{"many share, one excludes", `
		A LOCK k a SHARED -> token=a
		B LOCK k b SHARED -> token=b
		B LOCK k b SHARED -> token=b
		C LOCK k c -> $nil
		C LOCK k c WAIT 0 -> waits
		A UNLOCK k a -> 1
		B UNLOCK k b -> 0
		B UNLOCK k b SHARED -> 1
		C <- token>b
		A LOCK k a SHARED -> $nil
		C UNLOCK k c SHARED -> $nil
		C UNLOCK k c -> 1
		A UNLOCK k a -> $nil
		A EXISTS k -> 0`},
	{"no reader passes a writer that waits, and readers behind it go in together", `
		A LOCK k a SHARED -> token=a
		B LOCK k b WAIT 0 -> waits
		C LOCK k c SHARED -> $nil
		C LOCK k c SHARED WAIT 0 -> waits
		D LOCK k d SHARED WAIT 0 -> waits
		E LOCK k e WAIT 0 -> waits
		F LOCK k f SHARED WAIT 0 -> waits
		A LOCK k a SHARED -> token=a
		A UNLOCK k a -> 0
		A UNLOCK k a -> 1
		B <- token>a
		parked 4
		B UNLOCK k b -> 1
		C <- token=c
		D <- token>c
		parked 2
		C UNLOCK k c -> 1
		parked 2
		D UNLOCK k d -> 1
		E <- token>c
		E UNLOCK k e -> 1
		F <- token>c`},
	{"a lease ends no later than a field can", `
		A LOCK k a SHARED EX 9007199254740993 -> token
		A PEXPIRETIME k -> 70368744177663
		A HPEXPIRETIME k FIELDS 1 a -> [70368744177663]
		A RENEW k a PX 9007199254740993 -> 1
		A HPEXPIRETIME k FIELDS 1 a -> [70368744177663]
		A LOCK k a EX 9007199254740993 -> token
		A HPEXPIRETIME k FIELDS 1 a -> [70368744177663]
		B LOCK l b PX 1000 -> token
		B LOCK l b SHARED EX 9007199254740993 -> token
		B PEXPIRETIME l -> 70368744177663`},
	{"a writer that gives up lets the readers behind it in", `
		A LOCK k a SHARED -> token
		B LOCK k b WAIT 100 -> waits
		C LOCK k c SHARED WAIT 0 -> waits
		+100ms
		B <- $nil
		C <- token`},
	{"a writer that goes lets the readers behind it in", `
		A LOCK k a SHARED -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c SHARED WAIT 0 -> waits
		close B
		C <- token`},
	{"the key", `
		A LOCK k a SHARED PX 1000 -> 1750000000000000
		A HGETALL k -> ["a" "$1750000000000000:1:0" "$mode" "read"]
		A HPTTL k FIELDS 1 a -> [1000]
		A PTTL k -> 1000
		B LOCK k b SHARED PX 3000 -> 1750000000000001
		A LOCK k a SHARED PX 2000 -> 1750000000000000
		A HGETALL k -> ["a" "$1750000000000000:2:0" "$mode" "read" "b" "$1750000000000001:1:0"]
		A HPTTL k FIELDS 2 a b -> [2000 3000]
		A PTTL k -> 3000
		B UNLOCK k b -> 1
		A PTTL k -> 2000
		A RENEW k a EX 9 -> 1
		A HPTTL k FIELDS 1 a -> [9000]
		A PTTL k -> 9000
		C LOCK k c SHARED -> 1750000000000002
		A HGET k c -> "$1750000000000002:1:0:w"
		C RENEW k c PX 100 -> 1
		A HGET k c -> "$1750000000000002:1:0"
		A PTTL k -> 9000
		A RENEW k a PX 50 -> 1
		A PTTL k -> 100`},
	{"each holder has a lease, which ends to the millisecond", `
		A LOCK k a SHARED PX 1000 -> token
		B LOCK k b SHARED PX 2000 -> token
		C LOCK k c WAIT 0 -> waits
		+1000ms
		A UNLOCK k a -> $nil
		A RENEW k a -> 0
		A HLEN k -> 2
		parked 1
		+999ms
		parked 1
		+1ms
		C <- token
		B UNLOCK k b -> $nil`},
	{"a lease that ends, not noticed yet", `
		A LOCK k a SHARED PX 1000 -> token
		B LOCK k b SHARED PX 2000 -> token
		!1000ms
		A UNLOCK k a -> $nil
		!1000ms
		B RENEW k b -> 0
		C LOCK k c -> token`},
	{"the end of one reader's lease leaves a writer as the only holder, which it waited to be", `
		A LOCK k a SHARED PX 1000 -> token=a
		B LOCK k b SHARED PX 2000 -> token=b
		B LOCK k b WAIT 0 PX 500 -> waits
		+1000ms
		B <- token>b
		A HGET k b -> "$1750000001000000:1:1"
		A PTTL k -> 500`},
	{"the watchdog renews each holder as long as its connection lives", `
		A LOCK k a SHARED -> token
		B LOCK k b SHARED -> token
		+10s
		A HPTTL k FIELDS 2 a b -> [30000 30000]
		close B
		+10s
		A HPTTL k FIELDS 2 a b -> [30000 20000]
		+20s
		A HPTTL k FIELDS 2 a b -> [30000 -2]
		A PTTL k -> 30000
		A UNLOCK k a -> 1
		A EXISTS k -> 0`},
	{"an attached connection keeps a shared holder, and hears of its loss", `
		A LOCK k a SHARED -> token=a
		B LOCK k b SHARED PX 35000 -> token
		C LOCK.ATTACH a -> 1
		close A
		+10s
		+10s
		+10s
		+10s
		B RENEW k b -> 0
		C HPTTL k FIELDS 1 a -> [30000]
		B SUBSCRIBE __lock__:a -> ["subscribe" "__lock__:a" 1]
		C HPEXPIRE k 100 FIELDS 1 a -> [1]
		C LOCK k x -> $nil
		C LOCK l y SHARED PX 900 -> token
		+100ms
		C LOCK k x -> token
		C LOCK.DETACH a -> 0`},
	{"down: the exclusive hold goes, the shared one lets readers in", `
		A LOCK k a -> token=a
		A LOCK k a SHARED -> token=a
		B LOCK k b SHARED WAIT 0 -> waits
		A HGET k mode -> "write"
		A UNLOCK k a -> 0
		B <- token>a
		A HGET k mode -> "read"
		A UNLOCK k a -> 1
		B UNLOCK k b -> 1`},
	{"a shared hold inside of an exclusive one is given back by its name", `
		A LOCK k a -> token=a
		A LOCK k a SHARED -> token=a
		A UNLOCK k a SHARED -> 0
		A UNLOCK k a SHARED -> $nil
		B LOCK k b SHARED -> $nil
		A LOCK k a -> token=a
		A UNLOCK k a -> 0
		A UNLOCK k a TOKEN 1 -> $nil
		A UNLOCK k a TOKEN token:a -> 1
		B LOCK k b SHARED -> token>a`},
	{"up: the only holder has it at once, before those who wait, with a new token", `
		A LOCK k a SHARED -> token=a
		B LOCK k b WAIT 0 -> waits
		A LOCK k a -> token=up
		A UNLOCK k a TOKEN token:a -> $nil
		C LOCK k c SHARED -> $nil
		A UNLOCK k a TOKEN token:up -> 0
		A UNLOCK k a -> 1
		B <- token>up`},
	{"up: one of two waits until it is the only one, and passes the queue", `
		A LOCK k a SHARED -> token=a
		B LOCK k b SHARED -> token=b
		C LOCK k c WAIT 0 -> waits
		A LOCK k a -> $nil
		A LOCK k a WAIT 0 -> waits
		B UNLOCK k b -> 1
		A <- token>b
		parked 1
		A UNLOCK k a -> 0
		A UNLOCK k a -> 1
		C <- token>b`},
	{"up: the second one that wants it would wait for ever", `
		A LOCK k a SHARED -> token=a
		B LOCK k b SHARED -> token=b
		A LOCK k a WAIT 0 -> waits
		B LOCK k b WAIT 0 -> -DEADLOCK b -> k -> a -> k -> b
		B UNLOCK k b -> 1
		A <- token>b`},
	{"cycles through one of several holders", `
		A LOCK k a SHARED -> token
		B LOCK k b SHARED -> token
		C LOCK l c SHARED -> token
		D LOCK k c WAIT 0 -> waits
		B LOCK l b WAIT 0 -> -DEADLOCK b -> l -> c -> k -> b
		B LOCK l b SHARED -> token
		E LOCK l e WAIT 0 -> waits
		A LOCK l a SHARED WAIT 0 -> -DEADLOCK a -> l -> c -> k -> a
		A UNLOCK k a -> 1
		A LOCK l a SHARED WAIT 100 -> waits
		+100ms
		A <- $nil`},
	{"a reader behind a reader that waits for another lock waits for no holder", `
		A LOCK k a SHARED -> token
		B LOCK l b -> token
		C MLOCK 2 k l c SHARED WAIT 0 -> waits
		D LOCK m d -> token
		E LOCK m a WAIT 0 -> waits
		D LOCK k d SHARED WAIT 0 -> waits
		B UNLOCK l b -> 1
		C <- tokens=x,y
		D <- token`},
	{"a cycle through a reader that stands before", `
		A LOCK m a -> token
		B LOCK m b WAIT 0 -> waits
		C LOCK k c -> token
		D LOCK k b SHARED WAIT 0 -> waits
		E LOCK k e SHARED WAIT 0 -> waits
		F LOCK k a WAIT 0 -> -DEADLOCK a -> k -> b -> m -> a
		C UNLOCK k c -> 1
		D <- token
		E <- token`},
	{"two connections of one owner", `
		A LOCK k a -> token
		B LOCK k b SHARED WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		D LOCK k b SHARED WAIT 0 -> waits
		A UNLOCK k a -> 1
		B <- token=b
		D <- token=b
		B UNLOCK k b -> 0
		B UNLOCK k b -> 1
		C <- token>b`},
	{"MLOCK and MUNLOCK", `
		A MLOCK 2 k l a SHARED -> tokens=k,l
		B MLOCK 2 k l b SHARED PX 500 -> tokens=kb,lb
		C MLOCK 2 l m c -> *nil
		C MLOCK 2 l m c WAIT 0 -> waits
		D LOCK m d SHARED -> $nil
		A MUNLOCK 2 k l a SHARED -> [1 1]
		B MUNLOCK 3 k l x b -> [1 1 $nil]
		C <- tokens=lc,m
		A MLOCK 2 n n a SHARED -> tokens=n,n
		A MUNLOCK 2 n n a -> [0 1]
		A MLOCK 1 n a SHARED SHARED -> -ERR syntax error
		A MUNLOCK 1 n a SHARED SHARED -> -ERR syntax error
		A UNLOCK n a SHARED SHARED -> -ERR syntax error
		A LOCK n a SHARED SHARED -> -ERR syntax error`},
	{"GUARD: a shared holder only reads", `
		A LOCK k a SHARED -> 1750000000000000
		B LOCK k b SHARED -> 1750000000000001
		A GUARD k 1750000000000000 GET x -> $nil
		B GUARD k 1750000000000001 GET x -> $nil
		A GUARD k 1750000000000000 SET x 1 -> -ERR a shared holder's token guards only commands that read
		A GUARD k 1750000000000000 UNLOCK k a -> -ERR a shared holder's token guards only commands that read
		A GUARD k 1750000000000002 GET x -> -STALETOKEN the lock is not held with this token
		B UNLOCK k b -> 1
		A LOCK k a -> 1750000000000002
		A GUARD k 1750000000000000 GET x -> -STALETOKEN the lock is not held with this token
		A GUARD k 1750000000000002 SET x 1 -> +OK
		A EXISTS x -> 1`},
	{"LOCK.INFO, LOCK.LIST, LOCK.WAITERS and LOCK.FORCE", `
		A LOCK k a SHARED PX 1000 -> 1750000000000000
		B LOCK k b SHARED PX 2000 -> 1750000000000001
		B LOCK l b PX 500 -> 1750000000000002
		A LOCK.INFO k -> ["mode" "shared" "ttl" 2000 "holders" [["owner" "a" "mode" "shared" "holds" 1 "token" 1750000000000000 "ttl" 1000 "watchdog" 0 "client" $nil "held-since" 1750000000000 "attached" []] ["owner" "b" "mode" "shared" "holds" 1 "token" 1750000000000001 "ttl" 2000 "watchdog" 0 "client" $nil "held-since" 1750000000000 "attached" []]] "waiters" []]
		A LOCK.INFO k COUNT 1 -> ["mode" "shared" "ttl" 2000 "holding" 2 "holders" [["owner" "a" "mode" "shared" "holds" 1 "token" 1750000000000000 "ttl" 1000 "watchdog" 0 "client" $nil "held-since" 1750000000000 "attached" []]] "waiting" 0 "waiters" []]
		A LOCK.LIST OWNER a -> [["key" "k" "owner" "a" "holds" 1 "token" 1750000000000000 "ttl" 1000 "mode" "shared"]]
		A LOCK.LIST MATCH k OWNER b -> [["key" "k" "owner" "b" "holds" 1 "token" 1750000000000001 "ttl" 2000 "mode" "shared"]]
		A LOCK.LIST COUNT 1 MATCH k -> [["key" "k" "owner" "a" "holds" 1 "token" 1750000000000000 "ttl" 1000 "mode" "shared"]]
		C LOCK k c WAIT 0 -> waits
		A LOCK.FORCE k -> 1
		C <- token
		C LOCK k c SHARED -> token=c
		C UNLOCK k c SHARED -> 0
		A LOCK.FORCE k -> 1
		A LOCK.FORCE k -> 0
		C UNLOCK k c -> $nil`},
	{"whatever ends the lock lets the next one in", `
		A LOCK k a SHARED -> token
		B LOCK k b SHARED -> token
		C LOCK k c WAIT 0 -> waits
		D LOCK k d SHARED WAIT 0 -> waits
		A HDEL k a -> 1
		parked 2
		A DEL k -> 1
		C <- token
		A RENAME k other -> +OK
		D <- token
		A SET k v -> +OK
		A LOCK k a SHARED -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A LOCK k a SHARED WAIT 0 -> -WRONGTYPE Operation against a key holding the wrong kind of value`},
	{"a renewed lock is renamed", `
		A LOCK k a SHARED -> token
		B LOCK k b SHARED -> token
		A RENAME k j -> +OK
		+10s
		A HPTTL j FIELDS 2 a b -> [30000 30000]
		A MOVE j 1 -> 1
		A SELECT 1 -> +OK
		+10s
		A HPTTL j FIELDS 2 a b -> [30000 30000]`},
	{"carried in a dump", `
		A LOCK k a SHARED PX 1000 -> token=a
		B LOCK k b SHARED PX 2000 -> token=b
		A COPY k j -> 1
		A HPTTL j FIELDS 2 a b -> [1000 2000]
		A LOCK j c -> $nil
		A UNLOCK j a TOKEN token:a -> 1
		B UNLOCK j b TOKEN token:b -> 1
		A LOCK j c -> token>b`},
	{"owners", `
		A LOCK k $mode SHARED -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A LOCK k $readers SHARED -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A LOCK k 17 SHARED PX 100 -> token
		B LOCK k 18 SHARED PX 100 -> token
		A UNLOCK k 17 -> 1
		B UNLOCK k 18 -> 1
		A LOCK k a SHARED PX 0 -> -ERR invalid expire time in 'lock' command
		A EXISTS k -> 0`},
	{"a field that no holder wrote", `
		A LOCK k a SHARED -> token
		A HSET k b junk -> 1
		A UNLOCK k b -> $nil
		A LOCK k b SHARED -> token
		A HSET k $mode dark -> 0
		A LOCK k a SHARED -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A LOCK k a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A DEL k -> 1
		A HSET k $mode read -> 1
		A LOCK k a PX 900 -> token
		A HGET k a -> "1"
		A HLEN k -> 2
		A UNLOCK k a -> 1
		A HSET k $mode write -> 1
		A LOCK k a SHARED -> token
		A HGET k mode -> "read"`},
	{"an owner of RLock's cannot share it natively, which it does not see", `
		A HSET k a 1 -> 1
		A PEXPIRE k 1000 -> 1
		A HGET k mode -> $nil
		A LOCK k a SHARED -> -ERR the owner holds this lock by scripts of Redisson, which have to release it
		A LOCK k b SHARED -> $nil`},
	{"in a transaction and in a script", `
		A LOCK k a -> token
		B MULTI -> +OK
		B LOCK k b SHARED WAIT 0 -> +QUEUED
		B EXEC -> [$nil]
		C LOCK k c SHARED WAIT 0 -> waits
		A MULTI -> +OK
		A UNLOCK k a -> +QUEUED
		A LOCK k a SHARED -> +QUEUED
		A EXEC -> [1 $nil]
		C <- token`},
	{"WATCH", `
		A WATCH k -> +OK
		B LOCK k b SHARED PX 100 -> token
		A MULTI -> +OK
		A EXEC -> *nil
		A WATCH k -> +OK
		C LOCK k c SHARED PX 1000 -> token
		A MULTI -> +OK
		A EXEC -> *nil
		A WATCH k -> +OK
		+100ms
		A MULTI -> +OK
		A EXEC -> *nil`},
}

func TestSharedLockScripts(t *testing.T) { play(t, nil, "", lockSharedScripts) }
