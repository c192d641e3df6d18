//go:build oracle

package differential

func optionalTrackingCases() []blockingCase {
	return []blockingCase{
		{"only what is asked for", `
			A= 3
			A CLIENT TRACKING ON OPTIN
			A GET a
			A CLIENT CACHING YES
			A GET b
			A GET c
			B MSET a 1 b 1 c 1
			A<
			A PING
			A CLIENT CACHING NO
			A CLIENT CACHING x
			A CLIENT CACHING YES
			A CLIENT TRACKINGINFO
			A CLIENT GETNAME
			A GET a
			A CLIENT TRACKINGINFO
			B SET a 2
			A<
			A CLIENT CACHING YES
			A NOSUCH
			A GET a
			B SET a 3
			A PING
			A CLIENT CACHING YES
			A GET
			A GET a
			B SET a 4
			A PING
		`},
		{"all but what is asked for", `
			A= 3
			A CLIENT TRACKING ON OPTOUT
			A CLIENT CACHING YES
			A CLIENT CACHING NO
			A CLIENT TRACKINGINFO
			A GET a
			A GET b
			B MSET a 1 b 1
			A<
			A PING
			A GET a
			B SET a 2
			A<
		`},
		{"for a transaction", `
			A= 3
			A CLIENT TRACKING ON OPTIN
			A CLIENT CACHING YES
			A MULTI
			A GET a
			A GET b
			A EXEC
			A GET c
			B MSET a 1 b 1 c 1
			A<
			A<
			A PING
			A MULTI
			A GET a
			A CLIENT CACHING YES
			A GET b
			A GET c
			A EXEC
			B MSET a 1 b 1 c 1
			A<
			A<
			A PING
			A CLIENT CACHING YES
			A MULTI
			A DISCARD
			A GET a
			B SET a 1
			A PING
		`},
		{"kept when the options are said again", `
			A= 3
			A CLIENT TRACKING ON OPTIN
			A CLIENT CACHING YES
			A CLIENT TRACKING ON OPTIN NOLOOP
			A CLIENT TRACKINGINFO
			A GET a
			B SET a 1
			A<
		`},
	}
}

func broadcastCases() []blockingCase {
	return []blockingCase{
		{"every key", `
			A= 3
			A CLIENT TRACKING ON BCAST
			B SET k 1
			A<
			B SET k 1
			A<
			B MSET c 1 a 1 b 1 c 2
			A<
			B DEL nothing
			B GET k
			A PING
			A SET k 2
			A<
			A PING
		`},
		{"by prefixes", `
			A= 3
			A CLIENT TRACKING ON BCAST PREFIX user: PREFIX item:
			B MSET user:2 x item:1 x other:1 x user:1 x
			A<
			A<
			B SET user 1
			B SET users: 1
			B SET user: 1
			A<
			A CLIENT TRACKING ON BCAST PREFIX other:
			B SET other:1 y
			A<
			A CLIENT TRACKING OFF
			B SET user:1 z
			A PING
		`},
		{"several who listen to the same", `
			A= 3
			B= 3
			A CLIENT TRACKING ON BCAST PREFIX a
			B CLIENT TRACKING ON BCAST PREFIX a PREFIX b
			C SET a1 1
			A<
			B<
			C SET b1 1
			B<
			A-
			sleep 20
			C SET a2 1
			B<
		`},
		{"no loop", `
			A= 3
			B= 3
			A CLIENT TRACKING ON BCAST NOLOOP
			B CLIENT TRACKING ON BCAST
			A SET k 1
			B<
			A PING
			B SET k 1
			A<
			B<
			A MSET a 1 b 1
			B<
			A PING
			A MULTI
			A SET k 1
			A EXEC
			B<
			A PING
			A EVAL "redis.call('SET', 'k', 1) return redis.call('SET', 'l', 1)" 0
			A<
			B<
			A PING
		`},
		{"a transaction is one message", `
			A= 3
			A CLIENT TRACKING ON BCAST
			B MULTI
			B SET b 1
			B SET a 1
			B DEL b
			B EXEC
			A<
			A MULTI
			A SET k 1
			A GET k
			A DEL k
			A EXEC
			A<
			A PING
		`},
		{"expiry", `
			A= 3
			A CLIENT TRACKING ON BCAST NOLOOP
			A SET k 1 PX 30
			sleep 150
			B GET k
			A<
		`},
		{"what is read does not matter", `
			A= 3
			A CLIENT TRACKING ON BCAST PREFIX a
			A GET k
			B SET k 1
			A PING
		`},
	}
}

func redirectCases() []blockingCase {
	return []blockingCase{
		{"to a subscriber in version 2", `
			A= 2
			B= 2
			B SUBSCRIBE __redis__:invalidate
			A CLIENT TRACKING ON REDIRECT {B}
			A GET k
			C SET k 1
			B<
			A PING
			A GET k
			A SET k 2
			B<
			C FLUSHALL
			B<
			A GET k
			B UNSUBSCRIBE
			C SET k 3
			B PING
			B SUBSCRIBE another
			A GET k
			C SET k 3
			B<
		`},
		{"to nobody who could be told", `
			A= 3
			B= 2
			A CLIENT TRACKING ON REDIRECT {B}
			A GET k
			C SET k 1
			A PING
			B PING
		`},
		{"to version 3", `
			A= 3
			B= 3
			A CLIENT TRACKING ON REDIRECT {B}
			A GET k
			C SET k 1
			B<
			A GET k
			A SET k 1
			B<
			A GET k
			B~ SET k 1
			C FLUSHDB
			B<
			A PING
		`},
		{"to a version 3 connection by one of version 2", `
			A= 2
			B= 3
			A CLIENT TRACKING ON REDIRECT {B} BCAST PREFIX k
			C SET k1 1
			B<
			A SET k2 1
			B<
		`},
		{"broken", `
			A= 3
			A CLIENT TRACKING ON REDIRECT {B}
			A GET k
			A GET l
			B-
			sleep 50
			C SET m 1
			A PING
		`},
		{"to oneself", `
			A= 3
			A CLIENT TRACKING ON REDIRECT {A}
			A GET k
			B SET k 1
			A<
		`},
	}
}
