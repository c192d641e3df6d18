package server

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lockOnceScripts show ONCE and TOKENS: commands that a client sends twice.
var lockOnceScripts = []struct{ name, text string }{
	{"LOCK is held once", `
		A LOCK k a PX 1000 ONCE -> token=1
		+900ms
		B LOCK k a PX 1000 ONCE -> token=1
		B PTTL k -> 1000
		B HGET k a -> "1"
		C LOCK k c ONCE -> $nil
		A UNLOCK k a -> 1
		A LOCK k a once -> token>1`},
	{"without it, or before it, holds count", `
		A LOCK k a ONCE -> token=1
		A LOCK k a -> token=1
		A LOCK k a ONCE -> token=1
		A HGET k a -> "2"
		A UNLOCK k a -> 0
		A UNLOCK k a -> 1`},
	{"the kind of the lease is that of the last call", `
		A LOCK k a PX 1000 ONCE -> token=1
		A HEXISTS k $watchdog -> 0
		A LOCK k a ONCE -> token=1
		A HEXISTS k $watchdog -> 1
		A PTTL k -> 30000
		A LOCK k a EX 2 ONCE -> token=1
		A HEXISTS k $watchdog -> 0
		A PTTL k -> 2000`},
	{"a lock of Redisson's scripts is not counted, but gets a token", `
		A HSET k a 1 -> 1
		A LOCK k a ONCE -> token=1
		A HGET k a -> "1"
		A HGET k $token -> token:1`},
	{"MLOCK counts what is not held yet", `
		A LOCK y a -> token=y
		A MLOCK 3 x y x a ONCE -> tokens=x,y,x
		A HGET x a -> "1"
		A HGET y a -> "1"
		A MLOCK 2 x y a ONCE WAIT 0 -> tokens=x,y
		B MLOCK 2 y z b ONCE -> *nil
		A MUNLOCK 2 x y a -> [1 1]`},
	{"in MULTI, and from a script", `
		A MULTI -> +OK
		A LOCK k a ONCE -> +QUEUED
		A LOCK k a ONCE -> +QUEUED
		A EXEC -> tokens=1,1
		A EVAL return(redis.call('LOCK','k','a','ONCE')) 0 -> token=1
		A GUARD k token:1 LOCK k a ONCE -> token=1
		A HGET k a -> "1"`},
	{"words that make no sense", `
		A LOCK k a ONCE ONCE -> -ERR syntax error
		A MLOCK 1 k a ONCE ONCE -> -ERR syntax error
		A UNLOCK k a ONCE -> -ERR syntax error
		A EXISTS k -> 0`},
	{"a wait that is sent again is granted with the first", `
		A LOCK k a -> token=1
		B LOCK k b WAIT 0 ONCE -> waits
		C LOCK k c WAIT 0 -> waits
		D LOCK k b WAIT 0 ONCE -> waits
		A UNLOCK k a -> 1
		B <- token=b
		D <- token=b
		D HGET k b -> "1"
		parked 1
		close B
		D UNLOCK k b -> 1
		C <- token>b`},
	{"and so is one that stands right behind it", `
		A LOCK k a -> token=1
		B LOCK k b WAIT 0 ONCE -> waits
		C LOCK k b WAIT 0 ONCE -> waits
		A UNLOCK k a -> 1
		B <- token=b
		C <- token=b
		B HGET k b -> "1"`},
	{"the watchdog follows to the connection that was answered last", `
		A LOCK k a ONCE -> token=1
		B LOCK k a ONCE -> token=1
		close A
		+60s
		B UNLOCK k a -> 1`},
	{"MUNLOCK with tokens", `
		A MLOCK 2 x y a -> tokens=x,y
		A MUNLOCK 2 x y a TOKENS token:x token:x -> [1 $nil]
		A MUNLOCK 2 x y a TOKENS token:x token:y -> [$nil 1]
		A MUNLOCK 1 x a TOKENS 5 -> [$nil]
		A EXISTS x y -> 0`},
	{"MUNLOCK with tokens that make no sense", `
		A MLOCK 2 x y a -> tokens=x,y
		A MUNLOCK 2 x y a TOKENS token:x -> -ERR syntax error
		A MUNLOCK 2 x y a TOKENS token:x token:y token:x -> -ERR syntax error
		A MUNLOCK 2 x y a TOKENS token:x token:y TOKENS token:x token:y -> -ERR syntax error
		A MUNLOCK 2 x y a TOKENS token:x 0 -> -ERR value is not an integer or out of range
		A MUNLOCK 2 x y a TOKENS token:x x -> -ERR value is not an integer or out of range
		A MUNLOCK 2 x y a TOKEN token:x -> -ERR syntax error
		A EXISTS x y -> 2`},
}

func TestLockOnceScripts(t *testing.T) {
	t.Parallel()
	for _, tt := range lockOnceScripts {
		t.Run(tt.name, func(t *testing.T) {
			clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
			onATransport(t, Options{Clock: clock}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
				converse(t, srv, clock, dial, tt.text)
			})
		})
	}
}

// A grant that its client has not read is taken back when the client goes. It is not if the same owner has
// sent its LOCK ... ONCE over a second connection, and got the reply that it holds the lock.
func TestTakenBackOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ first, second, next string }{
		{"LOCK l b WAIT 0 ONCE", "LOCK l b WAIT 0 ONCE", "LOCK l c WAIT 0"},
		{"LOCK l b WAIT 0", "LOCK l b WAIT 0 ONCE", "LOCK l c WAIT 0"},
		{"MLOCK 2 m l b WAIT 0 ONCE", "MLOCK 2 m l b WAIT 0 ONCE", "MLOCK 2 l m c WAIT 0"},
	} {
		t.Run(tt.first, func(t *testing.T) {
			onEveryLog(t, func(t *testing.T, w *logWorld) {
				holder, first, second, next := w.client(t), w.client(t), w.client(t), w.client(t)
				require.Positive(t, holder.Do("LOCK", "l", "a").Int)
				first.Send(strings.Fields(tt.first)...)
				awaitParked(t, w.srv, 1)
				second.Send(strings.Fields(tt.second)...)
				awaitParked(t, w.srv, 2)
				next.Send(strings.Fields(tt.next)...)
				awaitParked(t, w.srv, 3)
				w.disk.hold()
				holder.Send("UNLOCK", "l", "a")
				awaitParked(t, w.srv, 1)
				w.awaitPending(t, 3)
				first.Close()
				eventually(t, func() bool { return w.srv.connected() == 3 }, "the first has gone")
				require.Equal(t, 1, w.srv.parked(), "the second is answered that it holds the lock")
				w.disk.release()
				require.Equal(t, int64(1), holder.Receive().Int)
				second.Receive()
				require.Equal(t, "b", lockOwner(holder, "l"))
				require.Equal(t, "1", second.Do("HGET", "l", "b").Str)
				require.Equal(t, int64(1), second.Do("UNLOCK", "l", "b").Int)
				if second.Do("EXISTS", "m").Int == 1 {
					second.Do("UNLOCK", "m", "b")
				}
				next.Receive()
				require.Equal(t, "c", lockOwner(holder, "l"))
			})
		})
	}
}
