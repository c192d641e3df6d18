//go:build oracle

package differential

import (
	"fmt"
	"strings"
)

// scoredMembers returns the arguments of a ZADD of n members with scores in no order, some of them equal.
func scoredMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " %d m%d", i*37%(n/3), i)
	}
	return b.String()
}

// sameScored returns the arguments of a ZADD of n members with equal scores.
func sameScored(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " 5 m%d", i*37%n)
	}
	return b.String()
}

func zsetCases() family {
	return family{"zset", []namedCase{
		{"members", `
			ZADD first:short -0 short 1 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
			ZRANGE first:short 0 0 WITHSCORES
			ZADD first:long 1 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx -0 short
			ZRANGE first:long 0 0 WITHSCORES
			ZADD z 1 a 2 b 3 c
			ZADD z CH 5 a 2 b 7 d
			ZADD z XX GT CH 6 a 1 b 9 new
			ZADD z LT 4 a 100 b 9 e
			ZADD z NX 1 a 1 f
			ZADD z INCR 2.5 a
			ZADD z NX INCR 2.5 a
			ZADD z XX INCR 2.5 gone
			ZADD z GT LT 1 a
			ZADD z NX XX 1 a
			ZADD z INCR 1 a 2 b
			ZADD z 1
			ZADD z 1 a 2
			ZADD z x a
			ZADD z nan a
			ZADD z 1 "" 2 "m\x00\r\n" 3 {long*200}
			ZINCRBY z 0.1 a
			ZINCRBY z 1e308 big
			ZINCRBY z 1e308 big
			ZINCRBY z -inf big
			ZINCRBY gone -0 a
			ZCARD z
			ZSCORE z a
			ZSCORE z gone
			ZMSCORE z a gone big
			ZRANK z a
			ZREVRANK z a
			ZRANK z gone
			ZRANK gone a
			ZREM z a a gone
			ZRANGE z 0 -1 WITHSCORES
			OBJECT ENCODING z
			SET s x
			ZADD s 1 a
			ZINCRBY s 1 a
			ZREM s a
			ZCARD s
			ZSCORE s a
			ZMSCORE s a
			ZRANK s a
			ZRANGE s 0 -1
			ZPOPMIN s
			ZRANDMEMBER s
			ZSCAN s 0
		`},
		{"scores as they are spelled", `
			ZADD z 0.1 a 1e17 b 99999999999999999 c 100000000000000000 d 3.0 e 1e-5 f 0.0001 g -0 h 4611686018427387903 i 4611686018427387904 j -4611686018427387905 k 5e-324 l 1.7976931348623157e308 m inf n -inf o 0x1p-3 p .5 q 5. r 1E3 s
			ZRANGE z 0 -1 WITHSCORES
			ZSCAN z 0
			ZADD z 7 {x*65}
			OBJECT ENCODING z
			ZRANGE z 0 -1 WITHSCORES
			ZSCAN z 0 COUNT 100
			ZADD z -0 null
			ZSCORE z null
			ZINCRBY z 0 null
			ZADD z 0 null
			ZSCORE z null
		`},
		{"a large one", lines(`
			CONFIG SET zset-max-listpack-entries 128
			ZADD z` + scoredMembers(300) + `
			OBJECT ENCODING z
			ZCARD z
			ZRANGE z 0 -1 WITHSCORES
			ZRANGE z 10 20 REV WITHSCORES
			ZRANGE z -20 -10
			ZRANK z m0
			ZRANK z m150
			ZREVRANK z m299
			ZCOUNT z 10 20
			ZCOUNT z (10 (20
			ZRANGEBYSCORE z 10 20 WITHSCORES LIMIT 5 10
			ZREVRANGEBYSCORE z 20 (10 LIMIT 5 10
			ZREMRANGEBYSCORE z 30 40
			ZREMRANGEBYRANK z 100 -101
			ZADD z CH` + scoredMembers(60) + `
			ZPOPMAX z 20
			ZPOPMIN z 20
			ZRANGE z 0 -1 WITHSCORES
			ZUNIONSTORE y 1 z WEIGHTS -2
			OBJECT ENCODING y
			ZRANGE y 0 -1 WITHSCORES
			ZRANGESTORE x z 5 25
			OBJECT ENCODING x
			ZINTERSTORE w 2 z x AGGREGATE MAX
			ZRANGE w 0 -1 WITHSCORES
			ZDIFFSTORE v 2 z x
			ZCARD v
			COPY z u
			ZREMRANGEBYRANK z 0 -1
			EXISTS z
			ZCARD u
			RENAME u z
			MOVE z 1
			SELECT 1
			ZRANGE z 0 3 WITHSCORES
		`)},
		{"one score for all", lines(`
			ZADD small` + sameScored(60) + `
			ZADD large` + sameScored(300) + `
			ZLEXCOUNT large [m1 (m2
			ZRANGEBYLEX large [m2 (m3
			ZRANGEBYLEX large (m29 + LIMIT 3 10
			ZREVRANGEBYLEX large [m29 [m1 LIMIT 10 5
			ZRANGE large [m10 [m19 BYLEX LIMIT 0 -1
			ZRANGE large + (m250 BYLEX REV LIMIT 2 4
			ZRANGESTORE d large [m5 (m6 BYLEX
			ZRANGE d 0 -1
			ZREMRANGEBYLEX large [m1 (m2
			ZCARD large
			ZLEXCOUNT small - +
			ZRANGEBYLEX small [m2 (m3
			ZREVRANGEBYLEX small + -  LIMIT 3 4
			ZREMRANGEBYLEX small (m3 [m4
			ZRANGE small 0 -1
			ZINTERCARD 2 small large LIMIT 7
			ZINTERCARD 2 small large
		`)},
		{"together with sets", `
			ZADD a 1 x 2 y 3 z 0.1 1
			ZADD b 10 y 20 z 30 w 0.2 1
			SADD s x w q 1
			SADD i 1 2 3
			ZUNION 4 a b s i WITHSCORES
			ZUNION 3 a b s WEIGHTS 1 2 3 AGGREGATE MAX WITHSCORES
			ZINTER 3 a b i WITHSCORES
			ZINTER 2 s i WITHSCORES WEIGHTS 2 3 AGGREGATE MIN
			ZDIFF 3 a s i WITHSCORES
			ZDIFF 2 s a WITHSCORES
			ZUNIONSTORE s 2 s a
			TYPE s
			ZRANGE s 0 -1 WITHSCORES
			ZUNIONSTORE a 2 a a AGGREGATE SUM
			ZRANGE a 0 -1 WITHSCORES
			ZINTERSTORE a 2 a gone
			EXISTS a
			SADD s x
			SUNION b
			HSET h f v
			ZUNION 2 b h
			ZUNIONSTORE b 1 h
			EXISTS b
		`},
		{"drawing and walking", `
			ZADD z 1 a 2 b 3 c
			ZRANDMEMBER z
			ZRANDMEMBER z 2
			ZRANDMEMBER z -10 WITHSCORES
			ZRANDMEMBER z 3 WITHSCORES
			ZRANDMEMBER z 0
			ZRANDMEMBER gone
			ZRANDMEMBER gone 3
			ZSCAN z 0
			ZSCAN z 0 MATCH [ab] COUNT 1
			ZSCAN gone 0
			ZSCAN z "0\x00"
			SCAN 0 TYPE zset
		`},
		{"popping", `
			ZADD z 1 a 2 b 3 c 3 d
			ZPOPMIN z
			ZPOPMAX z
			ZPOPMIN z 0
			ZPOPMIN z -1
			ZPOPMAX z 5
			ZPOPMAX z
			ZADD z 1 a 2 b 3 c
			ZMPOP 2 gone z MIN COUNT 2
			ZMPOP 1 gone MAX
			BZPOPMIN gone z 1
			ZADD z 1 a 2 b 3 c
			BZMPOP 1 2 gone z MAX COUNT 2
			BZPOPMAX z 0
			BZPOPMAX z 0.01
			BZMPOP 0.01 1 z MIN
			BZPOPMIN z inf
			SET s v
			BZPOPMIN s z 0
		`},
	}}
}
