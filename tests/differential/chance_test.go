//go:build oracle

package differential

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// check plays a command on both servers and returns the difference between the replies, or "".
type check func(p *pair, args []string) string

// checks holds the checks for commands with replies that depend on chance or time. All other replies must be
// equal.
var checks = map[string]check{
	"spop":            checkSpop,
	"srandmember":     checkMembers,
	"hrandfield":      checkFields,
	"zrandmember":     checkScored,
	"zlexcount":       checkLex,
	"zrange":          checkLex,
	"zrangestore":     checkLex,
	"zrangebylex":     checkLex,
	"zrevrangebylex":  checkLex,
	"zremrangebylex":  checkLex,
	"randomkey":       checkRandomKey,
	"scan":            func(p *pair, args []string) string { return checkScan(p, args, 1, 1) },
	"sscan":           func(p *pair, args []string) string { return checkScan(p, args, 2, 1) },
	"hscan":           checkHScan,
	"zscan":           func(p *pair, args []string) string { return checkScan(p, args, 2, 2) },
	"ttl":             func(p *pair, args []string) string { return checkAbout(p, args, toleranceMS/1000) },
	"expiretime":      func(p *pair, args []string) string { return checkAbout(p, args, toleranceMS/1000) },
	"pttl":            func(p *pair, args []string) string { return checkAbout(p, args, toleranceMS) },
	"pexpiretime":     func(p *pair, args []string) string { return checkAbout(p, args, toleranceMS) },
	"object|idletime": checkIdle,
	"dbsize":          checkSize,
	"dump":            checkDump,
	"sort":            checkSort,
	"sort_ro":         checkSort,
	"xpending":        checkGroups,
	"xinfo|consumers": checkGroups,
	"xinfo|stream":    checkGroups,

	"role":            checkRole,
	"object|refcount": checkSame, // outside of transactions: D5
	"auth":            checkSame, // outside of transactions: D106
	"function|dump":   checkLibraries,
}

func differ(ours, redis resp.Value) string {
	return fmt.Sprintf("lockserver: %s\n  redis:      %s", short(ours), short(redis))
}

func short(v resp.Value) string {
	s := v.String()
	if len(s) > 3000 {
		s = s[:3000] + "..."
	}
	return s
}

// checkSame requires the same reply from both servers.
func checkSame(p *pair, args []string) string {
	ours, redis := p.do(args...)
	if !testkit.SameReply(args, ours, redis) {
		return differ(ours, redis)
	}
	return ""
}

// checkAbout allows a difference of tolerance between integers that the servers computed from their clocks.
func checkAbout(p *pair, args []string, tolerance int64) string {
	ours, redis := p.do(args...)
	d := ours.Int - redis.Int
	both := ours.Kind == resp.Integer && redis.Kind == resp.Integer && ours.Int > 0 && redis.Int > 0
	if ours.Equal(redis) || both && -tolerance <= d && d <= tolerance {
		return ""
	}
	return differ(ours, redis)
}

// checkIdle allows for the coarse clock that Redis uses for idle times.
func checkIdle(p *pair, args []string) string {
	ours, redis := p.do(args...)
	d := ours.Int - redis.Int
	if ours.Equal(redis) || ours.Kind == redis.Kind && ours.Kind == resp.Integer && -3 <= d && d <= 3 {
		return ""
	}
	if d < 0 && p.redis.Do("OBJECT", "REFCOUNT", args[2]).Int == sharedReferences { // D5
		return ""
	}
	return differ(ours, redis)
}

// sharedReferences is the number of references to a value that Redis shares.
const sharedReferences = 1<<31 - 1

// payloadTail is the length of the version and the checksum.
const payloadTail = 2 + 8

// checkLibraries allows D45: payloads have an older version here.
func checkLibraries(p *pair, args []string) string {
	ours, redis := p.do(args...)
	a, b := ours.Str, redis.Str
	if ours.Equal(redis) || len(a) == len(b) && len(a) >= payloadTail && a[:len(a)-payloadTail] == b[:len(b)-payloadTail] {
		return ""
	}
	return differ(ours, redis)
}

