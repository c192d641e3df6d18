//go:build oracle

package differential

import (
	"fmt"
	"strings"

	"lockserver/internal/resp"
)

// checkScored checks ZRANDMEMBER: it draws members, with their scores if requested. They are distinct unless
// the count is negative.
func checkScored(p *pair, args []string) string {
	ours, redis := p.do(args...)
	if !alike(ours, redis) {
		return differ(ours, redis)
	}
	if ours.IsError() || ours.IsNull() {
		return ""
	}
	if ours.Kind == resp.Bulk {
		return p.isScored(args[1], ours, nil)
	}
	withScores := len(args) > 3
	var members []string
	for i := 0; i < len(ours.Elems); i++ {
		pair := ours.Elems[i:]
		if e := ours.Elems[i]; e.Kind == resp.Array { // RESP3 has pairs
			pair = e.Elems
		} else if withScores {
			i++
		}
		members = append(members, pair[0].Str)
		var score *resp.Value
		if withScores {
			score = &pair[1]
		}
		if wrong := p.isScored(args[1], pair[0], score); wrong != "" {
			return wrong
		}
	}
	if len(args) > 2 && !strings.HasPrefix(args[2], "-") {
		return distinct(members)
	}
	return ""
}

// isScored returns the fault of a member that lockserver drew, and of its score if that is given.
func (p *pair) isScored(key string, member resp.Value, score *resp.Value) string {
	is := p.redis.Do("ZSCORE", key, member.Str)
	switch {
	case is.IsNull():
		return fmt.Sprintf("lockserver drew %q, which is no member", member.Str)
	case score != nil && !is.Equal(*score):
		return fmt.Sprintf("lockserver drew %q with a wrong score %s", member.Str, score)
	}
	return ""
}

// checkLex leaves out ranges by bytes of members with different scores, which are not defined. In Redis they
// depend on the shape of its skip list, except in listpacks.
func checkLex(p *pair, args []string) string {
	key := 1
	if strings.EqualFold(args[0], "ZRANGESTORE") {
		key = 2
	}
	byLex, limited := strings.HasSuffix(strings.ToUpper(args[0]), "LEX") || strings.EqualFold(args[0], "ZLEXCOUNT"), false
	for _, a := range args {
		byLex = byLex || strings.EqualFold(a, "BYLEX")
		limited = limited || strings.EqualFold(a, "LIMIT")
	}
	if byLex && key < len(args) {
		if k := args[key]; p.redis.Do("TYPE", k).Str == "zset" && (limited || p.redis.Do("OBJECT", "ENCODING", k).Str == "skiplist") {
			first, last := p.redis.Do("ZRANGE", k, "0", "0", "WITHSCORES"), p.redis.Do("ZRANGE", k, "-1", "-1", "WITHSCORES")
			if scoresOf(first) != scoresOf(last) {
				return ""
			}
		}
	}
	return checkSame(p, args)
}

// scoresOf returns the score in a reply with one member and its score.
func scoresOf(v resp.Value) string {
	for len(v.Elems) > 0 {
		v = v.Elems[len(v.Elems)-1]
	}
	return v.String()
}
