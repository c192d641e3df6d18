//go:build oracle

package differential

type blockingCase struct {
	name string
	play play
}

func blockingCases() []blockingCase {
	return []blockingCase{
		{"an entry wakes", `
			A* XREAD BLOCK 0 STREAMS s $
			B XADD s 1-1 f v
			A<
			A PING
		`},
		{"an id to come wakes", `
			B XADD s 1-1 f v
			A* XREAD BLOCK 0 STREAMS s 5-5
			B XADD s 2-1 f v
			A?
			B XADD s 5-5 f v
			A?
			B XADD s 5-6 f v
			A<
		`},
		{"what is there answers at once", `
			B XADD s 1-1 f v
			B XADD t 2-1 f v
			A XREAD BLOCK 0 STREAMS s t 0 0
			A XREAD BLOCK 0 COUNT 1 STREAMS gone s t $ 0 5
			A* XREAD BLOCK 0 STREAMS s t $ $
			B XADD t 3-1 f v
			A<
		`},
		{"all who wait are served", `
			A* XREAD BLOCK 0 STREAMS s $
			B* XREAD BLOCK 0 COUNT 1 STREAMS s 0
			C* XREAD BLOCK 0 STREAMS t s $ $
			D XADD s 1-1 f v
			A<
			B<
			C<
			D XADD t 1-1 f v
			C PING
		`},
		{"several entries in one pipeline", `
			A* XREAD BLOCK 0 STREAMS s $
			B+ XADD s 1-1 f v
			B+ XADD s 1-2 f v
			B<
			B<
			A<
		`},
		{"the same stream twice", `
			A* XREAD BLOCK 0 STREAMS s s $ 0
			B XADD s 1-1 f v
			A<
		`},
		{"time runs out", `
			A+ XREAD BLOCK 30 STREAMS s $
			B+ XREAD BLOCK 60 COUNT 5 STREAMS s t 0 0
			A<
			B<
			C XADD s 1-1 f v
			A PING
			B PING
		`},
		{"a command behind one that waits", `
			A* XREAD BLOCK 0 STREAMS s $
			A+ PING
			A+ ECHO x
			A?
			B XADD s 1-1 f v
			A<
			A<
			A<
		`},
		{"a waiter that closes its connection", `
			A* XREAD BLOCK 0 STREAMS s $
			B* XREAD BLOCK 0 STREAMS s $
			A-
			C XADD s 1-1 f v
			B<
			C XLEN s
		`},
		{"deleted and made again", `
			B XADD s 5-1 f v
			A* XREAD BLOCK 0 STREAMS s $
			B DEL s
			A?
			B XADD s 1-1 f v
			A?
			B XADD s 6-1 f v
			A<
		`},
		{"the key gets another type", `
			A* XREAD BLOCK 0 STREAMS s $
			B SET s v
			A?
			B DEL s
			B SADD s m
			A?
			B DEL s
			B XADD s 1-1 f v
			A<
		`},
		{"a stream is overwritten", `
			B XADD s 1-1 f v
			A* XREAD BLOCK 0 STREAMS s $
			B SET s v
			A?
			B DEL s
			B XADD s 9-1 f v
			A<
		`},
		{"renamed to", `
			B XADD t 1-1 f v
			A* XREAD BLOCK 0 STREAMS s $
			B RENAME t s
			A<
		`},
		{"renamed away", `
			B XADD s 1-1 f v
			A* XREAD BLOCK 0 STREAMS s $
			B RENAME s t
			A?
			B XADD s 2-1 f v
			A<
		`},
		{"copied and moved to", `
			B XADD t 1-1 f v
			A* XREAD BLOCK 0 STREAMS s $
			C* XREAD BLOCK 0 STREAMS u 0
			B COPY t s
			A<
			B SELECT 1
			B XADD u 3-1 f v
			B MOVE u 0
			C<
		`},
		{"another database", `
			A SELECT 1
			A* XREAD BLOCK 0 STREAMS s $
			B XADD s 1-1 f v
			A?
			B SELECT 1
			B XADD s 2-1 f v
			A<
			A XREAD BLOCK 0 STREAMS s 0
		`},
		{"databases are swapped", `
			B XADD s 1-1 f v
			A SELECT 1
			A* XREAD BLOCK 0 STREAMS s 0
			B SWAPDB 0 1
			A<
		`},
		{"flushed", `
			B XADD s 5-5 f v
			A* XREAD BLOCK 0 STREAMS s $
			B FLUSHALL
			A?
			B XADD s 6-1 f v
			A<
		`},
		{"a stream dies", `
			B XADD s 5-5 f v
			B PEXPIRE s 40
			A* XREAD BLOCK 0 STREAMS s $
			sleep 120
			A?
			B EXISTS s
			B XADD s 6-1 f v
			A<
		`},
		{"entries that go again before", `
			A* XREAD BLOCK 0 STREAMS s $
			B XADD s MAXLEN 0 1-1 f v
			A?
			A-
		`},
		{"the last id is raised", `
			B XADD s 1-1 f v
			A* XREAD BLOCK 0 STREAMS s $
			B XSETID s 9-9
			A?
			B XADD s 10-1 f v
			A<
		`},
		{"client unblock", `
			A* XREAD BLOCK 0 STREAMS s $
			B CLIENT UNBLOCK {A}
			A<
			A* XREAD BLOCK 0 STREAMS s $
			B CLIENT UNBLOCK {A} TIMEOUT
			A<
			A* XREAD BLOCK 0 STREAMS s $
			B CLIENT UNBLOCK {A} ERROR
			A<
			B CLIENT UNBLOCK {A}
			B CLIENT UNBLOCK {A} ERROR
			A* XREAD BLOCK 0 STREAMS s $
			B CLIENT UNBLOCK {A} BAD
			A?
			B XADD s 1-1 f v
			A<
			A PING
		`},
		{"client kill", `
			A* XREAD BLOCK 0 STREAMS s $
			B CLIENT KILL ID {A}
			B XADD s 1-1 f v
			B CLIENT UNBLOCK {A}
		`},
		{"reply off while it waits", `
			A+ CLIENT REPLY SKIP
			A* XREAD BLOCK 0 STREAMS s $
			B XADD s 1-1 f v
			A PING
		`},
		{"wrong types", `
			B SET k v
			A XREAD BLOCK 0 STREAMS k 0
			A XREAD BLOCK 0 STREAMS k $
			A XREAD BLOCK 0 STREAMS gone k 0 0
			B XADD s 1-1 f v
			A XREAD BLOCK 0 STREAMS s k 0 0
			A XREAD BLOCK 0 STREAMS s k $ $
		`},
		{"from one to the next", `
			A* XREAD BLOCK 0 STREAMS s $
			B XADD s 1-1 f v
			A<
			A* XREAD BLOCK 0 STREAMS s 1-1
			B XADD s 1-2 f v
			A<
			A XREAD BLOCK 20 STREAMS s 1-1
			A XREAD BLOCK 20 STREAMS s 1-2
		`},
	}
}
