//go:build oracle

package differential

// listWaits returns plays of clients that wait for elements of lists.
func listWaits() []blockingCase {
	return []blockingCase{
		{"an element each, first come first served", `
			A* BLPOP l 0
			B* BRPOP l 0
			C* BLMPOP 0 1 l LEFT COUNT 2
			D* BLPOP l 0
			E RPUSH l a b c d
			A<
			B<
			C<
			D?
			E LRANGE l 0 -1
			E LPUSH l e
			D<
			A PING
		`},
		{"who comes back stands at the end", `
			A* BLPOP l 0
			B* BLPOP l 0
			C RPUSH l a
			A<
			A* BLPOP l 0
			C RPUSH l b
			B<
			A?
			C RPUSH l c
			A<
		`},
		{"several keys", `
			A* BLPOP k l m 0
			B* BRPOP m l 0
			C RPUSH m a
			A<
			B?
			C RPUSH l b
			B<
		`},
		{"many elements in one pipeline", `
			A* BLPOP l 0
			B* BLPOP l 0
			C+ RPUSH l a
			C+ LPUSH l b
			C+ LLEN l
			C<
			C<
			C<
			A<
			B<
		`},
		{"time runs out", `
			A+ BLPOP l 0.03
			B+ BRPOPLPUSH l m 0.02
			C+ BLMPOP 0.025 2 l m LEFT
			D+ BLMOVE l m LEFT LEFT 0.02
			A<
			B<
			C<
			D<
			E RPUSH l a
			E LRANGE l 0 -1
			A PING
		`},
		{"a command behind one that waits", `
			A* BLPOP l 0
			A+ RPUSH l again
			A+ LLEN l
			B RPUSH l a
			A<
			A<
			A<
		`},
		{"a waiter that closes its connection takes nothing", `
			A* BLPOP l 0
			B* BLPOP l 0
			A-
			C RPUSH l a
			B<
			C EXISTS l
		`},
		{"the key gets another type", `
			A* BLPOP l 0
			B* BLMOVE l m LEFT RIGHT 0
			C SET l v
			A?
			C DEL l
			C SADD l a
			A?
			C DEL l
			C RPUSH l a b
			A<
			B<
			C LRANGE m 0 -1
		`},
		{"deleted, and made again", `
			A* BLPOP l 0
			B MULTI
			B RPUSH l a
			B DEL l
			B EXEC
			A?
			B MULTI
			B RPUSH l a
			B DEL l
			B RPUSH l b c
			B LPUSH l d
			B EXEC
			A<
			B LRANGE l 0 -1
		`},
		{"in a transaction nothing waits", `
			A MULTI
			A BLPOP l 0
			A BRPOPLPUSH l m 0
			A BLMOVE l m LEFT LEFT 0
			A BLMPOP 0 1 l LEFT
			A RPUSH l a
			A BLPOP l 0
			A EXEC
		`},
		{"two keys filled in one unit", `
			A* BLPOP l 0
			B* BLPOP m 0
			C MULTI
			C RPUSH m 1 2
			C RPUSH l 3 4
			C EXEC
			A<
			B<
		`},
		{"a chain of moves", `
			D* BLPOP c 0
			C* BRPOPLPUSH b c 0
			B* BLMOVE a b LEFT RIGHT 0
			A RPUSH a x y
			B<
			C<
			D<
			A LRANGE a 0 -1
			A EXISTS b c
		`},
		{"a ring of moves", `
			A* BLMOVE a b LEFT RIGHT 0
			B* BLMOVE b a LEFT RIGHT 0
			C RPUSH a x
			A<
			B<
			C LRANGE a 0 -1
		`},
		{"onto itself", `
			A* BLMOVE l l LEFT RIGHT 0
			B* BRPOPLPUSH l l 0
			C* BLPOP l 0
			D RPUSH l 1 2 3
			A<
			B<
			C<
			D LRANGE l 0 -1
		`},
		{"a destination of another type", `
			A* BLMOVE l s LEFT RIGHT 0
			B* BRPOPLPUSH l s 0
			C* BLPOP l 0
			D SET s v
			D RPUSH l a b c
			A<
			B<
			C<
			D LRANGE l 0 -1
		`},
		{"renamed, moved, copied, swapped", `
			B RPUSH z a b c
			A* BLPOP l 0
			B COPY z l
			A<
			B DEL l
			A* BLPOP l 0
			B RENAME z l
			A<
			B SELECT 1
			B RPUSH m x
			A* BLPOP m 0
			B MOVE m 0
			A<
			B RPUSH m y
			A* BLPOP m 0
			B SWAPDB 0 1
			A<
		`},
		{"unblocked", `
			A* BLPOP l 0
			B CLIENT UNBLOCK {A}
			A<
			A* BLMOVE l m LEFT LEFT 0
			B CLIENT UNBLOCK {A} ERROR
			A<
			A* BLMPOP 0 1 l LEFT
			B CLIENT UNBLOCK {A} TIMEOUT
			A<
			B RPUSH l a
			B LLEN l
		`},
		{"lists and streams", `
			A* XREAD BLOCK 0 STREAMS k 0
			B* BLPOP k 0
			C RPUSH k a
			B<
			A?
			C XADD k 1-1 f v
			A<
		`},
		{"a watched list that a waiter empties", `
			A* BLPOP l 0
			B WATCH l
			C RPUSH l a
			A<
			B MULTI
			B PING
			B EXEC
		`},
	}
}
