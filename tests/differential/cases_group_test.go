//go:build oracle

package differential

// groupCases returns the cases for consumer groups of streams.
func groupCases() family {
	return family{"group", []namedCase{
		{"xgroup create, setid, destroy", `
			XGROUP CREATE s g 0
			XGROUP CREATE s g $ MKSTREAM
			XGROUP CREATE s g 0
			XGROUP CREATE s g 0 MKSTREAM
			XLEN s
			XADD s 1-1 f v
			XADD s 2-1 f v
			XGROUP CREATE s h 1 ENTRIESREAD 1
			XGROUP CREATE s "\x00" 1-1 MKSTREAM ENTRIESREAD -1
			XGROUP CREATE s i 1 ENTRIESREAD -2
			XGROUP CREATE s i 1 ENTRIESREAD x
			XGROUP CREATE s i 1 ENTRIESREAD
			XGROUP CREATE s i x
			XGROUP CREATE s i -
			XGROUP CREATE s i 1 FOO
			XGROUP CREATE s
			XGROUP CREATE nostream g x
			XGROUP CREATE nostream g x MKSTREAM
			EXISTS nostream
			XINFO GROUPS s
			XGROUP SETID s g 0
			XGROUP SETID s g $ ENTRIESREAD 2
			XGROUP SETID s g 1 MKSTREAM
			XGROUP SETID s none 1
			XGROUP SETID none g 1
			XGROUP SETID s g x
			XINFO GROUPS s
			XGROUP DESTROY s g
			XGROUP DESTROY s g
			XGROUP DESTROY none g
			XINFO GROUPS s
			XGROUP
			XGROUP NOSUCH
			SET t x
			XGROUP CREATE t g 0
			XGROUP CREATE t g 0 MKSTREAM
			XGROUP DESTROY t g
			XINFO GROUPS t
			XINFO GROUPS none
			XINFO CONSUMERS none g
			XINFO CONSUMERS s none
			XINFO CONSUMERS t none
		`},
		{"consumers", `
			XGROUP CREATE s g $ MKSTREAM
			XGROUP CREATECONSUMER s g a
			XGROUP CREATECONSUMER s g a
			XGROUP CREATECONSUMER s g b
			XGROUP CREATECONSUMER s none a
			XGROUP CREATECONSUMER none g a
			XINFO CONSUMERS s g
			XADD s 1-1 f v
			XADD s 1-2 f v
			XREADGROUP GROUP g a STREAMS s >
			XINFO CONSUMERS s g
			XINFO GROUPS s
			XGROUP DELCONSUMER s g a
			XGROUP DELCONSUMER s g a
			XGROUP DELCONSUMER s none a
			XPENDING s g
			XINFO CONSUMERS s g
			XINFO STREAM s FULL
		`},
		{"reading new entries", `
			XADD s 1-1 f v
			XADD s 2-1 f v
			XADD s 3-1 f v
			XGROUP CREATE s g 0
			XREADGROUP GROUP g a COUNT 1 STREAMS s >
			XREADGROUP GROUP g b COUNT 1 STREAMS s >
			XREADGROUP GROUP g a STREAMS s >
			XREADGROUP GROUP g a STREAMS s >
			XREADGROUP GROUP g c STREAMS s >
			XINFO GROUPS s
			XINFO CONSUMERS s g
			XPENDING s g
			XPENDING s g - + 10
			XADD s 4-1 f v
			XREADGROUP GROUP g a NOACK STREAMS s >
			XPENDING s g
			XINFO GROUPS s
			XINFO STREAM s FULL
			XINFO STREAM s
		`},
		{"several streams", `
			XADD s 1-1 f v
			XADD t 1-1 f v
			XGROUP CREATE s g 0
			XGROUP CREATE t g 0
			XREADGROUP GROUP g a COUNT 2 STREAMS s t > >
			XREADGROUP GROUP g a STREAMS s t > >
			XREADGROUP GROUP g a STREAMS s t 0 >
			XADD t 2-1 f v
			XREADGROUP GROUP g a STREAMS s t > >
			XREADGROUP GROUP g a STREAMS s t 0 0
			XREADGROUP GROUP g a STREAMS s none 0 0
			XREADGROUP GROUP none a STREAMS s t 0 0
		`},
		{"history", `
			XADD s 1-1 f v
			XADD s 2-1 f v
			XADD s 3-1 f v
			XGROUP CREATE s g 0
			XREADGROUP GROUP g a STREAMS s 0
			XREADGROUP GROUP g a COUNT 2 STREAMS s >
			XREADGROUP GROUP g a STREAMS s 0
			XREADGROUP GROUP g a STREAMS s 1-1
			XREADGROUP GROUP g a COUNT 1 STREAMS s 0
			XREADGROUP GROUP g a STREAMS s 18446744073709551615-18446744073709551615
			XDEL s 1-1
			XREADGROUP GROUP g a STREAMS s 0
			XPENDING s g - + 10
			XREADGROUP GROUP g a NOACK STREAMS s 0
			XREADGROUP GROUP g b STREAMS s 0
			XPENDING s g - + 10
		`},
		{"xreadgroup: errors", `
			XADD s 1-1 f v
			XREADGROUP GROUP g a STREAMS s >
			XGROUP CREATE s g 0
			XREADGROUP GROUP g a STREAMS s $
			XREADGROUP GROUP g a STREAMS s +
			XREADGROUP GROUP g a STREAMS s x
			XREADGROUP GROUP g a STREAMS s t >
			XREADGROUP GROUP g a COUNT x STREAMS s >
			XREADGROUP GROUP g a BLOCK -1 STREAMS s >
			XREADGROUP GROUP g a BLOCK x STREAMS s >
			XREADGROUP GROUP g a FOO STREAMS s >
			XREADGROUP COUNT 1 NOACK STREAMS s >
			XREADGROUP GROUP g a COUNT 1 NOACK
			XREADGROUP NOACK NOACK NOACK STREAMS s >
			XREADGROUP GROUP g
			XREAD GROUP g a STREAMS s >
			XREAD STREAMS s >
			XREAD NOACK STREAMS s 0
			SET k x
			XREADGROUP GROUP g a STREAMS k >
			XREADGROUP GROUP g a STREAMS s k > >
			XINFO CONSUMERS s g
		`},
		{"xack", `
			XADD s 1-1 f v
			XADD s 2-1 f v
			XADD s 3-1 f v
			XGROUP CREATE s g 0
			XREADGROUP GROUP g a STREAMS s >
			XACK s g 1-1
			XACK s g 1-1 2-1 9-9
			XACK s g 3
			XACK s g 3-1 x
			XPENDING s g
			XACK s none 1-1
			XACK none g 1-1
			XACK s g x
			XACK s g 3-1 3-1
			XPENDING s g
			SET k x
			XACK k g 1-1
		`},
		{"xpending", `
			XADD s 1-1 f v
			XADD s 2-1 f v
			XADD s 3-1 f v
			XGROUP CREATE s g 0
			XPENDING s g
			XPENDING s g - + 10
			XREADGROUP GROUP g a COUNT 2 STREAMS s >
			XREADGROUP GROUP g b STREAMS s >
			XPENDING s g
			XPENDING s g - + 10
			XPENDING s g - + 1
			XPENDING s g - + 0
			XPENDING s g - + -1
			XPENDING s g (1-1 + 10
			XPENDING s g 1-1 (3-1 10
			XPENDING s g 2 2 10
			XPENDING s g + - 10
			XPENDING s g - + 10 a
			XPENDING s g - + 10 b
			XPENDING s g - + 10 none
			XPENDING s g - + 10 a x
			XPENDING s g - + 10 a x y
			XPENDING s g - + 10 a x y z
			XPENDING s g IDLE 0 - + 10
			XPENDING s g IDLE 1000000 - + 10
			XPENDING s g IDLE 0 - + 10 b
			XPENDING s g IDLE x - + 10
			XPENDING s g IDLE 5 - +
			XPENDING s g IDLE 5
			XPENDING s g - +
			XPENDING s g -
			XPENDING s g - + x
			XPENDING s g x + 10
			XPENDING s g (- + 10
			XPENDING s g - (0-0 10
			XPENDING s none
			XPENDING none g
			XPENDING none g - + x
			SET k x
			XPENDING k g
		`},
		{"xclaim", `
			XADD s 1-1 f v
			XADD s 2-1 f v
			XADD s 3-1 f v
			XADD s 4-1 f v
			XGROUP CREATE s g 0
			XREADGROUP GROUP g a COUNT 3 STREAMS s >
			XCLAIM s g b 0 1-1
			XCLAIM s g b 0 1-1 2-1 9-9 JUSTID
			XPENDING s g - + 10
			XCLAIM s g b 1000000 3-1
			XCLAIM s g b 0 3-1 IDLE 100000 RETRYCOUNT 5
			XPENDING s g - + 10
			XCLAIM s g c 50000 3-1
			XCLAIM s g a 0 4-1
			XCLAIM s g a 0 4-1 FORCE
			XCLAIM s g a 0 7-1 FORCE
			XPENDING s g - + 10
			XCLAIM s g a 0 1-1 LASTID 4-1
			XINFO GROUPS s
			XCLAIM s g a 0 1-1 LASTID 2-1
			XINFO GROUPS s
			XDEL s 2-1
			XCLAIM s g a 0 2-1
			XPENDING s g - + 10
			XCLAIM s g d 0 9-9
			XINFO CONSUMERS s g
			XCLAIM s g a 0 1-1 TIME 1000 RETRYCOUNT 0
			XCLAIM s g a 0 1-1 TIME -5
			XCLAIM s g a -5 1-1
			XPENDING s g - + 10
		`},
		{"xclaim: errors", `
			XADD s 1-1 f v
			XGROUP CREATE s g 0
			XCLAIM s g a x 1-1
			XCLAIM s g a 0 x
			XCLAIM s g a 0 1-1 x
			XCLAIM s g a 0 1-1 IDLE x
			XCLAIM s g a 0 1-1 IDLE
			XCLAIM s g a 0 1-1 TIME x
			XCLAIM s g a 0 1-1 RETRYCOUNT x
			XCLAIM s g a 0 1-1 LASTID x
			XCLAIM s g a 0 1-1 FORCE 2-1
			XCLAIM s none a 0 1-1
			XCLAIM none g a x 1-1
			XCLAIM s g a 0
			SET k x
			XCLAIM k g a 0 1-1
			XINFO CONSUMERS s g
		`},
		{"xautoclaim", `
			XADD s 1-1 f v
			XADD s 2-1 f v
			XADD s 3-1 f v
			XADD s 4-1 f v
			XADD s 5-1 f v
			XGROUP CREATE s g 0
			XREADGROUP GROUP g a STREAMS s >
			XAUTOCLAIM s g b 0 0 COUNT 2
			XAUTOCLAIM s g b 0 3-1 COUNT 2 JUSTID
			XAUTOCLAIM s g b 0 (3-1
			XPENDING s g - + 10
			XDEL s 2-1 4-1
			XAUTOCLAIM s g c 0 - COUNT 3
			XAUTOCLAIM s g c 0 4-1
			XPENDING s g - + 10
			XAUTOCLAIM s g d 1000000 0
			XAUTOCLAIM s g d 0 9-9
			XINFO CONSUMERS s g
			XAUTOCLAIM s g a x 0
			XAUTOCLAIM s g a 0 x
			XAUTOCLAIM s g a 0 0 COUNT 0
			XAUTOCLAIM s g a 0 0 COUNT x
			XAUTOCLAIM s g a 0 0 COUNT 9223372036854775807
			XAUTOCLAIM s g a 0 0 COUNT
			XAUTOCLAIM s g a 0 0 FOO
			XAUTOCLAIM s none a 0 0
			XAUTOCLAIM none g a 0 0
			XAUTOCLAIM none g a x 0
			SET k x
			XAUTOCLAIM k g a 0 0
		`},
		{"lag", `
			XGROUP CREATE s g $ MKSTREAM
			XINFO GROUPS s
			XADD s 1-1 f v
			XADD s 2-1 f v
			XADD s 3-1 f v
			XADD s 4-1 f v
			XADD s 5-1 f v
			XINFO GROUPS s
			XREADGROUP GROUP g a COUNT 2 STREAMS s >
			XINFO GROUPS s
			XDEL s 4-1
			XINFO GROUPS s
			XREADGROUP GROUP g a COUNT 1 STREAMS s >
			XINFO GROUPS s
			XREADGROUP GROUP g a COUNT 1 STREAMS s >
			XINFO GROUPS s
			XTRIM s MAXLEN 1
			XINFO GROUPS s
			XGROUP SETID s g 0
			XINFO GROUPS s
			XGROUP SETID s g 3-1
			XINFO GROUPS s
			XREADGROUP GROUP g a COUNT 1 STREAMS s >
			XINFO GROUPS s
			XGROUP SETID s g 9-9
			XINFO GROUPS s
			XDEL s 5-1
			XINFO GROUPS s
			XADD s 6-1 f v
			XINFO GROUPS s
			XGROUP SETID s g 5-1 ENTRIESREAD 3
			XREADGROUP GROUP g a COUNT 1 STREAMS s >
			XINFO GROUPS s
		`},
		{"an entry that is delivered twice", `
			XADD s 1-1 f v
			XGROUP CREATE s g 0
			XREADGROUP GROUP g a STREAMS s >
			XGROUP SETID s g 0
			XREADGROUP GROUP g b STREAMS s >
			XPENDING s g - + 10
			XINFO CONSUMERS s g
			XINFO STREAM s FULL COUNT 1
			XINFO STREAM s FULL COUNT 0
		`},
		{"groups follow their stream", `
			XADD s 1-1 f v
			XADD s 2-1 f v
			XGROUP CREATE s g 0
			XREADGROUP GROUP g a STREAMS s >
			COPY s t
			RENAME s u
			XPENDING t g - + 10
			XPENDING u g - + 10
			XACK t g 1-1
			XPENDING t g
			XPENDING u g
			MOVE u 1
			DEL t
			XADD t 1-1 f v
			XINFO GROUPS t
		`},
	}}
}

