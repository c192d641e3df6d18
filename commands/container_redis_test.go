//go:build oracle

package commands

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// containerKeys lists the keys of random commands.
const containerKeys = "h1 h2 h3 s1 s2 s3 s4 s5 none str"

// containerCalls lists forms of calls: k is a key, e a field, value or member, n a number, * some keys, + a
// key and some elements.
const containerCalls = `
	HSET,+ HSET,+ HSET,+ HMSET,+ HSETNX,k,e,e HDEL,+ HINCRBY,k,e,n HINCRBY,k,e,n HINCRBYFLOAT,k,e,n HINCRBYFLOAT,k,e,n
	HGET,k,e HMGET,+ HGETALL,k HKEYS,k HVALS,k HLEN,k HSTRLEN,k,e HEXISTS,k,e
	HSCAN,k,0,COUNT,99999 HSCAN,k,0,MATCH,*1*,COUNT,99999
	HRANDFIELD,k,99999 HRANDFIELD,k,99999,WITHVALUES HRANDFIELD,k,0
	SADD,+ SADD,+ SADD,+ SADD,+ SREM,+ SMOVE,k,k,e SMOVE,k,k,e SISMEMBER,k,e SMISMEMBER,+ SMEMBERS,k SCARD,k
	SSCAN,k,0,COUNT,99999 SSCAN,k,0,COUNT,99999,MATCH,m*[02468]
	SRANDMEMBER,k,99999 SRANDMEMBER,k,0 SPOP,k,99999 SPOP,k,n
	SINTER,* SUNION,* SDIFF,* SINTERSTORE,k,* SUNIONSTORE,k,* SDIFFSTORE,k,* SINTERCARD,2,k,k SINTERCARD,2,k,k,LIMIT,n
	SET,str,e GETDEL,k`

// randomContainerCall returns a command with a deterministic reply, except for its order.
func randomContainerCall(r *rand.Rand, universe int) []string {
	pick := func(list string) string { f := strings.Fields(list); return f[r.IntN(len(f))] }
	key := func() string { return pick(containerKeys) }
	element := func() string {
		switch n := r.IntN(universe); r.IntN(12) {
		case 0:
			return pick("e e\x00 -0 007 1.5 -3.25e2 inf nan 9223372036854775807 -9223372036854775808 0x1p3")
		case 1:
			return ""
		case 2:
			return strings.Repeat("long", 15+n%3)
		case 3, 4, 5, 6:
			return strconv.Itoa(n)
		default:
			return "m" + strconv.Itoa(n)
		}
	}
	number := func() string {
		return pick("0 1 -1 5 100 x 1.5 -2.75 3e2 9223372036854775807 -9223372036854775808 99999999999999999999")
	}
	several := func(most int, of func() string) (list []string) {
		for range 1 + r.IntN(most) {
			list = append(list, of())
		}
		return list
	}
	call := pick(containerCalls)
	var args []string
	for i, word := range strings.Split(call, ",") {
		switch {
		case i == 0:
			args = append(args, word)
		case word == "k":
			args = append(args, key())
		case word == "e":
			args = append(args, element())
		case word == "n" && args[0] == "SPOP": // the popped elements must not depend on chance
			args = append(args, pick("0 -1 x 99999"))
		case word == "n":
			args = append(args, number())
		case word == "*":
			args = append(args, several(6, key)...)
		case word == "+":
			args = append(append(args, key()), several(12, element)...)
		default:
			args = append(args, word)
		}
	}
	return args
}

// unordered sorts the strings of arrays and sets and the pairs of maps, because their order in Redis depends
// on its tables. A flat reply, such as HGETALL in RESP2, is sorted as one list of strings.
func unordered(v resp.Value) resp.Value {
	byText := func(a, b resp.Value) int { return cmp.Compare(a.String(), b.String()) }
	for i := range v.Elems {
		v.Elems[i] = unordered(v.Elems[i])
	}
	if v.Kind == resp.Map {
		var pairs []resp.Value
		for i := 0; i < len(v.Elems); i += 2 {
			pairs = append(pairs, resp.Value{Kind: resp.Array, Elems: v.Elems[i : i+2]})
		}
		v = resp.Value{Kind: resp.Map, Elems: pairs}
	}
	slices.SortFunc(v.Elems, byText)
	return v
}
