//go:build oracle

package differential

func sortCases() family {
	return family{"sort", []namedCase{
		{"numbers", `
			SADD few a b
			SORT few BY none LIMIT 0 0
			DEL few
			SORT gone
			RPUSH l 3 1 2 10 -5 1.5 0x10 inf -inf 1e3 " 7" ""
			SORT l
			SORT l DESC
			SORT l ASC
			SORT l DESC ASC
			SORT l LIMIT 0 3
			SORT l LIMIT 2 3
			SORT l LIMIT 5 100
			SORT l LIMIT 100 5
			SORT l LIMIT -3 2
			SORT l LIMIT 2 -1
			SORT l LIMIT 3 0
			SORT l LIMIT 9223372036854775807 9223372036854775807
			SORT l LIMIT 1 9223372036854775807 DESC
			SORT_RO l DESC LIMIT 0 2
			LRANGE l 0 -1
			RPUSH l a
			SORT l
			SORT l STORE d
			EXISTS d
			SORT l BY nosort
			RPUSH m 1.0 1 01 1e0 +1 2
			SORT m
			SORT m DESC
			RPUSH bad1 nan
			SORT bad1
			RPUSH bad2 1e400
			SORT bad2
			RPUSH bad3 1e-320
			SORT bad3
			RPUSH bad4 1e-400
			SORT bad4
			RPUSH bad5 "  "
			SORT bad5
			RPUSH bad6 "1 "
			SORT bad6
			RPUSH good "1\x00junk" 0 "\t2"
			SORT good
		`},
		{"words", `
			RPUSH l banana apple Cherry 10 9 "" apple2 apple
			SORT l ALPHA
			SORT l ALPHA DESC
			SORT l ALPHA LIMIT 1 3
			SADD t b a d c
			SORT t ALPHA
			SORT t ALPHA DESC LIMIT 0 2
			SADD i 5 3 9 1
			SORT i
			ZADD z 3 a 1 c 2 b
			SORT z ALPHA
			SORT z
			SORT z BY nosort
			SORT z BY nosort DESC
			SORT z BY nosort LIMIT 1 1
			SORT z BY nosort DESC LIMIT 0 2
			SORT z BY nosort ALPHA
			SORT z BY nosort STORE d
			LRANGE d 0 -1
			SORT t BY nosort STORE d
			LRANGE d 0 -1
			SORT t BY nosort DESC STORE d LIMIT 1 2
			LRANGE d 0 -1
			SORT l BY nosort
			SORT l BY nosort DESC
			SORT l BY nosort DESC LIMIT 1 3
			SORT l BY nosort LIMIT 1 3
			SORT l BY nosort LIMIT 20 3
			SORT l BY nosort BY w_*
			OBJECT ENCODING z
			ZADD small 1 a
			SORT_RO small BY nosort LIMIT 0 0
			OBJECT ENCODING small
			ZADD spared 1 a
			SORT spared LIMIT 0 x
			OBJECT ENCODING spared
			EVAL "return redis.call('sort',KEYS[1],'by','nosort','limit',1,2)" 1 t
		`},
		{"by and get", `
			RPUSH l 1 2 3 4
			MSET w_1 30 w_2 10 w_3 20 o_1 one o_2 two o_3 "" w_4 10
			HSET h_1 f 5 g x
			HSET h_2 f 1
			SORT l BY w_*
			SORT l BY w_* DESC
			SORT l BY w_* GET #
			SORT l BY w_* GET o_* GET # GET h_*->f
			SORT l BY h_*->f
			SORT l BY h_*->f GET h_*->g
			SORT l BY h_*->none
			SORT l BY h_*
			SORT l BY w_*->f
			SORT l BY o_* ALPHA LIMIT 0 2
			SORT l BY o_*
			SORT l GET none
			SORT l GET *
			SORT l GET w_*->
			SET w_1-> odd
			SORT l GET w_*->
			HSET 1->2 f v
			SORT l GET *->2->f
			SORT l GET "o_*\x00x"
			SORT l GET ##
			SORT l BY # ALPHA
			SORT l BY # DESC
			SORT l BY nosort GET # GET o_*
			SORT l BY w_* LIMIT 1 2 GET o_* STORE d
			LRANGE d 0 -1
			SORT l GET o_* STORE d
			LRANGE d 0 -1
			SORT l GET o_* GET none STORE d
			LRANGE d 0 -1
			OBJECT ENCODING w_1
			SORT l STORE l
			SORT l DESC STORE l
			LRANGE l 0 -1
			SET s v EX 1000
			SORT l STORE s
			TTL s
			SORT gone STORE s
			EXISTS s
			SORT gone STORE s
			SET w_2 x
			SORT l BY w_*
			SORT l BY w_* STORE d
			SORT l BY w_* ALPHA
		`},
		{"refusals", `
			SET s v
			HSET h f v
			XADD x 1-1 f v
			RPUSH l 1
			SORT
			SORT_RO
			SORT s
			SORT h
			SORT x
			SORT s BAD
			SORT l BAD
			SORT l LIMIT
			SORT l LIMIT 1
			SORT l LIMIT a 1
			SORT l LIMIT 1 a
			SORT l LIMIT 1 1.5
			SORT l BY
			SORT l GET
			SORT l STORE
			SORT_RO l STORE d
			SORT s LIMIT a 1
			SORT l asc desc alpha limit 0 1 get # by x store d
			COMMAND GETKEYS SORT l
			COMMAND GETKEYS SORT l BY w_* GET o_* STORE d
			COMMAND GETKEYS SORT l STORE d LIMIT 0 1 STORE e
			COMMAND GETKEYS SORT l GET STORE STORE e
			COMMAND GETKEYS SORT_RO l BY w_*
			COMMAND GETKEYSANDFLAGS SORT l STORE d
		`},
	}}
}
