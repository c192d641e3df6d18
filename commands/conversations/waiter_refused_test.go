package conversations

import (
	"lockserver/tests/conversation"
	"testing"
)

// waiterRefusedScripts: when the turn of a waiter comes, its command is refused if it would be refused then.
// Redis runs the command anew. The transaction of A gives the lock back and changes the state.
// admission_test.go has the commands that Redis has.
var waiterRefusedScripts = []script{
	{"not enough replicas", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 NOTIFY -> +QUEUED
		A MULTI -> +OK
		A UNLOCK k a -> +QUEUED
		A CONFIG SET min-replicas-to-write 1 -> +QUEUED
		A EXEC -> [1 +OK]
		B <- -NOREPLICAS Not enough good replicas to write.
		C <- >["lock-refused" "k" "error" "c"]
		parked 0
		A LOCK k a -> -NOREPLICAS Not enough good replicas to write.
		A EXISTS k -> 0`},
	{"out of memory", `
		A LOCK k a -> token
		B LOCK k b WAIT 0 -> waits
		C LOCK k c WAIT 0 NOTIFY -> +QUEUED
		A MULTI -> +OK
		A UNLOCK k a -> +QUEUED
		A CONFIG SET maxmemory 1 -> +QUEUED
		A EXEC -> [1 +OK]
		B <- -OOM command not allowed when used memory > 'maxmemory'.
		C <- >["lock-refused" "k" "error" "c"]
		parked 0`},
}

func TestWaitersAreRefused(t *testing.T) {
	play(t, nil, "C HELLO 3 -> "+conversation.Welcome+"\n", waiterRefusedScripts)
}
