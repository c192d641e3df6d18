package conversations

// lockWatchEdges: C watches the lock while something happens to it, and then tries a transaction.
var lockWatchEdges = []script{
	{"a grant to who asks", `
		C WATCH k -> +OK
		A LOCK k a -> token
		C MULTI -> +OK
		C PING -> +QUEUED
		C EXEC -> *nil`},
	{"a grant to who waits", `
		A LOCK k a PX 1000 -> token
		B LOCK k b WAIT 0 -> waits
		C WATCH k -> +OK
		A UNLOCK k a -> 1
		B <- token
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"a grant of several", `
		C WATCH l -> +OK
		A MLOCK 2 k l a -> [1750000000000000 1750000000000001]
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"re-entry", `
		A LOCK k a PX 1000 -> token
		C WATCH k -> +OK
		A LOCK k a PX 1000 -> token
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"a renewal by the client", `
		A LOCK k a PX 1000 -> token
		C WATCH k -> +OK
		+1ms
		A RENEW k a PX 1000 -> 1
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"a renewal by the server", `
		A LOCK k a -> token
		C WATCH k -> +OK
		+10s
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"one hold given back", `
		A LOCK k a PX 1000 -> token
		A LOCK k a PX 1000 -> token
		C WATCH k -> +OK
		A UNLOCK k a -> 0
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"the last hold given back", `
		A LOCK k a PX 1000 -> token
		C WATCH k -> +OK
		A UNLOCK k a -> 1
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"the end of the lease", `
		A LOCK k a PX 1000 -> token
		C WATCH k -> +OK
		+1000ms
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"the end of the lease, not noticed yet", `
		A LOCK k a PX 1000 -> token
		C WATCH k -> +OK
		!1000ms
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"force", `
		A LOCK k a PX 1000 -> token
		C WATCH k -> +OK
		B LOCK.FORCE k -> 1
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"joining the queue, leaving it, asking in vain, and looking are no changes", `
		A LOCK k a PX 9000 -> token
		C WATCH k -> +OK
		B LOCK k b WAIT 500 -> waits
		D LOCK k d WAIT 0 -> waits
		+500ms
		B <- $nil
		close D
		A LOCK k x -> $nil
		A UNLOCK k x -> $nil
		A UNLOCK k a TOKEN 1 -> $nil
		A RENEW k x PX 1 -> 0
		A MLOCK 2 k l x -> *nil
		A LOCK k a PX 0 -> ` + invalidLease + `
		C MULTI -> +OK
		C PING -> +QUEUED
		C EXEC -> [+PONG]`},
	{"nor is force of what is free", `
		C WATCH k -> +OK
		A LOCK.FORCE k -> 0
		C MULTI -> +OK
		C EXEC -> []`},
}