// groupPlays returns plays of several connections that wait as consumers.
func groupPlays() []blockingCase {
	return []blockingCase{
		{"a consumer waits", `
			B XGROUP CREATE s g $ MKSTREAM
			A* XREADGROUP GROUP g a BLOCK 0 STREAMS s >
			B XADD s 1-1 f v
			A<
			B XPENDING s g - + 10
			B XINFO GROUPS s
			A PING
		`},
		{"each entry goes to one consumer, first come first served", `
			D XGROUP CREATE s g $ MKSTREAM
			A* XREADGROUP GROUP g a COUNT 1 BLOCK 0 STREAMS s >
			B* XREADGROUP GROUP g b COUNT 1 BLOCK 0 STREAMS s >
			C* XREADGROUP GROUP g c COUNT 1 BLOCK 0 STREAMS s >
			D XADD s 1-1 f v
			A<
			B?
			D+ XADD s 2-1 f v
			D+ XADD s 3-1 f v
			B<
			C<
			D<
			D<
			D XPENDING s g - + 10
		`},
		{"one who takes all leaves nothing", `
			D XGROUP CREATE s g $ MKSTREAM
			A* XREADGROUP GROUP g a BLOCK 0 STREAMS s >
			B* XREADGROUP GROUP g b BLOCK 0 STREAMS s >
			D MULTI
			D XADD s 1-1 f v
			D XADD s 2-1 f v
			D EXEC
			A<
			B?
			D XADD s 3-1 f v
			B<
		`},
		{"two groups and a plain reader", `
			D XGROUP CREATE s g $ MKSTREAM
			D XGROUP CREATE s h $
			A* XREADGROUP GROUP g a BLOCK 0 STREAMS s >
			B* XREADGROUP GROUP h b BLOCK 0 NOACK STREAMS s >
			C* XREAD BLOCK 0 STREAMS s $
			D XADD s 1-1 f v
			A<
			B<
			C<
			D XPENDING s g
			D XPENDING s h
			D XINFO GROUPS s
		`},
		{"the stream goes", `
			D XGROUP CREATE s g $ MKSTREAM
			A* XREADGROUP GROUP g a BLOCK 0 STREAMS s >
			D DEL s
			A<
			D XGROUP CREATE s g $ MKSTREAM
			A* XREADGROUP GROUP g a BLOCK 0 STREAMS s >
			D SET s x
			A<
			D DEL s
			D XGROUP CREATE s g $ MKSTREAM
			A* XREADGROUP GROUP g a BLOCK 0 STREAMS s >
			D RENAME s t
			A<
		`},
		{"the group goes", `
			D XGROUP CREATE s g $ MKSTREAM
			A* XREADGROUP GROUP g a BLOCK 0 STREAMS s >
			D XGROUP DESTROY s g
			A<
			A PING
		`},
		{"time runs out", `
			D XGROUP CREATE s g $ MKSTREAM
			A+ XREADGROUP GROUP g a BLOCK 30 STREAMS s >
			A<
			D XINFO CONSUMERS s g
		`},
		{"history does not wait", `
			D XGROUP CREATE s g $ MKSTREAM
			A XREADGROUP GROUP g a BLOCK 0 STREAMS s 0
			D XGROUP CREATE t g $ MKSTREAM
			A XREADGROUP GROUP g a BLOCK 0 STREAMS s t > 0
		`},
		{"several streams", `
			D XGROUP CREATE s g $ MKSTREAM
			D XGROUP CREATE t g $ MKSTREAM
			A* XREADGROUP GROUP g a BLOCK 0 STREAMS s t > >
			D XADD t 1-1 f v
			A<
			D XPENDING t g - + 10
		`},
		{"in a transaction nothing waits", `
			D XGROUP CREATE s g $ MKSTREAM
			A MULTI
			A XREADGROUP GROUP g a BLOCK 0 STREAMS s >
			A EXEC
		`},
		{"a reader does not change what is watched", `
			D XADD s 1-1 f v
			D XGROUP CREATE s g 0
			A WATCH s
			D XREADGROUP GROUP g a STREAMS s >
			D XACK s g 1-1
			D XGROUP CREATECONSUMER s g b
			D XGROUP CREATE s h 0
			D XGROUP DESTROY s h
			A MULTI
			A PING
			A EXEC
		`},
	}
}
