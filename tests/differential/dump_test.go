//go:build oracle

package differential

import (
	"strings"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// spareKey is the key in Redis at which one of our payloads is tried.
const spareKey = "payload of the other server"

// checkDump allows two payloads to differ if a value can be written in several ways. The members of a table
// have a random order, the nodes of a list depend on its history, and so does LZF's output. Then Redis must
// make the same value from our payload as from its own.
func checkDump(p *pair, args []string) string {
	ours, redis := p.do(args...)
	if ours.Equal(redis) {
		return ""
	}
	if ours.Kind != resp.Bulk || redis.Kind != resp.Bulk {
		return differ(ours, redis)
	}
	if v := p.redis.Do("RESTORE", spareKey, "0", ours.Str, "REPLACE"); v.Str != "OK" {
		return "redis refuses our payload: " + v.String()
	}
	defer p.redis.Do("DEL", spareKey)
	if a, b := valueOf(p.redis.Client, spareKey), valueOf(p.redis.Client, args[1]); a != b {
		return "our payload holds another value:\n  lockserver: " + a + "\n  redis:      " + b
	}
	return ""
}

// valueOf reads a value from Redis as text.
func valueOf(c *testkit.Client, key string) string {
	read := map[string][]string{
		"string": {"GET", key}, "list": {"LRANGE", key, "0", "-1"}, "zset": {"ZRANGE", key, "0", "-1", "WITHSCORES"},
		"hash": {"HGETALL", key}, "set": {"SMEMBERS", key}, "stream": {"XINFO", "STREAM", key, "FULL", "COUNT", "0"},
	}[c.Do("TYPE", key).Str]
	v := testkit.Normalise(read, c.Do(read...))
	if read[0] == "XINFO" {
		forgetOwn(v)
	}
	return v.String()
}

// forgetOwn clears data that a stream's payload does not have. The nodes of the radix tree depend on the
// order of additions. The time when a consumer was last active comes with later versions (D45).
func forgetOwn(v resp.Value) {
	for i := range v.Elems {
		if i > 0 && (strings.HasPrefix(v.Elems[i-1].Str, "radix-tree") || v.Elems[i-1].Str == "active-time") {
			v.Elems[i] = resp.Value{}
		}
		forgetOwn(v.Elems[i])
	}
}

// payloads returns the payloads for generated RESTOREs, as Redis dumps them.
func payloads(p *pair) (all []string) {
	for _, args := range [][]string{
		{"SET", "", "word"}, {"SET", "", "12"}, {"SET", "", strings.Repeat("long", 30)}, {"HSET", "", "m1", "1", "m2", "v"},
		{"HSET", "", "m1", strings.Repeat("x", 70)}, {"RPUSH", "", "a", "1", "m1"}, {"SADD", "", "1", "2", "3"}, {"SADD", "", "m1", "m2"},
		{"ZADD", "", "1", "m1", "2.5", "m2"}, {"ZADD", "", "1", strings.Repeat("m", 70)}, {"XADD", "", "900-1", "f", "v"},
		{"XGROUP", "CREATE", "", "g1", "0", "MKSTREAM"},
	} {
		at := 1
		if args[0] == "XGROUP" {
			at = 2
		}
		args[at] = spareKey
		p.redis.watch.Do("DEL", spareKey)
		p.redis.watch.Do(args...)
		all = append(all, p.redis.watch.Do("DUMP", spareKey).Str)
	}
	p.redis.watch.Do("DEL", spareKey)
	return all
}
