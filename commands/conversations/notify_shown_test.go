package conversations

import (
	"testing"

	"github.com/stretchr/testify/require"
	"lockserver/server"
	"lockserver/tests/conversation"
)

// LOCK.DEADLOCKS lists two cycles through waits with NOTIFY. A wait would have closed the first, and a
// change of a holder closed the second later.
func TestNotifyDeadlocksAreShown(t *testing.T) {
	t.Parallel()
	clock := server.NewManualClock(begun)
	srv := serve(t, server.Options{Clock: clock, Directives: map[string]string{}})
	conversation.Run(t, worldOf(srv, clock), `
		A HELLO 3 -> `+conversation.Welcome+`
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
		A <- >["lock-refused" "m" "deadlock" "c"]`)
	c := client(t, srv)
	c.Hello(3)
	list := c.Do("LOCK.DEADLOCKS").Elems
	require.Len(t, list, 2)
	require.Contains(t, list[0].String(), `"cycle":["c" "m" "a" "l" "c"]`, "the latest")
	require.Contains(t, list[1].String(), `"cycle":["c" "k" "a" "l" "c"]`)
}

// A push names no key that its user may not read. The connection is attached to the owner of an MLOCK, and
// may read one of the keys. It attaches before the grant, and after it.
func TestNotifyHidesKeys(t *testing.T) {
	t.Parallel()
	clock := server.NewManualClock(begun)
	srv := serve(t, server.Options{Clock: clock, Directives: map[string]string{}})
	conversation.Run(t, worldOf(srv, clock), `
		A HELLO 3 -> `+conversation.Welcome+`
		C ACL SETUSER limited on nopass ~k* +@all -> +OK
		A AUTH limited x -> +OK
		A LOCK.ATTACH PREFIX program1 -> 0
		C MLOCK 2 k l c -> tokens=x,y
		D MLOCK 2 k l program1:b WAIT 0 NOTIFY -> +QUEUED
		D LOCK l program1:d WAIT 100 NOTIFY -> +QUEUED
		+100ms
		A PING -> +PONG
		C MUNLOCK 2 k l c -> [1 1]
		A PING -> +PONG
		C HEXISTS l program1:b -> 1
		A LOCK.DETACH PREFIX program1 -> 1
		A LOCK.ATTACH PREFIX program1 -> 1
		A PING -> +PONG
		A LOCK.ATTACH program1:b -> 1
		A PING -> +PONG
		+10s
		A PING -> +PONG
		C EXISTS k l -> 0
		C LOCK l program1:b PX 1000 -> token
		+1s
		A PING -> +PONG
		C LOCK k program1:b PX 1000 -> token=1
		+1s
		A <- >["lock-lost" "k" token:1 "expired" "program1:b"]`)
}
