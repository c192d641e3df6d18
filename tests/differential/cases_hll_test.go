//go:build oracle

package differential

func hyperLogLogCases() family {
	return family{"hyperloglog", []namedCase{
		{"bytes that are read and written as a string", `
			PFADD p a b c
			GET p
			PFCOUNT p
			GET p
			STRLEN p
			GETRANGE p 0 3
			SETRANGE p 15 "\x80"
			PFCOUNT p
			APPEND p x
			PFCOUNT p
			PFADD p d
			SET q foo
			PFADD q a
			PFCOUNT p q
		`},
		{"copies are counted on alone", `
			PFADD p a b c
			COPY p q
			RENAME p r
			PFADD q d
			PFADD r e f
			PFCOUNT q
			PFCOUNT r
			PFCOUNT q r
			GET q
			GET r
		`},
		{"the most bytes of a sparse one", `
			CONFIG SET hll-sparse-max-bytes 30
			PFADD p a b c
			PFDEBUG ENCODING p
			PFADD p d e f g
			PFDEBUG ENCODING p
			GET p
			CONFIG SET hll-sparse-max-bytes 3000
			PFADD q a b c d e f g
			PFMERGE q p
			PFDEBUG ENCODING q
			CONFIG GET hll-sparse-max-bytes
		`},
		{"keys", `
			COMMAND GETKEYS PFADD k a b
			COMMAND GETKEYS PFCOUNT a b c
			COMMAND GETKEYSANDFLAGS PFMERGE d a b
			COMMAND GETKEYS PFDEBUG DECODE k
			COMMAND GETKEYS PFSELFTEST
		`},
	}}
}