// checkRole leaves out the offset: Redis counts the question to replicas that WAIT sends, even without
// replicas.
func checkRole(p *pair, args []string) string {
	ours, redis := p.do(args...)
	if ours.Equal(redis) || alike(ours, redis) && ours.Elems[0].Equal(redis.Elems[0]) {
		return ""
	}
	return differ(ours, redis)
}

// checkSize gives Redis time to remove keys that got a deadline in the past.
func checkSize(p *pair, args []string) string {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		ours, redis := p.do(args...)
		if ours.Equal(redis) {
			return ""
		}
		if time.Now().After(end) {
			return differ(ours, redis)
		}
	}
}

// alike reports whether two replies have the same types and lengths at all levels.
func alike(a, b resp.Value) bool {
	if a.IsError() || a.IsNull() {
		return a.Equal(b)
	}
	return a.Kind == b.Kind && slices.EqualFunc(a.Elems, b.Elems, alike)
}

// checkMembers checks SRANDMEMBER: it draws members, which are distinct unless the count is negative.
func checkMembers(p *pair, args []string) string {
	ours, redis := p.do(args...)
	if !alike(ours, redis) {
		return differ(ours, redis)
	}
	return p.areMembers(args, ours)
}

func (p *pair) areMembers(args []string, v resp.Value) string {
	if v.IsError() || v.IsNull() {
		return ""
	}
	drawn := texts(v)
	if len(drawn) == 0 {
		return ""
	}
	for i, is := range p.redis.Do(append([]string{"SMISMEMBER", args[1]}, drawn...)...).Elems {
		if is.Int != 1 {
			return fmt.Sprintf("lockserver drew %q, which is no member", drawn[i])
		}
	}
	if len(args) > 2 && !strings.HasPrefix(args[2], "-") {
		return distinct(drawn)
	}
	return ""
}

// texts returns the strings in a reply.
func texts(v resp.Value) []string {
	if v.Kind == resp.Bulk {
		return []string{v.Str}
	}
	var list []string
	for _, e := range v.Elems {
		list = append(list, e.Str)
	}
	return list
}

func distinct(list []string) string {
	sorted := slices.Sorted(slices.Values(list))
	if len(slices.Compact(sorted)) != len(list) {
		return fmt.Sprintf("lockserver drew one twice: %q", list)
	}
	return ""
}

// checkFields checks HRANDFIELD: it draws fields, with their values if requested.
func checkFields(p *pair, args []string) string {
	ours, redis := p.do(args...)
	if !alike(ours, redis) {
		return differ(ours, redis)
	}
	if ours.IsError() || ours.IsNull() {
		return ""
	}
	withValues := len(args) > 3
	var fields []string
	for i := 0; i < len(ours.Elems); i++ {
		pair := ours.Elems[i:]
		if e := ours.Elems[i]; e.Kind == resp.Array { // RESP3 has pairs
			pair = e.Elems
		} else if withValues {
			i++
		}
		fields = append(fields, pair[0].Str)
		if withValues && p.redis.Do("HGET", args[1], pair[0].Str).Str != pair[1].Str {
			return fmt.Sprintf("lockserver drew %q with a wrong value %q", pair[0].Str, pair[1].Str)
		}
	}
	if ours.Kind == resp.Bulk {
		fields = []string{ours.Str}
	}
	for _, f := range fields {
		if p.redis.Do("HEXISTS", args[1], f).Int != 1 {
			return fmt.Sprintf("lockserver drew %q, which is no field", f)
		}
	}
	if len(args) > 2 && !strings.HasPrefix(args[2], "-") {
		return distinct(fields)
	}
	return ""
}

