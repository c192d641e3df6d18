//go:build oracle

package differential

func hashCases() family {
	return family{"hash", []namedCase{
		{"set and get", `
			HSET h f v
			HSET h f w g x
			HSET h f v f w
			HGET h f
			HGET h gone
			HGET gone f
			HSET h
			HSET h f
			HSET h f v g
			HSET h "" ""
			HGET h ""
			HSET h "f\x00" "v\r\n"
			HGETALL h
			HSET s
			SET s x
			HSET s f v
			HSET s f
			HGET s f
			HMSET h a 1 b 2
			HMSET h a
			HMSET h a 1 b
			HMSET s a 1
			HMGET h a b gone
			HMGET gone a b
			HMGET s a
			HMGET h
			HSETNX h a 5
			HSETNX h new 5
			HSETNX s a 5
			HSETNX h a
			HGETALL h
			HGETALL gone
			HGETALL s
			HKEYS h
			HKEYS gone
			HKEYS s
			HVALS h
			HVALS gone
			HVALS s
			HLEN h
			HLEN gone
			HLEN s
			HEXISTS h a
			HEXISTS h no
			HEXISTS gone a
			HEXISTS s a
			HSTRLEN h a
			HSTRLEN h no
			HSTRLEN gone a
			HSTRLEN s a
			TYPE h
		`},
		{"order by deadlines", `
			HSET h a 1 b 2 c 3 d 4 5 five f 6
			HPEXPIREAT h 4102444800000 FIELDS 2 c 5
			EVAL "return cjson.encode(redis.call('HGETALL',KEYS[1]))" 1 h
			HPEXPIREAT h 4102444800500 FIELDS 1 a
			HPEXPIREAT h 4102444700000 FIELDS 2 f nosuch
			EVAL "return cjson.encode(redis.call('HKEYS',KEYS[1]))" 1 h
			HPEXPIREAT h 4102444800000 FIELDS 3 a b d
			EVAL "return cjson.encode(redis.call('HGETALL',KEYS[1]))" 1 h
			HPERSIST h FIELDS 2 c b
			EVAL "return cjson.encode(redis.call('HVALS',KEYS[1]))" 1 h
			HSET h 5 again new 7
			EVAL "return cjson.encode(redis.call('HGETALL',KEYS[1]))" 1 h
			HINCRBY h a 1
			HPEXPIREAT h 4102444900000 FIELDS 1 f
			EVAL "return cjson.encode(redis.call('HKEYS',KEYS[1]))" 1 h
			HDEL h d
			HPEXPIREAT h 4102444600000 FIELDS 1 d
			HSET h d 8
			HPEXPIREAT h 4102444600000 FIELDS 2 d new
			EVAL "return cjson.encode(redis.call('HSCAN',KEYS[1],'0'))" 1 h
			COPY h h2
			EVAL "return cjson.encode(redis.call('HGETALL',KEYS[1]))" 1 h2
			HPEXPIREAT h2 1 FIELDS 1 d
			EVAL "return cjson.encode(redis.call('HGETALL',KEYS[1]))" 1 h2
			HPEXPIREAT h3 4102444600000 FIELDS 1 d
			HSET h3 only 1
			HPEXPIREAT h3 4102444600000 FIELDS 1 only
			HPEXPIREAT h3 4102444600001 FIELDS 1 only
			HPERSIST h3 FIELDS 1 only
			EVAL "return cjson.encode(redis.call('HGETALL',KEYS[1]))" 1 h3
		`},
		{"delete", `
			HSET h a 1 b 2 c 3
			HDEL h a
			HDEL h a b no
			HDEL gone a
			SET s x
			HDEL s a
			HDEL h
			HDEL h c c c
			EXISTS h
			HSET h a 1
			EXPIRE h 1000
			HDEL h a
			HSET h a 1
			TTL h
		`},
		{"hincrby", `
			HINCRBY h f 5
			HINCRBY h f -3
			HINCRBY h f abc
			HINCRBY h f 1.0
			HINCRBY h f 9223372036854775808
			HSET h f 9223372036854775807
			HINCRBY h f 1
			HSET h f -9223372036854775808
			HINCRBY h f -1
			HINCRBY h f 9223372036854775807
			HSET h f abc
			HINCRBY h f 1
			HSET h f " 1"
			HINCRBY h f 1
			HSET h f ""
			HINCRBY h f 1
			HSET h f 1.5
			HINCRBY h f 1
			SET s x
			HINCRBY s f 1
			HINCRBY s f abc
			HINCRBY h f
			HGETALL h
		`},
		{"hincrbyfloat", `
			HINCRBYFLOAT h f 1.5
			HINCRBYFLOAT h f 0.1
			HINCRBYFLOAT h f -1.6
			HINCRBYFLOAT h f 1e300
			HINCRBYFLOAT h g 1e400
			HINCRBYFLOAT h g 5e-400
			HINCRBYFLOAT h f inf
			HINCRBYFLOAT h f nan
			HINCRBYFLOAT h f abc
			HINCRBYFLOAT h f ""
			HINCRBYFLOAT h n 3.0
			HGET h n
			HSET h s abc
			HINCRBYFLOAT h s 1
			HSET h s " 1"
			HINCRBYFLOAT h s 1
			HSET h s 3.00
			HINCRBYFLOAT h s 0
			HSET h big 99999999999999999
			HINCRBYFLOAT h big 0.5
			HSET h inf inf
			HINCRBYFLOAT h inf 1
			SET k x
			HINCRBYFLOAT k f 1
			HINCRBYFLOAT k f abc
		`},
		{"random fields", `
			HRANDFIELD gone
			HRANDFIELD gone 5
			HRANDFIELD gone 5 WITHVALUES
			HSET h a 1 b 2 c 3
			HRANDFIELD h
			HRANDFIELD h 0
			HRANDFIELD h 0 WITHVALUES
			HRANDFIELD h 2
			HRANDFIELD h 3
			HRANDFIELD h 10
			HRANDFIELD h -10
			HRANDFIELD h 2 WITHVALUES
			HRANDFIELD h 10 WITHVALUES
			HRANDFIELD h -10 WITHVALUES
			HRANDFIELD h abc
			HRANDFIELD h 1 BAD
			HRANDFIELD h 1 WITHVALUES x
			HRANDFIELD h 9223372036854775808
			HRANDFIELD h -9223372036854775808
			HRANDFIELD h -9223372036854775808 WITHVALUES
			HRANDFIELD h 9223372036854775807
			HRANDFIELD h 4611686018427387904 WITHVALUES
			HRANDFIELD h -4611686018427387905 WITHVALUES
			HRANDFIELD gone abc
			SET s x
			HRANDFIELD s
			HRANDFIELD s 1
			HRANDFIELD s abc
			HRANDFIELD
		`},
		{"hscan", `
			HSCAN gone 0
			HSCAN gone 0 COUNT abc
			HSCAN gone abc
			HSET h a 1 b 2 c 3 {d*100} x
			HSCAN h 0
			HSCAN h 0 MATCH a
			HSCAN h 0 MATCH [ab]
			HSCAN h 0 COUNT 1
			HSCAN h 0 COUNT 0
			HSCAN h 0 COUNT -1
			HSCAN h 0 COUNT abc
			HSCAN h 0 MATCH
			HSCAN h 0 BAD
			HSCAN h abc
			HSCAN h -1
			HSCAN h ""
			HSCAN h 99999999999999999999
			HSCAN h 0 count 5 match * match c
			SET s x
			HSCAN s 0
			HSCAN s abc
			HSCAN s 0 COUNT abc
			HSCAN h
			HSCAN h 0 NOVALUES
		`},
		{"encodings", `
			HSET h f v
			CONFIG SET hash-max-listpack-entries 2
			HSET twice a 1 a 2 b 3
			OBJECT ENCODING twice
			CONFIG SET hash-max-listpack-entries 512
			HSET none f v
			HEXPIRE none 100 GT FIELDS 1 g
			OBJECT ENCODING none
			OBJECT ENCODING h
			HSET h f {x*64}
			OBJECT ENCODING h
			HSET h f {x*65}
			OBJECT ENCODING h
			HDEL h f
			HSET h {f*65} v
			OBJECT ENCODING h
			HSET g {f*64} v
			OBJECT ENCODING g
			COPY h c
			OBJECT ENCODING c
		`},
	}}
}
