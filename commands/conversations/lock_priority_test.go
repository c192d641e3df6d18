package conversations

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// priorityScripts show PRIORITY. A waiter gains a level in ten seconds.
var priorityScripts = []script{
	{"the higher one first, and first come, first served within one", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 PRIORITY 5 -> waits
		D LOCK k d WAIT 0 PRIORITY 9 -> waits
		E LOCK k e PRIORITY 5 WAIT 0 -> waits
		F LOCK k f WAIT 0 PRIORITY 0 -> waits
		A UNLOCK k a -> 1
		D <- token
		D UNLOCK k d -> 1
		C <- token
		C UNLOCK k c -> 1
		E <- token
		E UNLOCK k e -> 1
		B <- token
		B UNLOCK k b -> 1
		F <- token`},
	{"who has waited ten seconds longer has one level more", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		+9999ms
		C LOCK k c WAIT 0 PRIORITY 1 -> waits
		+1ms
		D LOCK k d WAIT 0 PRIORITY 1 -> waits
		A UNLOCK k a -> 1
		C <- token
		C UNLOCK k c -> 1
		B <- token
		B UNLOCK k b -> 1
		D <- token`},
	{"with 0 no waiter ages, and a change counts for those that wait", `
		A CONFIG SET lock-priority-aging 0 -> +OK
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		+1h
		C LOCK k c WAIT 0 PRIORITY 1 -> waits
		A UNLOCK k a -> 1
		C <- token
		D LOCK k d WAIT 0 PRIORITY 1 -> waits
		C CONFIG SET lock-priority-aging 1000 -> +OK
		C UNLOCK k c -> 1
		B <- token
		B UNLOCK k b -> 1
		D <- token`},
	{"a free lock that an MLOCK waits for", `
		A LOCK l a -> token
		B MLOCK 2 k l b WAIT 0 -> waits
		C LOCK k c -> $nil
		C LOCK k c WAIT 0 PRIORITY 1 -> token
		A UNLOCK l a -> 1
		C UNLOCK k c -> 1
		B <- tokens=k,l`},
	{"the same over MLOCK and shared locks", `
		A MLOCK 2 k l a -> tokens=k,l
		B LOCK k b WAIT 0 -> waits
		C LOCK l c SHARED WAIT 0 -> waits
		D MLOCK 2 k l d SHARED WAIT 0 PRIORITY 3 -> waits
		E LOCK k e SHARED WAIT 0 PRIORITY 4 -> waits
		A MUNLOCK 2 k l a -> [1 1]
		D <- tokens=k2,l2
		E <- token
		C <- token
		E UNLOCK k e -> 1
		D UNLOCK k d -> 1
		B <- token`},
	{"permits", `
		A SEM.ACQUIRE s a LIMIT 3 PERMITS 3 -> token
		B SEM.ACQUIRE s b PERMITS 3 WAIT 0 -> waits
		C SEM.ACQUIRE s c WAIT 0 PRIORITY 2 -> waits
		A SEM.RELEASE s a PERMITS 1 -> 2
		C <- token
		A SEM.RELEASE s a -> 0
		C SEM.RELEASE s c -> 0
		B <- token`},
	{"without a connection, and asked again the place and its priority stay", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 PRIORITY 7 NOTIFY -> +QUEUED
		C LOCK k c WAIT 0 NOTIFY -> +QUEUED
		A UNLOCK k a -> 1
		C LOCK.CONFIRM k c 1 -> 0
		C UNLOCK k c -> 1
		B <- token`},
	{"to stand before an owner can close a cycle, and the new wait is refused", `
		A LOCK a z -> token
		B LOCK b x -> token
		C LOCK a x WAIT 0 -> waits
		D MLOCK 2 a b w WAIT 0 PRIORITY 1 -> -DEADLOCK w -> b -> x -> a -> w
		D MLOCK 2 a b w WAIT 0 -> waits
		A UNLOCK a z -> 1
		C <- token
		C MUNLOCK 2 a b x -> [1 1]
		D <- tokens=a,b`},
	{"to stand before a reader can close a cycle, too", `
		A LOCK k a SHARED -> token
		B LOCK l b -> token
		C LOCK x c -> token
		D MLOCK 2 x k d SHARED WAIT 0 -> waits
		B LOCK k b SHARED WAIT 0 -> waits
		A LOCK l a WAIT 0 -> waits
		E LOCK k e WAIT 0 PRIORITY 1 -> -DEADLOCK e -> k -> a -> l -> b -> k -> e
		C UNLOCK x c -> 1
		D <- tokens=x,k
		B <- token
		B UNLOCK l b -> 1
		A <- token`},
	{"the holder waits for who has passed it", `
		A LOCK k a -> token
		B LOCK l b -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 PRIORITY 9 -> waits
		D LOCK l d WAIT 0 -> waits
		A UNLOCK k a -> 1
		C <- token
		C LOCK l c WAIT 0 -> -DEADLOCK c -> l -> b -> k -> c
		C UNLOCK k c -> 1
		B <- token`},
	{"in a transaction and in a script nothing waits", `
		A LOCK k a -> token
		B MULTI -> +OK
		B LOCK k b WAIT 0 PRIORITY 9 -> +QUEUED
		B EXEC -> [$nil]
		B EVAL return(redis.call('LOCK',KEYS[1],'b','WAIT',0,'PRIORITY',9)) 1 k -> $nil`},
	{"words that make no sense", `
		A LOCK k a PRIORITY 1 -> -ERR PRIORITY needs WAIT
		A MLOCK 1 k a PRIORITY 1 -> -ERR PRIORITY needs WAIT
		A SEM.ACQUIRE s a LIMIT 1 PRIORITY 0 -> -ERR PRIORITY needs WAIT
		A LOCK k a WAIT 0 PRIORITY 10 -> -ERR a priority must be an integer from 0 to 9
		A LOCK k a WAIT 0 PRIORITY -1 -> -ERR a priority must be an integer from 0 to 9
		A MLOCK 1 k a WAIT 0 PRIORITY x -> -ERR a priority must be an integer from 0 to 9
		A SEM.ACQUIRE s a LIMIT 1 WAIT 0 PRIORITY 256 -> -ERR a priority must be an integer from 0 to 9
		A LOCK k a WAIT 0 PRIORITY 1 PRIORITY 1 -> -ERR syntax error
		A LOCK k a WAIT 0 PRIORITY -> -ERR syntax error
		A EXISTS k s -> 0`},
}

// TestPriorities plays priorityScripts.
func TestPriorities(t *testing.T) { play(t, nil, "", priorityScripts) }

// TestPriorityIsShown: LOCK.INFO, SEM.INFO and LOCK.WAITERS show it, and LOCK.INFO has the order of grants.
func TestPriorityIsShown(t *testing.T) {
	t.Parallel()
	srv := serve(t, server.Options{Clock: server.NewManualClock(begun)})
	c := client(t, srv)
	c.Do("LOCK", "k", "a")
	c.Do("SEM.ACQUIRE", "s", "a", "LIMIT", "1")
	for i, level := range []string{"0", "2", "9"} {
		client(t, srv).Send("LOCK", "k", "k"+level, "WAIT", "0", "PRIORITY", level)
		awaitParked(t, srv, 2*i+1)
		client(t, srv).Send("SEM.ACQUIRE", "s", "s"+level, "WAIT", "0", "PRIORITY", level)
		awaitParked(t, srv, 2*i+2)
	}
	shown := func(command, key string) (list []string) {
		for _, w := range testkit.Entries(t, c.Do(command, key))["waiters"].Elems {
			of := testkit.Entries(t, w)
			list = append(list, fmt.Sprint(of["owner"].Str, " ", of["priority"].Int))
		}
		return list
	}
	require.Equal(t, []string{"k9 9", "k2 2", "k0 0"}, shown("LOCK.INFO", "k"))
	require.Equal(t, []string{"s9 9", "s2 2", "s0 0"}, shown("LOCK.INFO", "s"))
	require.Equal(t, []string{"s9 9", "s2 2", "s0 0"}, shown("SEM.INFO", "s"))
	var waiters []string
	for _, w := range c.Do("LOCK.WAITERS").Elems {
		of := testkit.Entries(t, w)
		waiters = append(waiters, fmt.Sprint(of["owner"].Str, " ", of["priority"].Int))
	}
	require.Equal(t, []string{"k0 0", "s0 0", "k2 2", "s2 2", "k9 9", "s9 9"}, waiters, "the longest first")
}
