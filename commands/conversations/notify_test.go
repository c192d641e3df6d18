package conversations

import (
	"lockserver/tests/conversation"
	"testing"
)

// notifyScripts show NOTIFY. Client A speaks version 3 of the protocol. The watchdog's lease is 30 seconds,
// so a grant has to be confirmed within 10 seconds, and a place is kept for 10 seconds.
var notifyScripts = []script{
	{"acquired at once, or queued and granted", `
		A LOCK k a WAIT 0 NOTIFY -> token=1
		A LOCK k b WAIT 0 NOTIFY -> +QUEUED
		A LOCK k c WAIT 0 NOTIFY -> +QUEUED
		A PING -> +PONG
		parked 2
		A UNLOCK k a -> 1
		A <- granted k 2 b
		A LOCK.CONFIRM k b token:2 -> 1
		A LOCK.CONFIRM k b token:2 -> 1
		A LOCK.CONFIRM k b 1 -> 0
		A LOCK.CONFIRM k c token:2 -> 0
		+1h
		C UNLOCK k b TOKEN token:2 -> 1
		A <- granted k 3 c
		A UNLOCK k c -> 1
		+1h
		A EXISTS k -> 0`},
	{"a grant that is not confirmed passes on", `
		C LOCK k c -> token
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		B LOCK k b WAIT 0 -> waits
		C UNLOCK k c -> 1
		A <- granted k 1 a
		+9999ms
		A HEXISTS k a -> 1
		+1ms
		A <- >["lock-refused" "k" "unconfirmed" "a"]
		B <- token>1
		A LOCK.CONFIRM k a token:1 -> 0`},
	{"RENEW and LOCK ONCE confirm, and so does asking again", `
		C MLOCK 3 k l m c -> tokens=x,y,z
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		A LOCK l a WAIT 0 NOTIFY -> +QUEUED
		A LOCK m a WAIT 0 NOTIFY -> +QUEUED
		C MUNLOCK 3 k l m c -> [1 1 1]
		A <- granted k 1 a
		A <- granted l 2 a
		A <- granted m 3 a
		C RENEW k a TOKEN token:1 -> 1
		C LOCK l a ONCE -> token=2
		A LOCK m a WAIT 1000 NOTIFY -> token=3
		+1h
		C UNLOCK k a -> 1
		C UNLOCK l a -> 1
		C UNLOCK m a -> 1`},
	{"the time to wait", `
		C LOCK k c -> token
		A LOCK k a WAIT 1000 NOTIFY -> +QUEUED
		+999ms
		A PING -> +PONG
		+1ms
		A <- >["lock-refused" "k" "timeout" "a"]
		parked 0`},
	{"asked again it keeps its place, and the new deadline counts", `
		C LOCK k c -> token
		A LOCK k a WAIT 1000 NOTIFY -> +QUEUED
		A LOCK k b WAIT 0 NOTIFY -> +QUEUED
		+500ms
		A LOCK k a PX 5000 WAIT 1000 NOTIFY -> +QUEUED
		parked 2
		+999ms
		A LOCK k a PX 4000 WAIT 0 NOTIFY -> +QUEUED
		+1h
		C UNLOCK k c -> 1
		A <- granted k 1 a
		A PTTL k -> 4000
		A LOCK.CONFIRM k a token:1 -> 1
		+4s
		A <- granted k 2 b`},
	{"a place outlives the connection, for its owner to ask again", `
		C LOCK k c -> token
		B LOCK k b WAIT 0 NOTIFY -> +QUEUED
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		close B
		+9999ms
		D HELLO 3 -> {"server":"redis" "version":"7.4.1" "proto":3 "id":4 "mode":"standalone" "role":"master" "modules":[]}
		D LOCK k b WAIT 0 NOTIFY -> +QUEUED
		+1h
		parked 2
		C UNLOCK k c -> 1
		D <- granted k 1 b
		D LOCK.CONFIRM k b token:1 -> 1
		A PING -> +PONG`},
	{"and then it is lost", `
		C LOCK k c -> token
		B LOCK k b WAIT 0 NOTIFY -> +QUEUED
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		close B
		+9999ms
		parked 2
		+1ms
		parked 1
		C UNLOCK k c -> 1
		A <- granted k 1 a`},
	{"an attached connection keeps the place, and gets the outcome", `
		C LOCK k c -> token
		A LOCK.ATTACH b -> 0
		B LOCK k b WAIT 0 NOTIFY -> +QUEUED
		close B
		+1h
		parked 1
		C UNLOCK k c -> 1
		A <- granted k 1 b
		A LOCK.CONFIRM k b token:1 -> 1
		+1h
		A UNLOCK k b -> 1`},
	{"one that attached later does, too, until it detaches", `
		C LOCK k c -> token
		B LOCK k program1:b WAIT 0 NOTIFY -> +QUEUED
		close B
		+9s
		A LOCK.ATTACH PREFIX program1 -> 0
		+1h
		parked 1
		A LOCK.DETACH PREFIX program1 -> 0
		+9999ms
		parked 1
		+1ms
		parked 0`},
	{"and one that reconnects hears of what was granted meanwhile", `
		C LOCK k c -> token
		B LOCK k program1:b WAIT 0 NOTIFY -> +QUEUED
		B LOCK l program1:b -> token
		close B
		C UNLOCK k c -> 1
		C HEXISTS k program1:b -> 1
		+9s
		A LOCK.ATTACH PREFIX program1 -> 2
		A <- granted k 1 program1:b
		A RENEW k program1:b TOKEN token:1 -> 1
		+1h
		A UNLOCK k program1:b -> 1`},
	{"granted to an owner that is gone it passes on", `
		C LOCK k c -> token
		B LOCK k b WAIT 0 NOTIFY -> +QUEUED
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		close B
		C UNLOCK k c -> 1
		+10s
		A <- granted k 1 a`},
	{"two attached connections get one outcome each", `
		B HELLO 3 -> {"server":"redis" "version":"7.4.1" "proto":3 "id":2 "mode":"standalone" "role":"master" "modules":[]}
		C LOCK k c -> token
		A LOCK.ATTACH a -> 0
		B LOCK.ATTACH a -> 0
		A LOCK k a WAIT 100 NOTIFY -> +QUEUED
		A LOCK k b WAIT 100 NOTIFY -> +QUEUED
		+100ms
		A <- >["lock-refused" "k" "timeout" "a"]
		B <- >["lock-refused" "k" "timeout" "a"]
		A <- >["lock-refused" "k" "timeout" "b"]
		B PING -> +PONG`},
	{"cancelled", `
		C LOCK k c -> token
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		C LOCK.CANCEL k a -> 1
		A <- >["lock-refused" "k" "cancelled" "a"]
		C LOCK.CANCEL k a -> 0
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		C MULTI -> +OK
		C UNLOCK k c -> +QUEUED
		C LOCK.CANCEL k a -> +QUEUED
		C EXEC -> [1 1]
		A <- >["lock-refused" "k" "cancelled" "a"]
		A LOCK k c WAIT 0 NOTIFY -> token`},
	{"overwritten", `
		C LOCK k c -> token
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		C SET k x -> +OK
		A <- >["lock-refused" "k" "wrongtype" "a"]
		A LOCK k a WAIT 0 NOTIFY -> -WRONGTYPE Operation against a key holding the wrong kind of value`},
	{"deadlocks", `
		A LOCK k a -> token
		C LOCK l c -> token
		A LOCK l a WAIT 0 NOTIFY -> +QUEUED
		A LOCK k c WAIT 0 NOTIFY -> -DEADLOCK c -> k -> a -> l -> c
		C LOCK m d -> token
		A LOCK m c WAIT 0 NOTIFY -> +QUEUED
		C MULTI -> +OK
		C DEL m -> +QUEUED
		C HSET m a 1 -> +QUEUED
		C EXEC -> [1 1]
		A <- >["lock-refused" "m" "deadlock" "c"]
		C DEL m -> 1
		C UNLOCK l c -> 1
		A <- granted l 2 a`},
	{"shared", `
		C LOCK k c -> token
		A LOCK k a SHARED WAIT 0 NOTIFY -> +QUEUED
		A LOCK k b SHARED WAIT 0 NOTIFY -> +QUEUED
		A LOCK k d WAIT 0 NOTIFY -> +QUEUED
		A LOCK k e SHARED WAIT 0 NOTIFY -> +QUEUED
		C UNLOCK k c -> 1
		A <- granted k 1 a
		A <- granted k 2 b
		A RENEW k a -> 1
		+10s
		A <- >["lock-refused" "k" "unconfirmed" "b"]
		A UNLOCK k a SHARED -> 1
		A <- granted k 3 d
		A UNLOCK k d -> 1
		A <- granted k 4 e
		A LOCK k e SHARED ONCE -> token=4
		+1h
		A UNLOCK k e -> 1`},
	{"one owner confirms, and the other's grant passes on", `
		C LOCK k c -> token
		A LOCK k a SHARED WAIT 0 NOTIFY -> +QUEUED
		A LOCK k b SHARED WAIT 0 NOTIFY -> +QUEUED
		A LOCK k d WAIT 0 NOTIFY -> +QUEUED
		C UNLOCK k c -> 1
		A <- granted k 1 a
		A <- granted k 2 b
		A LOCK k a SHARED ONCE -> token=1
		+10s
		A <- >["lock-refused" "k" "unconfirmed" "b"]
		A UNLOCK k a SHARED -> 1
		A <- granted k 3 d`},
	{"semaphores", `
		C SEM.ACQUIRE k c LIMIT 3 PERMITS 3 -> token
		A SEM.ACQUIRE k a PERMITS 2 NOTIFY -> -ERR syntax error
		A SEM.ACQUIRE k a PERMITS 2 WAIT 0 NOTIFY -> +QUEUED
		A SEM.ACQUIRE k b WAIT 0 NOTIFY -> +QUEUED
		A SEM.ACQUIRE k d WAIT 1000 NOTIFY -> +QUEUED
		A SEM.ACQUIRE k a PERMITS 2 WAIT 0 NOTIFY -> +QUEUED
		A SEM.ACQUIRE k d WAIT 0 NOTIFY ONCE LIMIT 4 -> -LIMITMISMATCH semaphore 'k' has limit 3, not 4
		+1s
		A <- >["lock-refused" "k" "timeout" "d"]
		parked 2
		C SEM.RELEASE k c -> 0
		A <- granted k 1 a
		A <- granted k 2 b
		A SEM.ACQUIRE k e PERMITS 2 WAIT 0 NOTIFY -> +QUEUED
		A SEM.ACQUIRE k b WAIT 0 NOTIFY -> token=2
		A LOCK.CONFIRM k a 1 -> 0
		+10s
		A <- >["lock-refused" "k" "unconfirmed" "a"]
		A <- granted k 3 e
		A SEM.RENEW k e -> 1
		+1h
		A SEM.RELEASE k b -> 0
		A SEM.RELEASE k e -> 0
		A EXISTS k -> 0`},
	{"more permits for an owner that has some", `
		A SEM.ACQUIRE k a LIMIT 3 -> token=1
		C SEM.ACQUIRE k c PERMITS 2 -> token
		A SEM.ACQUIRE k a PERMITS 2 WAIT 0 NOTIFY -> +QUEUED
		C SEM.RELEASE k c -> 0
		A <- granted k 1 a
		C SEM.ACQUIRE k c -> $nil
		+10s
		A <- >["lock-refused" "k" "unconfirmed" "a"]
		A SEM.RELEASE k a PERMITS 2 -> nil
		A SEM.RELEASE k a -> 0
		A EXISTS k -> 0`},
	{"several locks", `
		C LOCK l c -> token
		A MLOCK 2 k l a WAIT 0 NOTIFY -> +QUEUED
		A MLOCK 2 l k a WAIT 0 NOTIFY -> +QUEUED
		parked 1
		A MLOCK 2 k l b WAIT 100 NOTIFY -> +QUEUED
		+100ms
		A <- >["lock-refused" ["k" "l"] "timeout" "b"]
		A MLOCK 2 k l b WAIT 0 NOTIFY -> +QUEUED
		C UNLOCK l c -> 1
		A <- granted k,l 1,2 a
		A LOCK.CONFIRM l a token:2 -> 1
		+1h
		A MUNLOCK 2 k l a -> [1 1]
		A <- granted k,l 3,4 b
		+10s
		A <- >["lock-refused" ["k" "l"] "unconfirmed" "b"]
		A EXISTS k l -> 0
		A MLOCK 1 k a WAIT 0 NOTIFY -> tokens=5`},
	{"version 2 of the protocol has messages", `
		C LOCK k c -> token
		C LOCK l c -> token
		B SUBSCRIBE __lock__:b -> ["subscribe" "__lock__:b" 1]
		D LOCK k b WAIT 100 NOTIFY -> +QUEUED
		D MLOCK 2 k l b WAIT 200 NOTIFY -> +QUEUED
		+100ms
		B <- ["message" "__lock__:b" "lock-refused k timeout b"]
		+100ms
		B <- ["message" "__lock__:b" "lock-refused k timeout b"]
		B <- ["message" "__lock__:b" "lock-refused l timeout b"]
		D LOCK k b PX 60000 WAIT 0 NOTIFY -> +QUEUED
		C UNLOCK k c -> 1
		D LOCK k b PX 60000 ONCE -> token=1
		B <- ["message" "__lock__:b" "lock-granted k token:1 b"]
		D PING -> +PONG`},
	{"while writes are paused nothing is given back", `
		C LOCK k c -> token
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		A LOCK k b WAIT 0 NOTIFY -> +QUEUED
		C UNLOCK k c -> 1
		A <- granted k 1 a
		C CLIENT PAUSE 60000 WRITE -> +OK
		+15s
		A PING -> +PONG
		C HEXISTS k a -> 1
		+45s
		A <- >["lock-refused" "k" "unconfirmed" "a"]
		A <- granted k 2 b
		A UNLOCK k b -> 1`},
	{"a lease that is shorter than the time to confirm", `
		C LOCK k c -> token
		A LOCK k a PX 100 WAIT 0 NOTIFY -> +QUEUED
		A LOCK k b PX 100 WAIT 0 NOTIFY -> +QUEUED
		C UNLOCK k c -> 1
		A <- granted k 1 a
		+99ms
		A PING -> +PONG
		+1ms
		A <- >["lock-refused" "k" "unconfirmed" "a"]
		A <- granted k 2 b
		A UNLOCK k b -> 1
		+1h
		A PING -> +PONG`},
	{"in a transaction and in a script nothing waits", `
		C LOCK k c -> token
		A MULTI -> +OK
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		A EXEC -> [nil]
		C EVAL return(redis.call('LOCK',KEYS[1],'a','WAIT','0','NOTIFY')) 1 k -> $nil
		parked 0`},
	{"words that make no sense", `
		A LOCK k a NOTIFY -> -ERR syntax error
		A LOCK k a WAIT 0 NOTIFY NOTIFY -> -ERR syntax error
		A LOCK.CONFIRM k a x -> -ERR value is not an integer or out of range
		A LOCK.CONFIRM k a -> -ERR wrong number of arguments for 'lock.confirm' command
		A SET s x -> +OK
		A LOCK.CONFIRM s a 1 -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A EXISTS k -> 0`},
	{"a connection has as many waits as it may have", `
		A CONFIG SET lock-max-waits-per-client 2 lock-max-waiters 2 -> +OK
		C MLOCK 2 k l c -> tokens=x,y
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		A LOCK k b WAIT 0 NOTIFY -> +QUEUED
		A LOCK l a WAIT 0 NOTIFY -> -LOCKLIMIT this connection has 2 waits already (lock-max-waits-per-client)
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		D LOCK k d WAIT 0 NOTIFY -> -LOCKLIMIT lock 'k' has 2 waiters already (lock-max-waiters)
		A LOCK.CANCEL k a -> 1
		A <- >["lock-refused" "k" "cancelled" "a"]
		A LOCK l a WAIT 0 NOTIFY -> +QUEUED`},
	{"a push names no key that its user may not read", `
		C ACL SETUSER limited on nopass ~k* %W~l* +@all -> +OK
		C LOCK k c -> token
		C LOCK l c -> token
		A LOCK.ATTACH b -> 0
		A AUTH limited x -> +OK
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED
		A LOCK m a WAIT 0 NOTIFY -> -NOPERM No permissions to access a key
		D LOCK l b WAIT 0 NOTIFY -> +QUEUED
		C UNLOCK l c -> 1
		C LOCK.CONFIRM l b 1 -> 0
		A PING -> +PONG
		C ACL SETUSER limited resetkeys -> +OK
		C UNLOCK k c -> 1
		A PING -> +PONG
		C EXISTS k -> 0`},
}

func TestNotifyScripts(t *testing.T) {
	play(t, nil, "A HELLO 3 -> "+conversation.Welcome+"\n", notifyScripts)
}
