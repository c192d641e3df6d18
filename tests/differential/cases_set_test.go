//go:build oracle

package differential

func setCases() family {
	return family{"set", []namedCase{
		{"members", `
			SADD t a
			SADD t a b c
			SADD t a a d
			SADD t
			SADD t ""
			SADD t "m\x00\r\n"
			SMEMBERS t
			SMEMBERS gone
			SCARD t
			SCARD gone
			SISMEMBER t a
			SISMEMBER t z
			SISMEMBER gone a
			SMISMEMBER t a z b
			SMISMEMBER gone a b
			SMISMEMBER t
			SREM t a z
			SREM t a
			SREM gone a
			SREM t
			SET s x
			SADD s a
			SREM s a
			SMEMBERS s
			SCARD s
			SISMEMBER s a
			SMISMEMBER s a
			SREM t b c d "" "m\x00\r\n"
			EXISTS t
			TYPE t
		`},
		{"smove", `
			SADD a x y
			SADD b y z
			SMOVE a b x
			SMOVE a b x
			SMOVE a b y
			EXISTS a
			SMEMBERS b
			SMOVE gone b x
			SMOVE b c z
			SMOVE b b y
			SMOVE b b no
			SET s v
			SMOVE s b x
			SMOVE b s x
			SMOVE gone s x
			SMOVE b s no
			SMOVE a
			SADD i 1 2
			SADD j x
			SMOVE i j 1
			SMOVE i i 2
		`},
		{"algebra", `
			SADD a 1 2 3 4
			SADD b 3 4 5
			SADD c 4 x
			SINTER a b
			SINTER a b c
			SINTER a gone
			SINTER a
			SINTER gone
			SINTER
			SUNION a b c
			SUNION a gone
			SUNION gone
			SDIFF a b
			SDIFF a b c
			SDIFF a gone
			SDIFF gone a
			SDIFF a a
			SET s v
			SINTER a s
			SINTER gone s
			SINTER s gone
			SUNION a s
			SUNION gone s
			SDIFF a s
			SDIFF gone s
			SDIFF s
			SINTERSTORE d a b
			SMEMBERS d
			SINTERSTORE d a gone
			EXISTS d
			SUNIONSTORE d a b c
			SDIFFSTORE d a b
			SMEMBERS d
			SDIFFSTORE a a b
			SMEMBERS a
			SUNIONSTORE d gone
			EXISTS d
			SINTERSTORE s b
			TYPE s
			SET s v
			SINTERSTORE s gone
			EXISTS s
			SET s v
			SINTERSTORE d b s
			SUNIONSTORE d s
			SDIFFSTORE d b s
			SINTERSTORE s s
			TYPE s
			SUNIONSTORE d b
			EXPIRE d 1000
			SUNIONSTORE d b
			TTL d
			SINTERSTORE d
			SUNIONSTORE d
		`},
		{"sintercard", `
			SADD a 1 2 3 4
			SADD b 3 4 5
			SINTERCARD 2 a b
			SINTERCARD 1 a
			SINTERCARD 2 a b LIMIT 1
			SINTERCARD 2 a b LIMIT 0
			SINTERCARD 2 a b LIMIT 10
			SINTERCARD 2 a b LIMIT -1
			SINTERCARD 2 a b LIMIT abc
			SINTERCARD 2 a b LIMIT
			SINTERCARD 2 a b BAD
			SINTERCARD 0 a b
			SINTERCARD -1 a
			SINTERCARD 3 a b
			SINTERCARD abc a
			SINTERCARD 2 a gone
			SINTERCARD 1
			SET s v
			SINTERCARD 2 a s
			SINTERCARD 2 gone s
			SINTERCARD 2 a s LIMIT -1
			SINTERCARD 2 a b LIMIT 1 LIMIT 2
		`},
		{"random members", `
			SPOP gone
			SPOP gone 5
			SRANDMEMBER gone
			SRANDMEMBER gone 5
			SRANDMEMBER gone -5
			SADD t a b c d e f
			SRANDMEMBER t
			SRANDMEMBER t 0
			SRANDMEMBER t 3
			SRANDMEMBER t 100
			SRANDMEMBER t -20
			SRANDMEMBER t abc
			SRANDMEMBER t 1 2
			SRANDMEMBER t -9223372036854775808
			SRANDMEMBER t 9223372036854775808
			SRANDMEMBER t 9223372036854775807
			SPOP t
			SPOP t 0
			SPOP t 2
			SPOP t -1
			SPOP t abc
			SPOP t 1 2
			SPOP gone -1
			SPOP gone abc
			SPOP t 100
			EXISTS t
			SET s v
			SPOP s
			SPOP s 1
			SPOP s 0
			SPOP s -1
			SRANDMEMBER s
			SRANDMEMBER s 1
			SRANDMEMBER s abc
			SADD one 1
			SPOP one
			EXISTS one
		`},
		{"sscan", `
			SSCAN gone 0
			SSCAN gone 0 COUNT x
			SSCAN gone x
			SADD t a b c 1 2 3
			SSCAN t 0
			SSCAN t 0 MATCH [a-b]
			SSCAN t 0 COUNT 1
			SSCAN t 0 COUNT 0
			SSCAN t 0 COUNT x
			SSCAN t 0 BAD
			SSCAN t 0 MATCH
			SSCAN t x
			SSCAN t -5
			SADD i 1 2 3
			SSCAN i 0 COUNT 1
			SET s x
			SSCAN s 0
			SSCAN s x
			SSCAN t "0\x00"
		`},
		{"encodings", `
			SADD i 1 2 3
			OBJECT ENCODING i
			SADD i -9223372036854775808 9223372036854775807
			OBJECT ENCODING i
			SADD i 01
			OBJECT ENCODING i
			SADD t a
			OBJECT ENCODING t
			SADD u {x*65}
			OBJECT ENCODING u
			SADD j 9223372036854775808
			OBJECT ENCODING j
		`},
	}}
}
