//go:build oracle

package differential

func bitCases() family {
	return family{"bit", []namedCase{
		{"bits of a string that SET made", `
			SET k foobar
			SETBIT k 0 1
			SETBIT k 47 1
			SETBIT k 48 0
			GET k
			OBJECT ENCODING k
			STRLEN k
			GETBIT k 47
			SETBIT k 200000 1
			STRLEN k
			BITCOUNT k
			BITPOS k 1 100
			BITPOS k 0 -1
			APPEND k x
			SETBIT k 0 0
			GETRANGE k 0 5
			INCR k
			SETRANGE k 2 {z*100}
			BITCOUNT k 3 800 BIT
		`},
		{"a number's digits are its bits", `
			SET n 100
			SETBIT n 7 1
			GET n
			INCR n
			BITFIELD n GET u8 0 SET u8 0 50
			INCR n
			GET n
		`},
		{"copies do not share bits", `
			SETBIT k 7 1
			COPY k c
			SETBIT k 6 1
			SETBIT c 5 1
			GET k
			GET c
			BITOP OR d k c
			SETBIT d 0 1
			GET d
			GET k
		`},
		{"bitop: many sources of many lengths", `
			SET a {a*10}
			SET b {b*33}
			SET c {c*64}
			SET d {d*1000}
			BITOP AND r a b c d
			GET r
			BITOP OR r a b c d
			GET r
			BITOP XOR r a b c d
			GET r
			BITOP XOR r d d
			BITCOUNT r
			BITOP NOT d d
			GET d
			BITOP AND d d a
			BITPOS d 0
			BITPOS d 1
			EXPIRE r 1000
			BITOP OR r a none
			TTL r
		`},
		{"bitfield: all widths", `
			SET k {U*20}
			BITFIELD k GET u1 0 GET u2 1 GET u3 2 GET u7 3 GET u8 4 GET u9 5 GET u16 6 GET u17 7 GET u31 8 GET u32 9
			BITFIELD k GET u33 10 GET u62 11 GET u63 12 GET i1 13 GET i2 14 GET i32 15 GET i33 16 GET i63 17 GET i64 18
			BITFIELD k SET u13 #3 5000 SET i7 #9 -60 INCRBY i64 91 -1 INCRBY u63 #1 12345678901234567
			GET k
			BITFIELD k OVERFLOW FAIL INCRBY u2 0 1 INCRBY u2 0 1 INCRBY u2 0 1 INCRBY u2 0 1
			BITFIELD k OVERFLOW SAT INCRBY i3 5 2 INCRBY i3 5 2 INCRBY i3 5 -20
			GET k
		`},
		{"encoding, nothing being changed", `
			MSET a 10 b 10 c 10 d {x*44} e {x*45}
			SETBIT a 2 1
			BITFIELD b SET u8 0 49
			BITFIELD c GET u8 0
			SETBIT d 0 0
			BITFIELD e OVERFLOW FAIL INCRBY u1 1 1
			OBJECT ENCODING a
			OBJECT ENCODING b
			OBJECT ENCODING c
			OBJECT ENCODING d
			OBJECT ENCODING e
			INCR a
			SETBIT none 3 0
			BITFIELD none2 SET u8 0 0
			EXISTS none none2
			OBJECT ENCODING none
		`},
		{"bitfield: far too low", `
			BITFIELD k OVERFLOW SAT SET i9 0 -9223372036854775552 GET i9 0
			DEL k
			!D62 BITFIELD k OVERFLOW SAT SET i9 0 -9223372036854775808 GET i9 0
			DEL k
			BITFIELD k OVERFLOW FAIL SET i9 0 -9223372036854775808 OVERFLOW WRAP SET i9 0 -9223372036854775808 GET i9 0
		`},
		{"keys of bitfield", `
			COMMAND GETKEYSANDFLAGS BITFIELD k GET u8 0
			COMMAND GETKEYSANDFLAGS BITFIELD k SET u8 0 1
			COMMAND GETKEYSANDFLAGS BITFIELD k OVERFLOW FAIL GET u8 0
			COMMAND GETKEYSANDFLAGS BITFIELD k FOO
			COMMAND GETKEYSANDFLAGS BITOP AND d a b
			COMMAND GETKEYS BITOP NOT d a
		`},
	}}
}
