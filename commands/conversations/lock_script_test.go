package conversations

import (
	"testing"
)

// lockScripts are the edges of LOCK, UNLOCK and RENEW, on a clock that stands still.
var lockScripts = []script{
	{"a lock is acquired, released and acquired by another", `
		A LOCK k a -> token=1
		B LOCK k b -> $nil
		A UNLOCK k a -> 1
		B LOCK k b -> token>1
		A UNLOCK k a -> $nil`},
	{"the key is Redisson's hash", `
		A LOCK k a PX 5000 -> token=1
		A TYPE k -> +hash
		A HGET k a -> "1"
		A HLEN k -> 2
		A HEXISTS k $token -> 1
		A PTTL k -> 5000
		A LOCK k a EX 7 -> token=1
		A HGET k a -> "2"
		A PTTL k -> 7000`},
	{"$watchdog comes and goes with the kind of the lease", `
		A LOCK k a -> token=1
		A HGET k $watchdog -> "1"
		A HLEN k -> 3
		A HGET k a -> "1"
		A LOCK k a PX 5000 -> token=1
		A HEXISTS k $watchdog -> 0
		A LOCK k a -> token=1
		A HGET k $watchdog -> "1"
		A RENEW k a -> 1
		A HGET k $watchdog -> "1"
		B UNLOCK k b -> $nil
		B RENEW k b PX 5000 -> 0
		A HGET k $watchdog -> "1"
		A RENEW k a PX 5000 -> 1
		A HEXISTS k $watchdog -> 0
		A RENEW k a -> 1
		A HEXISTS k $watchdog -> 0
		A UNLOCK k a -> 0
		A HDEL k a -> 1
		A LOCK k a -> token=2
		A HDEL k $token -> 1
		B LOCK k b -> $nil
		A LOCK k a -> token=3
		A HLEN k -> 3
		A HDEL k a -> 1
		B LOCK k b PX 100 -> token=4
		B HLEN k -> 2
		B MLOCK 2 k l b -> tokens=4,5
		B HGET k $watchdog -> "1"
		B HSET k x 1 -> 1
		B UNLOCK k b -> -WRONGTYPE Operation against a key holding the wrong kind of value`},
	{"a lease that makes no deadline", `
		A LOCK k a PX 0 -> -ERR invalid expire time in 'lock' command
		A LOCK k a PX -1 -> -ERR invalid expire time in 'lock' command
		A LOCK k a EX 0 -> -ERR invalid expire time in 'lock' command
		A LOCK k a PX x -> -ERR invalid expire time in 'lock' command
		A LOCK k a PX 1.5 -> -ERR invalid expire time in 'lock' command
		A LOCK k a PX 9223372036854775807 -> -ERR invalid expire time in 'lock' command
		A LOCK k a EX 9223372036854775807 -> -ERR invalid expire time in 'lock' command
		A LOCK k a EX 9223372036854776 -> -ERR invalid expire time in 'lock' command
		A LOCK k a EX -18446744073709551 -> -ERR invalid expire time in 'lock' command
		A LOCK k a PX 99999999999999999999 -> -ERR invalid expire time in 'lock' command
		A EXISTS k -> 0
		A LOCK k a PX 1 -> token
		A RENEW k a PX 0 -> -ERR invalid expire time in 'renew' command
		A RENEW k a EX -18446744073709551 -> -ERR invalid expire time in 'renew' command
		A PTTL k -> 1`},
	{"a wait that is none", `
		A LOCK k a WAIT -1 -> -ERR timeout is negative
		A LOCK k a WAIT x -> -ERR timeout is not an integer or out of range
		A LOCK k a WAIT 1 WAIT 1 -> -ERR syntax error
		A LOCK k a PX 1 EX 1 -> -ERR syntax error
		A LOCK k a PX -> -ERR syntax error
		A LOCK k a NX -> -ERR syntax error
		A LOCK k -> -ERR wrong number of arguments for 'lock' command
		A UNLOCK k a TOKEN 0 -> -ERR value is not an integer or out of range
		A UNLOCK k a TOKEN -> -ERR syntax error
		A EXISTS k -> 0`},
	{"owners", `
		A LOCK k "" -> -ERR lock owner must not be empty
		A LOCK k $token -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A LOCK k mode -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A LOCK k $watchdog -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A UNLOCK k "" -> -ERR lock owner must not be empty
		A RENEW k mode -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A EXISTS k -> 0`},
	{"a key of another type", `
		A SET k v -> +OK
		A LOCK k a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A LOCK k a WAIT 0 -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A UNLOCK k a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A RENEW k a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A GET k -> "v"`},
	{"a hash that is no lock", `
		A HSET k a x -> 1
		A LOCK k a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A LOCK k b -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A UNLOCK k a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A HSET k a 0 -> 0
		A LOCK k b -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A HSET k a 1 b 1 -> 1
		A LOCK k a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A DEL k -> 1
		A HSET k a 1 $token x -> 2
		A LOCK k a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A HSET k $token 9223372036854775807 -> 0
		A LOCK k a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A HGETALL k -> ["a" "1" "$token" "9223372036854775807"]`},
	{"Redisson's read-write lock", `
		A HSET k mode read u:1 1 -> 2
		A LOCK k u:1 -> -ERR the owner holds this lock by scripts of Redisson, which have to release it
		A UNLOCK k u:1 -> -ERR the owner holds this lock by scripts of Redisson, which have to release it
		A LOCK k u:2 -> $nil
		A HSET w mode write -> 1
		A LOCK w u:1 -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A HGETALL k -> ["mode" "read" "u:1" "1"]`},
	{"a lock that Redisson took", `
		A HSET k u:1 2 -> 1
		A PEXPIRE k 5000 -> 1
		B LOCK k b -> $nil
		B LOCK k b WAIT 9000 -> waits
		A UNLOCK k u:1 -> 0
		A LOCK k u:1 PX 100 -> token
		A HGET k u:1 -> "2"
		A PTTL k -> 100
		+100ms
		B <- token`},
	{"the count of holds cannot overflow", `
		A HSET k a 9223372036854775807 -> 1
		A LOCK k a -> -ERR increment or decrement would overflow
		A HGET k a -> "9223372036854775807"`},
	{"re-entry counts, keeps the token, and starts the lease anew", `
		A LOCK k a PX 1000 -> token=1
		+600ms
		A LOCK k a PX 1000 -> token=1
		A PTTL k -> 1000
		A UNLOCK k a -> 0
		A UNLOCK k a -> 1
		A EXISTS k -> 0`},
	{"re-entry does not queue", `
		A LOCK k a PX 1000 -> token=1
		B LOCK k b WAIT 0 -> waits
		A LOCK k a PX 2000 -> token=1
		C LOCK k a PX 3000 WAIT 0 -> token=1
		A UNLOCK k a -> 0
		A UNLOCK k a -> 0
		parked 1
		A UNLOCK k a -> 1
		B <- token>1`},
	{"a release hands over first come first served", `
		A LOCK k a -> token=a
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 60000 -> waits
		D LOCK k d WAIT 0 -> waits
		A UNLOCK k a -> 1
		B <- token=b
		parked 2
		B UNLOCK k b -> 1
		C <- token>b
		E LOCK k e -> $nil
		C UNLOCK k c -> 1
		D <- token>b
		D UNLOCK k d -> 1
		E LOCK k e -> token`},
	{"a wait runs out", `
		A LOCK k a PX 60000 -> token
		B LOCK k b WAIT 500 -> waits
		+499ms
		parked 1
		+1ms
		B <- $nil
		parked 0
		A UNLOCK k a -> 1
		C LOCK k c -> token`},
	{"a wait without limit", `
		A LOCK k a PX 100000000 -> token
		B LOCK k b WAIT 0 -> waits
		+90000s
		parked 1
		+10000s
		B <- token`},
	{"the lease ends and the next is granted in the same millisecond", `
		A LOCK k a PX 1000 -> token=1
		B LOCK k b PX 1000 WAIT 5000 -> waits
		C LOCK k c PX 1000 WAIT 5000 -> waits
		+999ms
		parked 2
		+1ms
		B <- token>1
		B PTTL k -> 1000
		+1000ms
		C <- token>1
		A UNLOCK k a -> $nil
		B UNLOCK k b -> $nil
		C UNLOCK k c -> 1`},
	{"timeout and the end of the lease in the same millisecond", `
		A LOCK k a PX 500 -> token
		B LOCK k b WAIT 500 -> waits
		C LOCK k c WAIT 0 -> waits
		+500ms
		B <- $nil
		C <- token
		B UNLOCK k b -> $nil
		C UNLOCK k c -> 1`},
	{"release, then timeout, in the same millisecond", `
		A LOCK k a -> token
		B LOCK k b WAIT 500 -> waits
		+499ms
		A UNLOCK k a -> 1
		B <- token
		+1ms
		B UNLOCK k b -> 1`},
	{"timeout, then release, in the same millisecond", `
		A LOCK k a -> token
		B LOCK k b WAIT 500 -> waits
		+500ms
		A UNLOCK k a -> 1
		B <- $nil
		B UNLOCK k b -> $nil
		A EXISTS k -> 0`},
	{"a command behind a waiting LOCK runs after it", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		B sends SET x 1
		B sends GET x
		A EXISTS x -> 0
		A UNLOCK k a -> 1
		B <- token
		B <- +OK
		B <- "1"`},
	{"two waits in one pipeline", `
		A LOCK k a -> token=1
		A LOCK j a -> token
		B LOCK k b WAIT 0 -> waits
		B sends LOCK j b WAIT 0
		B sends UNLOCK j b
		A UNLOCK k a -> 1
		B <- token>1
		parked 1
		A UNLOCK j a -> 1
		B <- token>1
		B <- 1`},
	{"CLIENT UNBLOCK", `
		A LOCK k a -> token
		A CLIENT ID -> 1
		B CLIENT ID -> 2
		C CLIENT ID -> 3
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		A CLIENT UNBLOCK 3 ERROR -> 1
		C <- -UNBLOCKED client unblocked via CLIENT UNBLOCK
		A CLIENT UNBLOCK 2 TIMEOUT -> 1
		B <- $nil
		A CLIENT UNBLOCK 2 -> 0
		A CLIENT UNBLOCK 99 -> 0
		A CLIENT UNBLOCK x -> -ERR value is not an integer or out of range
		A CLIENT UNBLOCK 2 NEVER -> -ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR
		B LOCK k b WAIT 0 -> waits
		A CLIENT UNBLOCK 2 -> 1
		B <- $nil
		A UNLOCK k a -> 1
		parked 0`},
	{"DEL wakes", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		A DEL k -> 1
		B <- token
		A UNLOCK k a -> $nil`},
	{"UNLINK wakes", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		A UNLINK k -> 1
		B <- token`},
	{"RENAME away wakes", `
		A LOCK k a PX 1000 -> token
		B LOCK k b WAIT 0 -> waits
		A RENAME k j -> +OK
		B <- token
		A HGET j a -> "1"`},
	{"RENAME over the lock leaves waiters waiting for the new holder", `
		A LOCK k a -> token
		C LOCK j c PX 700 -> token
		B LOCK k b WAIT 0 -> waits
		A RENAME j k -> +OK
		parked 1
		A UNLOCK k a -> $nil
		+700ms
		B <- token`},
	{"who waits for a lock that its owner has got meanwhile gets it without queueing", `
		A LOCK k a -> token
		B LOCK k b WAIT 500 -> waits
		D LOCK k x WAIT 0 -> waits
		C LOCK j x -> token=j
		C RENAME j k -> +OK
		D <- token=j
		parked 1
		+500ms
		B <- $nil
		C HGET k x -> "2"`},
	{"FLUSHDB wakes", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		A FLUSHDB -> +OK
		B <- token`},
	{"FLUSHALL wakes in every database", `
		A SELECT 3 -> +OK
		A LOCK k a -> token
		B SELECT 3 -> +OK
		B LOCK k b WAIT 0 -> waits
		C FLUSHALL -> +OK
		B <- token
		C EXISTS k -> 0`},
	{"SWAPDB wakes", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		A SWAPDB 0 1 -> +OK
		B <- token
		A SELECT 1 -> +OK
		A HGET k a -> "1"`},
	{"SWAPDB brings the lock", `
		A SELECT 1 -> +OK
		A LOCK k a -> token
		B SELECT 1 -> +OK
		C LOCK k c -> token
		D LOCK k d WAIT 0 -> waits
		A SWAPDB 0 1 -> +OK
		parked 1
		C UNLOCK k c -> $nil
		A SELECT 0 -> +OK
		A UNLOCK k a -> 1
		D <- token`},
	{"MOVE away wakes", `
		A LOCK k a PX 1000 -> token
		B LOCK k b WAIT 0 -> waits
		A MOVE k 1 -> 1
		B <- token`},
	{"PEXPIRE in the past wakes", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		A PEXPIRE k -1 -> 1
		B <- token`},
	{"HDEL by hand wakes", `
		A LOCK k a -> token=1
		B LOCK k b WAIT 0 -> waits
		A HDEL k a -> 1
		B <- token>1
		B HLEN k -> 3`},
	{"the key is overwritten under waiters", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 1000 -> waits
		A SET k v -> +OK
		B <- -WRONGTYPE Operation against a key holding the wrong kind of value
		C <- -WRONGTYPE Operation against a key holding the wrong kind of value
		parked 0
		A GET k -> "v"`},
	{"queues of one key in two databases are two", `
		A LOCK k a -> token
		B SELECT 1 -> +OK
		B LOCK k b -> token
		C SELECT 1 -> +OK
		C LOCK k c WAIT 0 -> waits
		A UNLOCK k a -> 1
		parked 1
		B UNLOCK k b -> 1
		C <- token`},
	{"a waiter that goes leaves the queue", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		D LOCK k d WAIT 0 -> waits
		close B
		parked 2
		close D
		parked 1
		A UNLOCK k a -> 1
		C <- token
		C UNLOCK k c -> 1
		A EXISTS k -> 0`},
	{"a waiter that is killed leaves the queue", `
		A LOCK k a -> token
		B CLIENT ID -> 2
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		A CLIENT KILL ID 2 -> 1
		B <- closed
		parked 1
		A UNLOCK k a -> 1
		C <- token`},
	{"a killed waiter is not even granted in the same batch", `
		A LOCK k a -> token
		B CLIENT ID -> 2
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		A pipelines CLIENT KILL ID 2 ; UNLOCK k a ; HEXISTS k c
		A <- 1
		A <- 1
		A <- 1
		C <- token`},
	{"the holder's connection closes: renewal stops, the lease runs out", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		+25s
		B sends PING
		C PTTL k -> 25000
		close A
		+24999ms
		parked 1
		C PTTL k -> 1
		+1ms
		B <- token
		B <- +PONG`},
	{"the watchdog renews every third of the lease", `
		A LOCK k a -> token=1
		A PTTL k -> 30000
		+9999ms
		A PTTL k -> 20001
		+1ms
		A PTTL k -> 30000
		+100s
		A PTTL k -> 30000
		A LOCK k a -> token=1
		+3600s
		B LOCK k b -> $nil
		A UNLOCK k a -> 0
		+3600s
		B LOCK k b -> $nil
		A UNLOCK k a -> 1
		B LOCK k b -> token>1`},
	{"a lease of one's own is not renewed", `
		A LOCK k a PX 30000 -> token
		+29999ms
		A PTTL k -> 1
		+1ms
		A EXISTS k -> 0
		A UNLOCK k a -> $nil`},
	{"a waiter's grant is watched too", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		A UNLOCK k a -> 1
		B <- token
		+3600s
		A LOCK k a -> $nil
		close B
		+30s
		A LOCK k a -> token`},
	{"re-entry with a lease of one's own ends the watchdog", `
		A LOCK k a -> token=1
		A LOCK k a PX 1000 -> token=1
		A PTTL k -> 1000
		+1000ms
		A EXISTS k -> 0`},
	{"re-entry without a lease begins the watchdog", `
		A LOCK k a PX 1000 -> token=1
		A LOCK k a -> token=1
		A PTTL k -> 30000
		+3600s
		A HGET k a -> "2"`},
	{"the watchdog never shortens a longer lease", `
		A LOCK k a -> token
		A PEXPIRE k 100000 -> 1
		+10s
		A PTTL k -> 90000
		+60s
		A PTTL k -> 30000`},
	{"the watchdog passes to the connection that acquired last", `
		A LOCK k a -> token=1
		+5s
		B LOCK k a -> token=1
		close A
		+3600s
		B HGET k a -> "2"
		close B
		C PTTL k -> 30000
		+30s
		C EXISTS k -> 0`},
	{"a new holder is not renewed by the old one's watchdog", `
		A LOCK k a -> token=1
		A DEL k -> 1
		B LOCK k b PX 15000 -> token>1
		+14999ms
		B PTTL k -> 1
		+1ms
		B EXISTS k -> 0`},
	{"the same owner over a deleted lock", `
		A LOCK k a -> token=1
		A DEL k -> 1
		B LOCK k a PX 15000 -> token>1
		+15s
		B EXISTS k -> 0`},
	{"the watchdog's timeout can be changed", `
		A CONFIG SET lock-watchdog-timeout 3000 -> +OK
		A LOCK k a -> token
		A PTTL k -> 3000
		+999ms
		A PTTL k -> 2001
		+1ms
		A PTTL k -> 3000
		A CONFIG SET lock-watchdog-timeout 3 -> +OK
		+2s
		B LOCK k b -> $nil
		close A
		+3s
		B LOCK k b -> token`},
	{"RENEW", `
		A LOCK k a PX 1000 -> token=1
		A RENEW k a PX 5000 -> 1
		A PTTL k -> 5000
		B RENEW k b -> 0
		A RENEW k a -> 1
		A PTTL k -> 30000
		A RENEW k a EX 2 -> 1
		A PTTL k -> 2000
		A RENEW k a TOKEN 1 -> 0
		A PTTL k -> 2000
		+2s
		A RENEW k a PX 5000 -> 0
		A EXISTS k -> 0`},
	{"RENEW with a time takes the renewal over", `
		A LOCK k a -> token
		A RENEW k a PX 15000 -> 1
		+15s
		A EXISTS k -> 0`},
	{"RENEW without one leaves the watchdog at work", `
		A LOCK k a -> token
		A RENEW k a -> 1
		+3600s
		A EXISTS k -> 1`},
	{"UNLOCK with a token", `
		A LOCK k a PX 1000 -> token=1
		A UNLOCK k a TOKEN 1 -> $nil
		A HGET k a -> "1"
		A UNLOCK k a TOKEN x -> -ERR value is not an integer or out of range
		A UNLOCK k a -> 1`},
	{"waiting with replies off", `
		A LOCK k a -> token
		B sends CLIENT REPLY OFF
		B sends LOCK k b WAIT 0
		parked 1
		A UNLOCK k a -> 1
		parked 0
		B CLIENT REPLY ON -> +OK
		A HGET k b -> "1"`},
	{"waiting with one reply skipped", `
		A LOCK k a -> token
		B sends CLIENT REPLY SKIP
		B sends LOCK k b WAIT 0
		B sends PING
		parked 1
		A UNLOCK k a -> 1
		B <- +PONG`},
	{"no barging through a lease that is over and not noticed yet", `
		A LOCK k a PX 1000 -> token
		B LOCK k b WAIT 0 -> waits
		!1000ms
		C LOCK k c -> $nil
		B <- token
		C UNLOCK k c -> $nil`},
	{"nor does one who waits", `
		A LOCK k a PX 1000 -> token
		B LOCK k b PX 1000 WAIT 0 -> waits
		!1000ms
		C sends LOCK k c WAIT 0
		B <- token=b
		parked 1
		+1000ms
		C <- token>b`},
	{"RESP3", `
		A HELLO 3 -> {"server":"redis" "version":"7.4.1" "proto":3 "id":1 "mode":"standalone" "role":"master" "modules":[]}
		A LOCK k a PX 1000 -> token
		B HELLO 3 -> {"server":"redis" "version":"7.4.1" "proto":3 "id":2 "mode":"standalone" "role":"master" "modules":[]}
		B LOCK k b -> nil
		B LOCK k b WAIT 100 -> waits
		+100ms
		B <- nil
		B UNLOCK k b -> nil`},
}

func TestLockScripts(t *testing.T) { play(t, nil, "", lockScripts) }
