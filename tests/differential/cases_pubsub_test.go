//go:build oracle

package differential

import "testing"

// TestPubSub plays publishers and listeners on several connections.
func TestPubSub(t *testing.T) { playAll(t, startPair(t, ""), pubsubCases()) }

func pubsubCases() []blockingCase {
	return []blockingCase{
		{"channels", `
			A SUBSCRIBE a b a
			A<
			A<
			B PUBLISH a hello
			A<
			B PUBLISH c hello
			B PUBLISH b ""
			A<
			B PUBLISH b "a\r\nb\x00"
			A<
			A UNSUBSCRIBE a
			B PUBLISH a gone
			A UNSUBSCRIBE nothing
			A SUBSCRIBE ""
			B PUBLISH "" x
			A<
			A UNSUBSCRIBE b ""
			A<
			A UNSUBSCRIBE
			B PUBLISH b gone
			A PING
			A SUBSCRIBE c
			A UNSUBSCRIBE
			A UNSUBSCRIBE x y
			A<
		`},
		{"patterns", `
			A PSUBSCRIBE n?ws.* n?ws.*
			A<
			B PUBLISH news.art x
			A<
			B PUBLISH nws.art x
			A PSUBSCRIBE [x
			B PUBLISH x y
			A<
			A PUNSUBSCRIBE n?ws.*
			A PUNSUBSCRIBE n?ws.*
			B PUBLISH news.art x
			B PUBSUB NUMPAT
			A PUNSUBSCRIBE
			A PUNSUBSCRIBE
			A PSUBSCRIBE \*
			B PUBLISH x y
			B PUBLISH * y
			A<
		`},
		{"one client by channel and by pattern", `
			A SUBSCRIBE a
			A PSUBSCRIBE *
			B PUBLISH a x
			A<
			A<
			B PUBSUB NUMSUB a
			B PUBSUB NUMPAT
			A UNSUBSCRIBE
			B PUBLISH a x
			A<
			A PUNSUBSCRIBE
			B PUBLISH a x
		`},
		{"sharded channels", `
			A SSUBSCRIBE s t
			A<
			A SUBSCRIBE s
			B PUBLISH s plain
			A<
			B SPUBLISH s sharded
			A<
			B SPUBLISH u nobody
			B PUBSUB CHANNELS
			B PUBSUB SHARDCHANNELS t*
			B PUBSUB SHARDCHANNELS u*
			B PUBSUB SHARDNUMSUB s t u
			B PUBSUB SHARDNUMSUB
			A UNSUBSCRIBE
			A SUNSUBSCRIBE s nothing
			A<
			A SUNSUBSCRIBE
			A SUNSUBSCRIBE
			B SPUBLISH s gone
		`},
		{"PUBSUB", `
			A SUBSCRIBE a
			B PSUBSCRIBE x* y*
			B<
			C PSUBSCRIBE x*
			D PUBSUB CHANNELS
			D PUBSUB CHANNELS *
			D PUBSUB CHANNELS b*
			D PUBSUB CHANNELS a b
			D PUBSUB NUMPAT
			D PUBSUB NUMPAT x
			D PUBSUB NUMSUB
			D PUBSUB NUMSUB a x* a nothing
			D PUBSUB NUMSUB ""
			D PUBSUB SHARDCHANNELS a b
			D PUBSUB
			D PUBSUB BAD
			D PUBSUB BAD x
			D PUBLISH a
			D PUBLISH a b c
			D SPUBLISH a
			D SUBSCRIBE
			D PSUBSCRIBE
			D SSUBSCRIBE
		`},
		{"what a version 2 client may do while it listens", `
			A= 2
			A SUBSCRIBE a
			A PING
			A PING hello
			A PING a b
			A GET k
			A PUBLISH a x
			A NOSUCH
			A GET
			A CLIENT LIST
			A PUBSUB CHANNELS
			A HELLO 3
			A MULTI
			A EXEC
			A SUBSCRIBE
			A ECHO x
			A AUTH x
			A SSUBSCRIBE s
			A UNSUBSCRIBE
			A GET k
			A SUNSUBSCRIBE
			A GET k
			A PING
			A SUBSCRIBE a
			A RESET
			A GET k
			B PUBLISH a gone
		`},
		{"a version 3 client may do everything", `
			A= 3
			A SUBSCRIBE a
			A SET k v
			A GET k
			A PING
			A PING hello
			B PUBLISH a x
			A<
			A ECHO x
			A= 2
			A GET k
			A PING
			A RESET
		`},
		{"both versions at once", `
			A= 2
			B= 3
			A SUBSCRIBE a
			B SUBSCRIBE a
			C PUBLISH a x
			A<
			B<
			A PSUBSCRIBE a*
			B PSUBSCRIBE a*
			C PUBLISH a x
			A<
			A<
			B<
			B<
		`},
		{"to oneself", `
			A= 3
			A SUBSCRIBE a
			A~ PUBLISH a x
			A PSUBSCRIBE p
			A~ PUBLISH p x
			A SSUBSCRIBE s
			A~ SPUBLISH s x
			B PUBLISH a y
			A<
		`},
		{"in a transaction", `
			A SUBSCRIBE a
			B MULTI
			B PUBLISH a 1
			B SET k v
			B PUBLISH a 2
			B PUBLISH b 3
			A?
			B EXEC
			A<
			A<
			B MULTI
			B SUBSCRIBE a b
			B PSUBSCRIBE *
			B UNSUBSCRIBE b
			B PUNSUBSCRIBE
			B PING
			B EXEC
			B PING
			B<
			C PUBLISH a x
			A<
			B<
		`},
		{"replies that are switched off", `
			A+ CLIENT REPLY OFF
			A SUBSCRIBE a
			B PUBLISH a x
			A<
			A PSUBSCRIBE b*
			A+ PING
			B PUBLISH b x
			A<
			A PUNSUBSCRIBE
			A UNSUBSCRIBE
			A UNSUBSCRIBE
			A CLIENT REPLY ON
			A+ CLIENT REPLY SKIP
			A SUBSCRIBE c
			B PUBLISH c x
			A<
			A PING
		`},
		{"who is gone is not counted", `
			A SUBSCRIBE a
			C PSUBSCRIBE a
			B PUBLISH a x
			A-
			C-
			sleep 50
			B PUBLISH a x
			B PUBSUB CHANNELS
			B PUBSUB NUMPAT
			D SUBSCRIBE a
			B CLIENT KILL TYPE pubsub
			B PUBLISH a x
			B CLIENT LIST TYPE pubsub
		`},
		{"reset", `
			A= 3
			A SUBSCRIBE a b
			A<
			A PSUBSCRIBE p
			A SSUBSCRIBE s
			A RESET
			B PUBLISH a x
			B PUBLISH p x
			B SPUBLISH s x
			B PUBSUB NUMPAT
			A UNSUBSCRIBE
			A GET k
		`},
		{"messages reach one who waits", `
			A= 3
			A SUBSCRIBE a
			A* XREAD BLOCK 0 STREAMS s $
			B PUBLISH a x
			A<
			B PUBLISH a y
			A<
			A?
			B XADD s 1-1 f v
			A<
			B PUBLISH a z
			A<
		`},
	}
}
