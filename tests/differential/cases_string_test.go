//go:build oracle

package differential

func stringCases() family {
	return family{"string", []namedCase{
		{"get and set", `
			GET gone
			SET k v
			GET k
			SET k ""
			GET k
			SET "" empty
			GET ""
			SET "k\x00\r\n" "v\x00\r\n"
			GET "k\x00\r\n"
			GET
			GET k k
			SET k
			SET
			SET k v w
			SADD t m
			GET t
			SET t now-a-string
			GET t
			SET big {x*100000}
			GET big
			STRLEN big
		`},
		{"set: conditions", `
			SET k v XX
			SET k v NX
			SET k w NX
			SET k w XX
			GET k
			SET k x NX XX
			SET k x XX NX
			SET k x NX NX
			SET k x XX XX
			SET k x nx EX 1000
			SET k x xX eX 1000
			TTL k
			SADD t m
			SET t v NX
			SET t v XX
			TYPE t
		`},
		{"set: GET", `
			SET k v GET
			SET k w GET
			SET k x NX GET
			SET k y XX GET
			SET gone y XX GET
			EXISTS gone
			SET new y NX GET
			GET new
			SADD t m
			SET t v GET
			SET t v NX GET
			SET t v XX GET
			TYPE t
			SET k z GET GET
			SET k z GET EX 1000
			TTL k
		`},
		{"set: deadlines", `
			SET k v EX 1000
			TTL k
			SET k v PX 1000000
			PTTL k
			SET k v EXAT {s+1000}
			EXPIRETIME k
			SET k v PXAT {ms+1000000}
			PEXPIRETIME k
			SET k w KEEPTTL
			TTL k
			SET k x
			TTL k
			SET k v KEEPTTL
			TTL k
			SET k v EX 0
			SET k v EX -1
			SET k v PX 0
			SET k v PX -1
			SET k v EXAT 0
			SET k v PXAT -5
			SET k v EX abc
			SET k v EX 1.5
			SET k v EX
			SET k v EX 1000 PX 1000
			SET k v EX 1000 KEEPTTL
			SET k v KEEPTTL EX 1000
			SET k v EX 1000 EX 1000
			SET k v EX 9223372036854775807
			SET k v EX 9223372036854775
			SET k v PX 9223372036854775807
			SET k v EXAT 9223372036854775807
			SET k v EXAT 9223372036854775
			SET k v PXAT 9223372036854775807
			SET k v EX 9223372036854775808
			SET k v NX EX abc
			SET k v PERSIST
			SET k v EX EX
			SADD t m
			SET t v EX 1000
			TYPE t
			SET past v PXAT 1
			GET past
			EXISTS past
			SET past v EXAT 1 GET
			GET past
			SET k v GET EX 0
			GET k
		`},
		{"a key dies", `
			SET k v PX 400
			SET l v PX 500 NX
			GETEX m PX 400
			sleep 700
			GET k
			EXISTS k l
			TTL k
			SET k w XX
			SET k w NX
			DBSIZE
			KEYS *
		`},
		{"setnx, setex, psetex", `
			SETNX k v
			SETNX k w
			GET k
			SADD t m
			SETNX t v
			SETEX k 1000 v
			TTL k
			SETEX k 0 v
			SETEX k -1 v
			SETEX k abc v
			SETEX k 9223372036854775807 v
			SETEX t 1000 v
			TYPE t
			PSETEX k 1000000 v
			PTTL k
			PSETEX k 0 v
			PSETEX k -1 v
			PSETEX k x v
			PSETEX k 9223372036854775807 v
			PSETEX k 9223372036854775808 v
			SETEX k 10
			PSETEX k 10
			SETNX k
		`},
		{"getset, getdel, getex", `
			GETSET k v
			GETSET k w
			SET k v EX 1000
			GETSET k w
			TTL k
			SADD t m
			GETSET t v
			GETDEL k
			GETDEL k
			GETDEL t
			GETEX gone
			GETEX t
			SET k v
			GETEX k
			GETEX k EX 1000
			TTL k
			GETEX k PERSIST
			TTL k
			GETEX k PX 1000000
			PTTL k
			GETEX k EXAT {s+1000}
			EXPIRETIME k
			GETEX k PXAT {ms+1000000}
			PEXPIRETIME k
			GETEX k EX 0
			GETEX k EX -1
			GETEX k EX abc
			GETEX k EX
			GETEX k EX 10 PX 10
			GETEX k EX 10 PERSIST
			GETEX k PERSIST PERSIST
			GETEX k KEEPTTL
			GETEX k NX
			GETEX k EX 9223372036854775807
			GETEX k PXAT 1
			EXISTS k
			GETEX gone EX 0
			GETEX t EX 0
			GETEX gone EX abc
			GETEX gone BAD
		`},
		{"mget, mset, msetnx", `
			MSET a 1 b 2 c 3
			MGET a b c gone
			SADD t m
			MGET a t b
			MSET a
			MSET a 1 b
			MSET
			MSET t now-a-string
			GET t
			MSET a 1 a 2
			GET a
			SET a v EX 1000
			MSET a 3
			TTL a
			MSETNX d 1 e 2
			MSETNX e 3 f 4
			EXISTS f
			MSETNX g 1 g 2
			GET g
			MSETNX h
			MSETNX h 1 i
			MGET
		`},
		{"append, strlen", `
			APPEND k ""
			EXISTS k
			GET k
			APPEND k abc
			APPEND k def
			GET k
			STRLEN k
			SADD t m
			APPEND t x
			STRLEN t
			STRLEN gone
			SET n 12
			APPEND n 3
			INCR n
			OBJECT ENCODING n
			APPEND n 4
			OBJECT ENCODING n
			SET k v EX 1000
			APPEND k x
			TTL k
			STRLEN
			APPEND k
		`},
		{"setrange, getrange", `
			SETRANGE gone 0 ""
			EXISTS gone
			SETRANGE gone 5 ""
			EXISTS gone
			SETRANGE k 0 hello
			SETRANGE k 3 XY
			GET k
			SETRANGE k 8 !
			GET k
			SETRANGE k 2 ""
			SETRANGE k -1 x
			SETRANGE k abc x
			SETRANGE k 536870912 x
			SETRANGE k 9223372036854775807 x
			SETRANGE k 536870912 ""
			SETRANGE gone 536870912 ""
			SETRANGE gone -1 ""
			SET n 12345
			SETRANGE n 1 x
			GET n
			SADD t m
			SETRANGE t 0 x
			SETRANGE t -1 x
			SETRANGE t 0 ""
			SET k "This is a string"
			GETRANGE k 0 3
			GETRANGE k -3 -1
			GETRANGE k 0 -1
			GETRANGE k 10 100
			GETRANGE k 5 3
			GETRANGE k -100 3
			GETRANGE k -100 -90
			GETRANGE k -1 -5
			GETRANGE k 16 20
			GETRANGE k 15 20
			GETRANGE k 0 9223372036854775807
			GETRANGE k -9223372036854775808 9223372036854775807
			GETRANGE k -9223372036854775808 -9223372036854775808
			GETRANGE k a 1
			GETRANGE k 1 a
			GETRANGE gone 0 1
			GETRANGE gone a 1
			GETRANGE t 0 1
			GETRANGE t a 1
			SUBSTR k 0 3
			SUBSTR k 0
			SET n 1234567
			GETRANGE n 1 3
		`},
		{"counting", `
			INCR k
			INCR k
			DECR k
			INCRBY k 10
			DECRBY k 3
			GET k
			INCRBY k -5
			INCRBY k abc
			INCRBY k 1.5
			INCRBY k 9223372036854775808
			SET k 9223372036854775807
			INCR k
			INCRBY k 1
			DECR k
			DECRBY k -1
			DECRBY k -5
			SET k -9223372036854775808
			DECR k
			DECRBY k 1
			INCRBY k -1
			DECRBY k -9223372036854775808
			SET z 0
			DECRBY z -9223372036854775808
			DECRBY z 9223372036854775807
			DECRBY z 9223372036854775807
			SET k abc
			INCR k
			SET k " 1"
			INCR k
			SET k "1 "
			DECR k
			SET k 01
			INCR k
			SET k ""
			INCR k
			SET k 1.0
			INCR k
			SET k -0
			INCR k
			SET k 9223372036854775808
			INCR k
			SADD t m
			INCR t
			INCRBY t abc
			DECRBY t 1
			SET e 1 EX 1000
			INCR e
			TTL e
			INCRBY k
			INCR
			INCR a b
			OBJECT ENCODING z
			OBJECT ENCODING e
		`},
		{"incrbyfloat", `
			INCRBYFLOAT k 1.5
			INCRBYFLOAT k 1.5
			INCRBYFLOAT k -3
			GET k
			INCRBYFLOAT k 0.1
			INCRBYFLOAT k 0.2
			SET k 10.50
			INCRBYFLOAT k 0.1
			INCRBYFLOAT k -5
			SET k 5.0e3
			INCRBYFLOAT k 2.0e2
			INCRBYFLOAT k 1e400
			INCRBYFLOAT k 1e4932
			INCRBYFLOAT k inf
			INCRBYFLOAT k -inf
			INCRBYFLOAT k nan
			INCRBYFLOAT k abc
			INCRBYFLOAT k ""
			INCRBYFLOAT k " 1"
			INCRBYFLOAT k "1 "
			INCRBYFLOAT k 0x10
			SET k abc
			INCRBYFLOAT k 1
			SET k " 1"
			INCRBYFLOAT k 1
			SET k 3.0
			INCRBYFLOAT k 0
			SET k 1
			INCRBYFLOAT k 1e-17
			INCRBYFLOAT k 1e-18
			INCRBYFLOAT k 99999999999999999999
			SET k 9223372036854775807
			INCRBYFLOAT k 1
			SADD t m
			INCRBYFLOAT t 1
			INCRBYFLOAT t abc
			INCRBYFLOAT new -0
			GET new
			SET e 1 EX 1000
			INCRBYFLOAT e 1
			TTL e
			OBJECT ENCODING e
		`},
		{"lcs", `
			MSET a ohmytext b mynewtext
			LCS a b
			LCS a b LEN
			LCS a b IDX
			LCS a b IDX MINMATCHLEN 4
			LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN
			LCS a b IDX WITHMATCHLEN
			LCS a b WITHMATCHLEN
			LCS a b MINMATCHLEN 100 IDX
			LCS a b MINMATCHLEN -1 IDX
			LCS a b MINMATCHLEN x IDX
			LCS a b MINMATCHLEN
			LCS a b LEN IDX
			LCS a b BAD
			LCS a gone
			LCS gone gone2
			LCS a gone LEN
			LCS a gone IDX
			SADD t m
			LCS a t
			LCS t a LEN IDX
			LCS t t
			LCS a
			LCS a b len idx minmatchlen 2
			SET n 12345
			SET m 3456
			LCS n m IDX WITHMATCHLEN
			SET e ""
			LCS e a IDX
		`},
		{"encodings", `
			SET k 1
			OBJECT ENCODING k
			OBJECT REFCOUNT k
			SET k 10000
			OBJECT REFCOUNT k
			SET k 9999
			OBJECT REFCOUNT k
			SET k 9223372036854775807
			OBJECT ENCODING k
			SET k 9223372036854775808
			OBJECT ENCODING k
			SET k -0
			OBJECT ENCODING k
			SET k 01
			OBJECT ENCODING k
			SET k {x*44}
			OBJECT ENCODING k
			SET k {x*45}
			OBJECT ENCODING k
			SET k ""
			OBJECT ENCODING k
			SET k abc
			APPEND k d
			OBJECT ENCODING k
			SET k abc
			SETRANGE k 0 x
			OBJECT ENCODING k
			SETRANGE new 0 x
			OBJECT ENCODING new
			APPEND new2 x
			OBJECT ENCODING new2
			APPEND new3 5
			OBJECT ENCODING new3
			GETSET k 5
			OBJECT ENCODING k
			MSET k 6
			OBJECT ENCODING k
			INCRBYFLOAT made 6
			OBJECT ENCODING made
			OBJECT REFCOUNT made
			COPY made madecopy
			OBJECT ENCODING madecopy
			RENAME made other
			OBJECT ENCODING other
			INCR other
			OBJECT ENCODING other
			OBJECT REFCOUNT other
			INCRBYFLOAT other 1.5
			OBJECT ENCODING other
			INCRBYFLOAT other 1.5
			OBJECT ENCODING other
			STRLEN other
			SETBIT other 7 0
			OBJECT ENCODING other
			SETNX q 6
			OBJECT ENCODING q
			COPY q r
			OBJECT ENCODING r
			OBJECT REFCOUNT q
			OBJECT REFCOUNT r
			COPY r r2
			OBJECT REFCOUNT r2
			INCR r
			OBJECT REFCOUNT r
		`},
	}}
}
