//go:build oracle

package differential

// transactionCases returns plays of MULTI, EXEC, DISCARD, WATCH and UNWATCH with several connections.
func transactionCases() []blockingCase {
	return []blockingCase{
		{"commands run at EXEC", `
			A MULTI
			A SET k 1
			B GET k
			A INCR k
			A GET k
			A EXEC
			B GET k
			A GET k
		`},
		{"another form of the same value is no change", `
			A PFADD h a b c
			A WATCH h
			B PFDEBUG TODENSE h
			A MULTI
			A GET k
			A EXEC
			A DEL h
			A PFADD h a b c
			A WATCH h
			B PFDEBUG ENCODING h
			B PFDEBUG TODENSE h
			B PFDEBUG ENCODING h
			A MULTI
			A GET k
			A EXEC
		`},
		{"a BITFIELD of which every write fails is no change", `
			A WATCH k
			B BITFIELD k OVERFLOW FAIL SET u8 8 256
			A MULTI
			A GET k
			A EXEC
			A WATCH k
			B BITFIELD k OVERFLOW FAIL SET u8 16 256 SET u8 24 0
			A MULTI
			A GET k
			A EXEC
		`},
		{"an empty transaction", `
			A MULTI
			A EXEC
			A EXEC
			A DISCARD
		`},
		{"errors of the transaction itself", `
			A EXEC
			A DISCARD
			A EXEC x
			A MULTI
			A MULTI
			A WATCH k
			A SET k 1
			A EXEC
			A MULTI x
			A WATCH
			A UNWATCH x
			A UNWATCH
			A WATCH k2
			A SET k2 v EXAT 1000005
			A MULTI
			A EXEC
		`},
		{"an error while queueing gives the transaction up", `
			A MULTI
			A SET k 1
			A GET
			A SET k 2
			A EXEC
			A GET k
			A MULTI
			A NOSUCH
			A EXEC
			A MULTI
			A CLIENT NOSUCH
			A EXEC
			A MULTI
			A GET
			A DISCARD
			A MULTI
			A SET k 3
			A EXEC x
			A EXEC
			A GET k
		`},
		{"an error while running is a reply", `
			A SET k text
			A MULTI
			A SET a 1
			A INCR k
			A SADD k m
			A SET b 2
			A EXEC
			A MGET a b k
		`},
		{"discard", `
			A MULTI
			A SET k 1
			A DISCARD
			A GET k
			A EXEC
		`},
		{"nothing waits inside", `
			A XADD s 1-1 f v
			A MULTI
			A XREAD BLOCK 0 STREAMS s $
			A XREAD BLOCK 0 STREAMS s 0
			A EXEC
		`},
		{"who waits is served after the whole transaction", `
			A* XREAD BLOCK 0 STREAMS s $
			B MULTI
			B XADD s 1-1 f v
			B XADD s 1-2 f v
			B EXEC
			A<
			A* XREAD BLOCK 0 STREAMS s $
			B MULTI
			B XADD s 2-1 f v
			B DEL s
			B EXEC
			A?
			B XADD s 3-1 f v
			A<
		`},
		{"the database chosen inside stays", `
			A MULTI
			A SELECT 3
			A SET k 1
			A EXEC
			A GET k
			B GET k
			A SELECT 0
			A GET k
		`},
		{"a watched key that nobody touches", `
			A SET k 1
			A WATCH k
			B GET k
			B SET other 1
			B TTL k
			B SET k 2 NX
			B DEL gone
			A MULTI
			A INCR k
			A EXEC
		`},
		{"a watched key that somebody changes", `
			A SET k 1
			A WATCH k
			B INCR k
			A MULTI
			A INCR k
			A EXEC
			A GET k
			A MULTI
			A INCR k
			A EXEC
		`},
		{"what counts as a change", `
			A SET k 1
			A WATCH k
			B EXPIRE k 100
			A MULTI
			A EXEC
			A WATCH k
			B PERSIST k
			A MULTI
			A EXEC
			A WATCH k
			B SET k 1
			A MULTI
			A EXEC
			A WATCH k
			B RENAME k l
			A MULTI
			A EXEC
			A WATCH gone
			B SET gone 1
			A MULTI
			A EXEC
			A WATCH k
			B TOUCH k
			A MULTI
			A EXEC
			A WATCH k
			B COPY l k
			A MULTI
			A EXEC
			A WATCH k
			B SADD k m
			A MULTI
			A EXEC
			A WATCH k
			B MOVE k 1
			A MULTI
			A EXEC
		`},
		{"a change of one's own", `
			A SET k 1
			A WATCH k
			A INCR k
			A MULTI
			A GET k
			A EXEC
			A WATCH k
			A MULTI
			A INCR k
			A EXEC
			A MULTI
			A INCR k
			A EXEC
		`},
		{"a change before the watch", `
			A SET k 1
			B INCR k
			A WATCH k
			A MULTI
			A GET k
			A EXEC
		`},
		{"several keys, twice", `
			A WATCH a b
			A WATCH b c
			B SET c 1
			A MULTI
			A EXEC
			A WATCH a a a
			B SET b 1
			A MULTI
			A PING
			A EXEC
		`},
		{"unwatch, discard, exec, reset forget", `
			A WATCH k
			B SET k 1
			A UNWATCH
			A MULTI
			A EXEC
			A WATCH k
			A MULTI
			A DISCARD
			B SET k 2
			A MULTI
			A EXEC
			A WATCH k
			B SET k 3
			A RESET
			A MULTI
			A EXEC
			A MULTI
			A SET k 4
			A RESET
			A EXEC
			A GET k
		`},
		{"unwatch inside is queued", `
			A WATCH k
			A MULTI
			A UNWATCH
			B SET k 1
			A SET k 2
			A EXEC
			A GET k
		`},
		{"a failed transaction and its watches", `
			A WATCH k
			B SET k 1
			A MULTI
			A NOSUCH
			A EXEC
			A MULTI
			A EXEC
		`},
		{"a key of another database", `
			A WATCH k
			B SELECT 1
			B SET k 1
			A MULTI
			A EXEC
			A SELECT 1
			A WATCH k
			A SELECT 0
			B SET k 2
			A MULTI
			A EXEC
		`},
		{"flushing", `
			A WATCH k
			B FLUSHALL
			A MULTI
			A EXEC
			A SET k 1
			A WATCH k
			B FLUSHDB
			A MULTI
			A EXEC
			A SET k 1
			A SELECT 1
			A WATCH k
			B FLUSHDB
			A MULTI
			A EXEC
		`},
		{"swapping databases", `
			A WATCH k
			B SWAPDB 0 1
			A MULTI
			A EXEC
			A WATCH k
			B SELECT 1
			B SET k 1
			B SWAPDB 0 1
			A MULTI
			A EXEC
			A WATCH k
			B SWAPDB 0 1
			A MULTI
			A EXEC
			A WATCH k
			B SWAPDB 2 3
			A MULTI
			A EXEC
		`},
		{"a watched key expires", `
			A SET k 1 PX 600
			A WATCH k
			sleep 900
			A MULTI
			A EXEC
			A SET k 1 PX 20
			sleep 60
			A WATCH k
			A MULTI
			A EXEC
		`},
		{"replies off inside", `
			A MULTI
			A SET k 1
			A GET k
			A EXEC
			A MULTI
			A CLIENT NO-EVICT on
			A PING
			A ECHO x
			A EXEC
		`},
		{"errors that cannot be queued", `
			A MULTI
			A SAVE
			A EXEC
			A MULTI
			A SHUTDOWN
			A DISCARD
		`},
		{"quit inside", `
			A MULTI
			A SET k 1
			A QUIT
			B GET k
		`},
		{"a client that goes inside", `
			A WATCH k
			A MULTI
			A SET k 1
			A-
			B GET k
			B SET k 2
		`},
		{"pipelined", `
			A+ MULTI
			A+ SET k 1
			A+ GET k
			A+ EXEC
			A+ GET k
			A<
			A<
			A<
			A<
			A<
		`},
	}
}