func checkRandomKey(p *pair, args []string) string {
	ours, redis := p.do(args...)
	if !alike(ours, redis) {
		return checkEmptied(p, ours, redis)
	}
	if ours.Kind == resp.Bulk && p.redis.Do("EXISTS", ours.Str).Int != 1 {
		return fmt.Sprintf("lockserver drew %q, which is no key", ours.Str)
	}
	return ""
}

// checkEmptied allows a null if the other server still found a key that was overdue.
func checkEmptied(p *pair, ours, redis resp.Value) string {
	if ours.IsError() || redis.IsError() || p.redis.Do("EXISTS", redis.Str).Int+p.ours.Do("EXISTS", ours.Str).Int > 0 {
		return differ(ours, redis)
	}
	return ""
}

// checkSpop lets lockserver draw, and removes the same members from Redis. It lets Redis draw the same number
// from a copy, to compare the form of the reply.
func checkSpop(p *pair, args []string) string {
	const spare = "a copy of the set"
	if len(args) < 2 || p.redis.Do("TYPE", args[1]).Str != "set" {
		return checkSame(p, args)
	}
	p.redis.Do("COPY", args[1], spare, "REPLACE")
	onCopy := slices.Clone(args)
	onCopy[1] = spare
	redis := p.redis.Do(onCopy...)
	p.redis.Do("DEL", spare)
	ours := p.ours.Do(args...)
	if !alike(ours, redis) {
		return differ(ours, redis)
	}
	drawn := texts(ours)
	if ours.IsError() || len(drawn) == 0 {
		return ""
	}
	if wrong := distinct(drawn); wrong != "" {
		return wrong
	}
	if wrong := p.areMembers(args, ours); wrong != "" {
		return wrong
	}
	n := p.redis.Do(append([]string{"SREM", args[1]}, drawn...)...).Int
	if n != int64(len(drawn)) {
		return "lockserver popped " + strconv.Itoa(len(drawn)) + " members, Redis had " + strconv.FormatInt(n, 10)
	}
	return ""
}

// checkScan compares complete scans, because a cursor is only valid on its own server. at is the index of the
// cursor in the call, and size the number of elements of the reply that belong together.
func checkScan(p *pair, args []string, at, size int) string {
	ours, redis := p.do(args...)
	if ours.IsError() || redis.IsError() || len(ours.Elems) != 2 || len(redis.Elems) != 2 {
		if ours.Equal(redis) {
			return ""
		}
		return differ(ours, redis)
	}
	if args[at] != "0" {
		return ""
	}
	a, wrong := walk(&p.ours, args, at, size, ours)
	if wrong != "" {
		return wrong
	}
	b, _ := walk(&p.redis, args, at, size, redis)
	if !slices.Equal(a, b) {
		return fmt.Sprintf("a whole walk: lockserver: %q\n  redis:      %q", a, b)
	}
	return ""
}

// checkHScan is checkScan for HSCAN, with or without NOVALUES.
func checkHScan(p *pair, args []string) string {
	size := 2
	if slices.ContainsFunc(args, func(arg string) bool { return strings.EqualFold(arg, "NOVALUES") }) {
		size = 1
	}
	return checkScan(p, args, 2, size)
}

// walk follows the cursors to the end and returns all results, sorted and without duplicates.
func walk(s *side, args []string, at, size int, reply resp.Value) (found []string, wrong string) {
	args = slices.Clone(args)
	for steps := 0; ; steps++ {
		if steps > 100_000 {
			return nil, "the walk does not end"
		}
		for group := range slices.Chunk(reply.Elems[1].Elems, size) {
			found = append(found, resp.Value{Kind: resp.Array, Elems: group}.String())
		}
		cursor := reply.Elems[0].Str
		if cursor == "0" {
			slices.Sort(found)
			return slices.Compact(found), ""
		}
		args[at] = cursor
		if reply = s.Do(args...); len(reply.Elems) != 2 {
			return nil, "the walk broke off: " + reply.String()
		}
	}
}
