package server

import (
	"net"
	"testing"
	"time"
)

// latchScripts are the edges of LATCH.SET, LATCH.DOWN, LATCH.WAIT and LATCH.GET.
var latchScripts = []struct{ name, text string }{
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
		+500ms
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

func TestLatchScripts(t *testing.T) {
	t.Parallel()
	for _, tt := range latchScripts {
		t.Run(tt.name, func(t *testing.T) {
			clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
			onEveryTransport(t, Options{Clock: clock}, func(t *testing.T, srv *Server, dial func() (net.Conn, error)) {
				converse(t, srv, clock, dial, tt.text)
			})
		})
	}
}
