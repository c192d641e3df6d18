//go:build oracle

package differential

func listCases() family {
	return family{"list", []namedCase{
		{"both ends", `
			RPUSH l a b c
			LPUSH l x y
			LRANGE l 0 -1
			LPUSHX l z 1
			RPUSHX l 2 ""
			RPUSHX gone a
			LPUSHX gone a
			LLEN l
			LLEN gone
			RPUSH l "m\x00\r\n" 007 -0 9223372036854775807 9223372036854775808
			LRANGE l -5 -1
			LPOP l
			RPOP l
			LPOP l 3
			RPOP l 0
			RPOP l 100
			LPOP l
			LPOP l 2
			LPOP l -1
			EXISTS l
			SET s v
			RPUSH s a
			LPOP s
			LLEN s
			LRANGE s 0 1
			RPUSH l
			LPOP l 1 2
		`},
		{"in the middle", `
			RPUSH l 0 1 2 3 4 5 6 7 8 9
			LSET l 3 x
			LSET l -1 y
			LSET l 10 z
			LSET gone 0 z
			LINSERT l BEFORE x w
			LINSERT l AFTER y ""
			LINSERT l AFTER none w
			CONFIG SET list-max-listpack-size 1
			RPUSH one x
			LSET one 5 y
			OBJECT ENCODING one
			RPUSH other x
			LINSERT other AFTER none w
			OBJECT ENCODING other
			CONFIG SET list-max-listpack-size -2
			LINSERT gone BEFORE a b
			LINSERT l NEAR a b
			LRANGE l 0 -1
			LINDEX l 3
			LINDEX l -4
			LINDEX l 100
			LINDEX gone x
			LREM l 0 5
			LREM l -1 w
			LREM l 1 none
			LTRIM l 1 -2
			LRANGE l 0 -1
			LTRIM l 3 2
			EXISTS l
		`},
		{"large elements and many of them", `
			RPUSH l {a*100} {b*9000} {c*4000} {d*4000} {e*70000}
			LRANGE l 0 -1
			LSET l 1 {f*20000}
			LSET l 1 small
			LINSERT l BEFORE small {g*8150}
			LPUSH l {h*8192}
			LRANGE l 0 -1
			LREM l 0 {c*4000}
			LPOS l {e*70000}
			LTRIM l 1 3
			LRANGE l 0 -1
			RPUSH m {1*5} {2*5} {3*5} {4*5}
			LINSERT m AFTER 22222 {x*9000}
			LRANGE m 0 -1
		`},
		{"small nodes", `
			CONFIG SET list-max-listpack-size 2
			RPUSH l a b c d e f g h a b c d
			LINSERT l BEFORE d 1
			LINSERT l AFTER d 2
			LINSERT l AFTER d 3
			LSET l 5 {x*9000}
			LRANGE l 0 -1
			LREM l -1 a
			LREM l 0 b
			LPOS l d COUNT 0
			LTRIM l 2 -3
			LRANGE l 0 -1
			RPOP l 3
			LPOP l 3
			LRANGE l 0 -1
			CONFIG SET list-max-listpack-size -2
		`},
		{"lpos", `
			RPUSH l a b c a b c a 1 1
			LPOS l a
			LPOS l a RANK -1
			LPOS l a RANK 2 COUNT 0
			LPOS l a RANK -2 COUNT 5 MAXLEN 7
			LPOS l 1 MAXLEN 3
			LPOS l 1 RANK -1 MAXLEN 1
			LPOS l a COUNT 2
			LPOS l z COUNT 0
			LPOS gone a
			LPOS gone a COUNT 1
			LPOS l a RANK 0
			LPOS l a COUNT -1
			LPOS l a MAXLEN -1
			LPOS l a RANK
		`},
		{"moves", `
			RPUSH a 1 2 3
			LMOVE a b LEFT RIGHT
			RPOPLPUSH a b
			LMOVE b b RIGHT LEFT
			LRANGE b 0 -1
			LMOVE gone b LEFT LEFT
			RPOPLPUSH gone b
			LMOVE a b LEFT
			LMOVE a b LEFT UP
			SET s v
			LMOVE a s LEFT LEFT
			RPOPLPUSH s a
			EXPIRE a 100
			RPOPLPUSH a a
			TTL a
			LMOVE a b RIGHT RIGHT
			EXISTS a
			LRANGE b 0 -1
		`},
		{"several keys", `
			RPUSH l a b c d
			LMPOP 2 gone l LEFT
			LMPOP 2 gone l RIGHT COUNT 2
			LMPOP 1 gone LEFT
			LMPOP 0 l LEFT
			LMPOP 1 l
			LMPOP 2 l LEFT
			LMPOP 1 l LEFT COUNT 0
			SET s v
			LMPOP 2 s l LEFT
			LMPOP 2 l s LEFT COUNT 100
			EXISTS l
			BLPOP l 0.001
			BRPOP l gone 0.001
			BLMPOP 0.001 1 l LEFT COUNT 3
			BLMOVE l m LEFT LEFT 0.001
			BRPOPLPUSH l m 0.001
			BLPOP s 0
			BLPOP gone s 0
			BLPOP gone -1
			BLPOP gone x
			BLPOP gone 1e18
			BLPOP gone inf
			RPUSH l a b c
			BLPOP gone l 0
			BRPOP l 0
			BLMOVE l m LEFT LEFT 0
		`},
		{"as keys", `
			RPUSH l a b c
			TYPE l
			OBJECT ENCODING l
			COPY l m
			LPUSH m x
			LRANGE l 0 -1
			RENAME l n
			LRANGE n 0 -1
			EXPIRE n 100
			LPUSH n y
			TTL n
			SET n v
			RPUSH n a
			MOVE m 1
			SELECT 1
			LRANGE m 0 -1
			SCAN 0 TYPE list
			RPUSH big {x*9000}
			OBJECT ENCODING big
			GET big
			SADD big m
		`},
	}}
}
