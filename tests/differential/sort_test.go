//go:build oracle

package differential

import (
	"slices"
	"strings"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// checkSort allows another order where the order is not defined. That is so for a set that is not sorted (a
// BY without '*'), and for words that differ only after a zero byte, which C takes to be equal (D44).
func checkSort(p *pair, args []string) string {
	clearErrno(p)
	ours, redis := p.do(args...)
	if ours.Equal(redis) || ours.Kind != resp.Array || redis.Kind != resp.Array || len(ours.Elems) != len(redis.Elems) {
		if !ours.Equal(redis) {
			return differ(ours, redis)
		}
		return ""
	}
	unsorted, limited, alpha := false, false, false
	for i, arg := range args {
		unsorted = unsorted || i > 2 && strings.EqualFold(args[i-1], "BY") && !strings.Contains(arg, "*")
		limited = limited || strings.EqualFold(arg, "LIMIT")
		alpha = alpha || strings.EqualFold(arg, "ALPHA")
	}
	anyOrder := unsorted && p.ours.Do("TYPE", args[1]).Str == "set"
	if !unsorted && alpha {
		anyOrder = slices.ContainsFunc(p.ours.Do("SORT_RO", args[1], "BY", "nosort").Elems,
			func(v resp.Value) bool { return strings.Contains(v.Str, "\x00") })
	}
	if anyOrder && (limited || testkit.SameReply([]string{"SMEMBERS"}, ours, redis)) {
		return ""
	}
	return differ(ours, redis)
}

// clearErrno is called before SORT. Redis checks errno after strtod, but does not clear it before. So a SORT
// with a number out of range makes the next SORT fail, until something else clears errno.
func clearErrno(p *pair) { p.redis.watch.Do("ZADD", spareKey, "clears errno", "m") }

// harmlessSort removes ALPHA from a call that has BY, because the order of equal words is not defined.
func harmlessSort(args []string) []string {
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.EqualFold(arg, "BY") }) {
		return args
	}
	return slices.DeleteFunc(args, func(arg string) bool { return strings.EqualFold(arg, "ALPHA") })
}
