package conversations

import (
	"testing"
)

// queueScripts show LOCK.CANCEL and the limits of queues.
var queueScripts = []script{
	{"a blocked wait ends with nil, and the others keep their places", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		D LOCK k d WAIT 0 -> waits
		A LOCK.CANCEL k c -> 1
		C <- $nil
		A LOCK.CANCEL k c -> 0
		A LOCK.CANCEL k a -> 0
		A LOCK.CANCEL other b -> 0
		A UNLOCK k a -> 1
		B <- token
		B UNLOCK k b -> 1
		D <- token`},
	{"the head is cancelled, and the next one goes", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		A MULTI -> +OK
		A UNLOCK k a -> +QUEUED
		A LOCK.CANCEL k b -> +QUEUED
		A EXEC -> [1 1]
		B <- $nil
		C <- token`},
	{"an MLOCK ends as a whole", `
		A MLOCK 2 k l a -> tokens=k,l
		B MLOCK 2 k l b WAIT 0 -> waits
		C LOCK l c WAIT 0 -> waits
		A LOCK.CANCEL l b -> 1
		B <- *nil
		A MUNLOCK 2 k l a -> [1 1]
		C <- token`},
	{"all waits of the owner end", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k b WAIT 1000 SHARED -> waits
		A LOCK.CANCEL k b -> 1
		B <- $nil
		C <- $nil
		parked 0`},
	{"an upgrade keeps its place when the owner's hold ends", `
		A LOCK k a SHARED PX 1000 -> token
		B LOCK k b SHARED PX 60000 -> token
		C LOCK k c WAIT 0 -> waits
		D LOCK k a WAIT 0 -> waits
		E LOCK k e WAIT 0 -> waits
		+2s
		parked 3
		B UNLOCK k b -> 1
		C <- token=c
		parked 2
		C UNLOCK k c -> 1
		D <- token>c
		parked 1
		D UNLOCK k a -> 1
		E <- token>c`},
	{"an MLOCK keeps its place when the owner loses a key that it held", `
		A LOCK k a PX 1000 -> token
		B LOCK l b -> token
		C LOCK k c WAIT 0 -> waits
		D MLOCK 2 k l a WAIT 0 -> waits
		E LOCK k e WAIT 0 -> waits
		+2s
		C <- token
		parked 2
		B UNLOCK l b -> 1
		B LOCK l b -> $nil
		parked 2
		C UNLOCK k c -> 1
		D <- tokens=k,l
		parked 1
		D MUNLOCK 2 k l a -> [1 1]
		E <- token`},
	{"from a script", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		A EVAL return(redis.call('LOCK.CANCEL',KEYS[1],ARGV[1])) 1 k b -> 1
		B <- $nil`},
	{"a wait for something else is none", `
		B BLPOP k 0 -> waits
		A LOCK.CANCEL k b -> 0
		A RPUSH k x -> 1
		B <- ["k" "x"]`},
	{"words that make no sense", `
		A LOCK.CANCEL k -> -ERR wrong number of arguments for 'lock.cancel' command
		A LOCK.CANCEL k a b -> -ERR wrong number of arguments for 'lock.cancel' command
		A LOCK.CANCEL k "" -> -ERR lock owner must not be empty`},
	{"a lock has as many waiters as it may have", `
		A CONFIG SET lock-max-waiters 2 -> +OK
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 -> waits
		D LOCK k d WAIT 0 -> -LOCKLIMIT lock 'k' has 2 waiters already (lock-max-waiters)
		D MLOCK 2 other k d WAIT 0 -> -LOCKLIMIT lock 'k' has 2 waiters already (lock-max-waiters)
		D EXISTS other -> 0
		D LOCK k d -> $nil
		A LOCK.CANCEL k b -> 1
		B <- $nil
		D LOCK k d WAIT 0 -> waits
		A UNLOCK k a -> 1
		C <- token
		A CONFIG SET lock-max-waiters 0 -> +OK
		A LOCK k a WAIT 0 -> waits`},
}

func TestQueueScripts(t *testing.T) { play(t, nil, "", queueScripts) }
