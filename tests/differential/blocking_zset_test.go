//go:build oracle

package differential

// zsetWaits returns plays of clients that wait for members of sorted sets.
func zsetWaits() []blockingCase {
	return []blockingCase{
		{"a member each, first come first served", `
			A* BZPOPMIN z 0
			B* BZPOPMAX z 0
			C* BZMPOP 0 1 z MIN COUNT 2
			D* BZPOPMIN z 0
			E ZADD z 1 a 2 b 3 c 4 d
			A<
			B<
			C<
			D?
			E ZRANGE z 0 -1
			E ZINCRBY z 5 e
			D<
			A PING
		`},
		{"several keys of sorted sets", `
			A* BZPOPMIN k z m 0
			B* BZPOPMAX m z 0
			C ZADD m 1 a
			A<
			B?
			C ZADD z 1.5 b
			B<
		`},
		{"many members in one pipeline", `
			A* BZPOPMIN z 0
			B* BZPOPMIN z 0
			C+ ZADD z 2 a
			C+ ZADD z 1 b
			C+ ZCARD z
			C<
			C<
			C<
			A<
			B<
		`},
		{"in a transaction", `
			A* BZPOPMIN z 0
			B* BZPOPMAX z 0
			C MULTI
			C ZADD z 2 a
			C ZADD z 1 b
			C ZADD z 3 c
			C BZPOPMIN gone 0
			C EXEC
			A<
			B<
			C ZRANGE z 0 -1 WITHSCORES
		`},
		{"the key becomes something else", `
			A* BZPOPMIN z 0
			B SET z v
			A?
			B DEL z
			B SADD z m
			A?
			B RENAME z y
			B ZUNIONSTORE z 1 y WEIGHTS 7
			A<
		`},
		{"stored, renamed, copied", `
			B ZADD y 1 a 2 b 3 c
			A* BZPOPMAX z 0
			B ZRANGESTORE z y 0 1
			A<
			B DEL z
			A* BZPOPMIN z 0
			B COPY y z
			A<
			B DEL z
			A* BZMPOP 0 2 k z MAX
			B RENAME y z
			A<
		`},
		{"time runs out for a sorted set", `
			A+ BZPOPMIN z 0.03
			B+ BZMPOP 0.06 2 k z MAX COUNT 3
			A<
			B<
			C ZADD z 1 a
			A PING
			B PING
		`},
		{"a waiter for a sorted set that closes its connection", `
			A* BZPOPMIN z 0
			B* BZPOPMIN z 0
			A-
			C ZADD z 1 a
			B<
			C EXISTS z
		`},
	}
}
