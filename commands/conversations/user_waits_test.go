package conversations

import (
	"testing"
)

// userWaitsScripts: what becomes of waits with NOTIFY, and of renewed leases, when their users lose rights. A
// may do everything; B is ann, D hears of the owner b.
var userWaitsScripts = []script{
	{"a deleted user's waits end, also those of connections that have gone", `
		B LOCK k b WAIT 0 NOTIFY -> +QUEUED
		E AUTH ann x -> +OK
		E LOCK k e WAIT 0 NOTIFY -> +QUEUED
		close E
		F LOCK k f WAIT 0 NOTIFY -> +QUEUED
		parked 3
		A ACL DELUSER ann -> 1
		B <- closed
		+1ms
		D <- >["lock-refused" "k" "denied" "b"]
		+1ms
		parked 1
		A ACL SETUSER ann on nopass ~* &* +@all -> +OK
		A UNLOCK k a -> 1
		A EXISTS k -> 1
		F <- granted k x f`},
	{"a deleted user's wait behind another one, of a connection that has gone", `
		F LOCK k f WAIT 0 NOTIFY -> +QUEUED
		E AUTH ann x -> +OK
		E LOCK k e WAIT 0 NOTIFY -> +QUEUED
		close E
		+1ms
		parked 2
		A ACL DELUSER ann -> 1
		B <- closed
		+1ms
		parked 1`},
	{"a user loses the key of a wait behind another one, of a connection that has gone", `
		F LOCK k f WAIT 0 NOTIFY -> +QUEUED
		E AUTH ann x -> +OK
		E LOCK k e WAIT 0 NOTIFY -> +QUEUED
		close E
		+1ms
		parked 2
		A ACL SETUSER ann resetkeys ~other -> +OK
		+1ms
		parked 1`},
	{"the turn of a wait comes in the transaction that deletes its user", `
		E AUTH ann x -> +OK
		E LOCK k e WAIT 0 NOTIFY -> +QUEUED
		close E
		+1ms
		parked 1
		A MULTI -> +OK
		A ACL DELUSER ann -> +QUEUED
		A UNLOCK k a -> +QUEUED
		A EXEC -> [1 1]
		B <- closed
		A EXISTS k -> 0
		parked 0`},
	{"a user deletes itself in a transaction", `
		B LOCK k b WAIT 0 NOTIFY -> +QUEUED
		B MULTI -> +OK
		B ACL DELUSER ann -> +QUEUED
		B EXEC -> [1]
		B <- closed
		+1ms
		D <- >["lock-refused" "k" "denied" "b"]
		parked 0`},
	{"a user that loses the key, and another one", `
		B LOCK k b WAIT 0 NOTIFY -> +QUEUED
		B LOCK other b -> token
		B LOCK other bb WAIT 0 NOTIFY -> +QUEUED
		A ACL SETUSER ann resetkeys ~other -> +OK
		+1ms
		D <- >["lock-refused" "k" "denied" "b"]
		parked 1
		B PING -> +PONG`},
	{"a user that loses the command", `
		B LOCK k b WAIT 0 NOTIFY -> +QUEUED
		A ACL SETUSER ann -lock -> +OK
		+1ms
		B <- >["lock-refused" "k" "denied" "b"]
		D <- >["lock-refused" "k" "denied" "b"]
		parked 0`},
	{"the waits of a connection that is ended for a channel are still those of its user", `
		D LOCK.DETACH b -> 0
		B SUBSCRIBE c -> >["subscribe" "c" 1]
		B LOCK k b WAIT 0 NOTIFY -> +QUEUED
		A ACL SETUSER default -lock -> +OK
		A ACL SETUSER ann resetchannels -> +OK
		B <- closed
		+1ms
		parked 1
		A UNLOCK k a -> 1
		A EXISTS k -> 1`},
	{"leases are not renewed for a user that has lost the key", `
		D LOCK.DETACH b -> 0
		B LOCK mine b -> token
		B LOCK shared b SHARED -> token
		A ACL SETUSER ann resetkeys ~other -> +OK
		+29s
		A EXISTS mine shared -> 2
		+2s
		A EXISTS mine shared -> 0`},
}

func TestWaitsOfUsers(t *testing.T) {
	const begin = `
		A LOCK k a PX 600000 -> token
		A ACL SETUSER ann on nopass ~* &* +@all -> +OK
		B HELLO 3 -> ~
		B AUTH ann x -> +OK
		D HELLO 3 -> ~
		F HELLO 3 -> ~
		D LOCK.ATTACH b -> 0
`
	play(t, nil, begin, userWaitsScripts)
}
