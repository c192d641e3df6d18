//go:build oracle

package differential

func streamCases() family {
	return family{"stream", []namedCase{
		{"xadd: ids", `
			XADD x 1-1 f v
			XADD x 1-1 f v
			XADD x 1-0 f v
			XADD x 0-5 f v
			XADD x 1-2 f v
			XADD x 1-* f v
			XADD x 5 f v
			XADD x 5-* f v
			XADD x 4-* f v
			XADD y 0-0 f v
			XADD y 0 f v
			XADD y 0-* f v
			XADD y 0-1 f v
			XADD y abc f v
			XADD y 1-abc f v
			XADD y 1- f v
			XADD y -1 f v
			XADD y "" f v
			XADD y - f v
			XADD y + f v
			XADD y $ f v
			XADD y 1-1-1 f v
			XADD y 1-18446744073709551616 f v
			XADD y 18446744073709551616 f v
			XADD y *-1 f v
			XADD z 18446744073709551615-18446744073709551615 f v
			XADD z * f v
			XADD z 18446744073709551615-* f v
			XADD w 7-18446744073709551615 f v
			XADD w 7-* f v
			XADD w 8-* f v
			XADD none 0-0 f v
			EXISTS none
			XLEN x
			XINFO STREAM x
		`},
		{"xadd: arguments", `
			XADD x 1-1
			XADD x 1-1 f
			XADD x 1-1 f v g
			XADD x 1-1 f v f v
			XADD x
			XADD x 2-1 "" ""
			XADD x 3-1 "f\x00" "v\r\n" g {v*1000}
			XRANGE x - +
			XADD gone NOMKSTREAM 1-1 f v
			EXISTS gone
			XADD x NOMKSTREAM 4-1 f v
			XADD x NOMKSTREAM MAXLEN 2 5-1 f v
			XADD x MAXLEN 2 NOMKSTREAM 6-1 f v
			XLEN x
			SET s v
			XADD s 1-1 f v
			XADD s abc f v
			XADD s 1-1 f
			XADD s NOMKSTREAM 1-1 f v
			XADD x BAD 9-1 f v
			XADD x MAXLEN 9-1 f v
			XADD x MAXLEN abc 9-1 f v
			XADD x MAXLEN -1 9-1 f v
			XADD x MAXLEN = 9-1 f v
			XADD x MAXLEN ~ -1 9-1 f v
			XADD x MAXLEN ~ 10 LIMIT 9-1 f v
			XADD x MAXLEN ~ 10 LIMIT abc 9-1 f v
			XADD x MAXLEN ~ 10 LIMIT -1 9-1 f v
			XADD x MAXLEN 10 LIMIT 5 9-1 f v
			XADD x MAXLEN = 10 LIMIT 5 9-1 f v
			XADD x LIMIT 5 9-1 f v
			XADD x MAXLEN 5 MINID 1 9-1 f v
			XADD x MINID 1 MAXLEN 5 9-1 f v
			XADD x MAXLEN 5 MAXLEN 6 9-1 f v
			XADD x MINID abc 9-1 f v
			XADD x MINID - 9-1 f v
			XADD x MINID ~ 3 LIMIT 10 9-1 f v
			XADD x MINID = 6 10-1 f v
			XADD x MAXLEN 0 11-1 f v
			XLEN x
			EXISTS x
			XADD x maxlen ~ 5 limit 0 12-1 f v
			XADD new MAXLEN 0 1-1 f v
			EXISTS new
			XINFO STREAM new
			XRANGE x - +
		`},
		{"xlen, xrange, xrevrange", `
			XLEN gone
			XRANGE gone - +
			XREVRANGE gone + -
			XADD x 1-1 a 1
			XADD x 1-2 a 2
			XADD x 2-1 a 3
			XADD x 3-5 a 4 b 5
			XLEN x
			XRANGE x - +
			XRANGE x + -
			XREVRANGE x + -
			XREVRANGE x - +
			XRANGE x 1 2
			XRANGE x 1 1
			XRANGE x 1-2 2-1
			XRANGE x (1-1 +
			XRANGE x (1-2 (3-5
			XRANGE x (1 +
			XRANGE x - (2
			XREVRANGE x (3-5 (1-1
			XRANGE x (- +
			XRANGE x - (+
			XRANGE x (0-0 +
			XRANGE x (18446744073709551615-18446744073709551615 +
			XRANGE x - (0-0
			XRANGE x - + COUNT 2
			XRANGE x - + COUNT 0
			XRANGE x - + COUNT -1
			XRANGE x - + COUNT abc
			XRANGE x - + COUNT
			XRANGE x - + COUNT 1 COUNT 3
			XRANGE x - + BAD 2
			XREVRANGE x + - COUNT 2
			XREVRANGE x + - COUNT 0
			XREVRANGE x + - COUNT -5
			XRANGE x abc +
			XRANGE x - abc
			XRANGE x $ +
			XRANGE x 1-1-1 +
			XREVRANGE x abc -
			XRANGE gone abc +
			XRANGE gone - + COUNT 0
			XRANGE x -
			SET s v
			XLEN s
			XRANGE s - +
			XRANGE s abc +
			XREVRANGE s + -
			XRANGE x - + COUNT 9223372036854775807
			XRANGE x - + COUNT 9223372036854775808
			XLEN
			XLEN x y
		`},
		{"xdel", `
			XDEL gone 1-1
			XADD x 1-1 f v
			XADD x 2-1 f v
			XADD x 3-1 f v
			XDEL x 2-1 2-1 9-9
			XDEL x 3
			XDEL x abc
			XDEL x 1-1 abc
			XLEN x
			XDEL x - 
			XDEL x
			XDEL x 3-1
			XINFO STREAM x
			XDEL x 1-1
			EXISTS x
			XLEN x
			XINFO STREAM x
			XADD x 3-1 f v
			XADD x 3-2 f v
			SET s v
			XDEL s 1-1
			XDEL s abc
		`},
		{"xtrim", `
			XTRIM gone MAXLEN 0
			XADD x 1-1 f v
			XADD x 2-1 f v
			XADD x 3-1 f v
			XADD x 4-1 f v
			XTRIM x MAXLEN 10
			XTRIM x MAXLEN 3
			XTRIM x MAXLEN = 2
			XTRIM x MAXLEN ~ 1
			XTRIM x MINID 4
			XTRIM x MINID 4-0
			XTRIM x MINID 4-1
			XTRIM x MINID 4-2
			XLEN x
			XINFO STREAM x
			XTRIM x MAXLEN
			XTRIM x MAXLEN abc
			XTRIM x MAXLEN -1
			XTRIM x MINID abc
			XTRIM x MINID -
			XTRIM x BAD 1
			XTRIM x MAXLEN 1 LIMIT 1
			XTRIM x MAXLEN ~ 1 LIMIT 1
			XTRIM x MAXLEN ~ 1 LIMIT -1
			XTRIM x MAXLEN ~ 1 LIMIT abc
			XTRIM x MAXLEN ~ 1 LIMIT
			XTRIM x MAXLEN 1 MINID 1
			XTRIM x MAXLEN 1 BAD
			XTRIM x LIMIT 1
			XTRIM x
			SET s v
			XTRIM s MAXLEN 0
			XTRIM s MAXLEN abc
			XTRIM gone BAD 1
			XTRIM x MAXLEN 9223372036854775808
			XTRIM x MAXLEN 1 2
		`},
		{"xsetid", `
			XSETID gone 1-1
			XADD x 5-5 f v
			XSETID x 5-5
			XSETID x 9-9
			XADD x 9-9 f v
			XADD x 9-10 f v
			XSETID x 1-1
			XSETID x abc
			XSETID x *
			XSETID x 20-1 ENTRIESADDED 100
			XSETID x 20-1 ENTRIESADDED 1
			XSETID x 20-1 ENTRIESADDED -1
			XSETID x 20-1 ENTRIESADDED abc
			XSETID x 20-1 ENTRIESADDED
			XSETID x 20-1 MAXDELETEDID 15-1
			XSETID x 20-1 MAXDELETEDID 25-1
			XSETID x 20-1 MAXDELETEDID abc
			XSETID x 20-1 ENTRIESADDED 50 MAXDELETEDID 10-1
			XSETID x 20-1 BAD 1
			XSETID x 12-1
			XSETID x 20-1 ENTRIESADDED 50 MAXDELETEDID 0-0
			XINFO STREAM x
			SET s v
			XSETID s 1-1
			XSETID s abc
			XSETID x
			XSETID gone abc
		`},
		{"a node without living entries", `
			CONFIG SET stream-node-max-entries 3
			XADD x 5-1 f v
			XADD x 6-1 f v
			XADD x 7-1 f v
			XDEL x 7-1
			XTRIM x MINID 6-7
			XINFO STREAM x
			XSETID x 3-3
			XSETID x 7-1 MAXDELETEDID 1-1
			XSETID x 3-3
			XADD x 4-4 f v
			XADD x 4-5 f v
			XLEN x
			XRANGE x - +
			XRANGE x 4-5 +
			XREVRANGE x 4-4 -
			XREAD STREAMS x 4-4
			!D12 XINFO STREAM x
			XDEL x 4-4
			CONFIG SET stream-node-max-entries 100
		`},
		{"xread", `
			XREAD STREAMS gone 0
			XADD a 1-1 f v
			XADD a 2-1 f v
			XADD b 5-1 f v
			XREAD STREAMS a 0
			XREAD STREAMS a 1-1
			XREAD STREAMS a 2-1
			XREAD STREAMS a 9
			XREAD STREAMS a $
			XREAD STREAMS a b 0 0
			XREAD STREAMS a gone b 0 0 0
			XREAD STREAMS gone 0
			XREAD STREAMS b a 5-1 1
			XREAD COUNT 1 STREAMS a b 0 0
			XREAD COUNT 0 STREAMS a 0
			XREAD COUNT -1 STREAMS a 0
			XREAD COUNT abc STREAMS a 0
			XREAD COUNT STREAMS a 0
			XREAD STREAMS a
			XREAD STREAMS a b 0
			XREAD STREAMS
			XREAD
			XREAD BAD STREAMS a 0
			XREAD STREAMS a abc
			XREAD STREAMS a -
			XGROUP CREATE nothing g $ MKSTREAM
			XREAD STREAMS nothing +
			XREAD STREAMS gone +
			XADD plus 1-1 f v
			XADD plus 2-1 f v
			XDEL plus 2-1
			XREAD STREAMS plus +
			XADD plus 3-1 f v
			XREAD STREAMS plus +
			XREAD STREAMS a +
			XREAD STREAMS a >
			XREAD STREAMS a (1-1
			XREAD GROUP g c STREAMS a 0
			XREAD NOACK STREAMS a 0
			XREAD BLOCK abc STREAMS a 0
			XREAD BLOCK -1 STREAMS a 0
			XREAD BLOCK 1.5 STREAMS a 0
			XREAD BLOCK STREAMS a 0
			XREAD BLOCK 10 STREAMS a 0
			XREAD BLOCK 10 STREAMS a $
			XREAD BLOCK 1 COUNT 1 STREAMS a b 0 $
			XREAD count 1 block 5 streams a 0
			SET s v
			XREAD STREAMS s 0
			XREAD STREAMS a s 0 0
			XREAD BLOCK 10 STREAMS s 0
			XREAD STREAMS s abc
			XREAD STREAMS a a 0 1-1
			XREAD BLOCK 9223372036854775807 STREAMS a 0
		`},
		{"xinfo", `
			XINFO STREAM gone
			XADD x 1-1 f v
			XADD x 2-1 g w
			XINFO STREAM x
			XDEL x 1-1
			XINFO STREAM x
			XINFO STREAM x FULL
			XINFO STREAM x FULL COUNT 1
			XINFO STREAM x FULL COUNT 0
			XINFO STREAM x FULL COUNT -1
			XINFO STREAM x FULL COUNT abc
			XINFO STREAM x FULL COUNT
			XINFO STREAM x BAD
			XINFO STREAM
			XINFO BAD x
			XINFO
			SET s v
			XINFO STREAM s
			OBJECT ENCODING x
		`},
	}}
}
