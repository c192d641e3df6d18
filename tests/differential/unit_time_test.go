//go:build oracle

package differential

import (
	"crypto/sha1"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// longUnit makes A wait. Then B creates a key for it, with a deadline that passes before the unit ends.
func longUnit(name, waits, unit, next string) blockingCase {
	return blockingCase{name: name, play: play(`
			A* ` + waits + `
			B MULTI
			` + unit + `
			B DEBUG SLEEP 0.005
			B EXEC
			A?
			` + next + `
			A<
		`)}
}

// TestLongUnits: waiters do not find a key that is past its deadline at the end of the unit that created it.
func TestLongUnits(t *testing.T) {
	conf := configOf("")
	conf.EnableDebugCommand = "yes"
	playAll(t, startPairOf(t, conf, "--enable-debug-command", "yes"), []blockingCase{
		longUnit("a list", "BLPOP l 0", "B RPUSH l a\nB PEXPIRE l 1", "B RPUSH l b"),
		longUnit("a sorted set", "BZPOPMIN z 0", "B ZADD z 1 a\nB PEXPIRE z 1", "B ZADD z 2 b"),
		longUnit("a stream", "XREAD BLOCK 0 STREAMS s 0", "B XADD s 1-1 f a\nB PEXPIRE s 1", "B XADD s 2-1 f b"),
		longUnit("a database", "BLPOP l 0", "B SELECT 1\nB RPUSH l a\nB PEXPIRE l 1\nB SELECT 0\nB SWAPDB 0 1", "B RPUSH l b"),
	})
}

// TestAtTheDeadline: keys and fields live through the millisecond of their deadline. A script sees one time:
// it is run until that time is the deadline. In that millisecond HTTL and its relatives do not find such a
// field in a small hash, although HGET does. In a large hash they find it.
func TestAtTheDeadline(t *testing.T) {
	const now = "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) "
	conf := configOf("")
	conf.EnableDebugCommand = "yes"
	p := startPairOf(t, conf, "--enable-debug-command", "yes")
	for _, c := range []side{p.redis, p.ours} {
		// What Redis removes by itself may go in the millisecond of its deadline.
		require.Equal(t, "+OK", c.Do("DEBUG", "SET-ACTIVE-EXPIRE", "0").String())
		c.Do("EVAL", "for i = 1, 1000 do redis.call('HSET', 'big', 'f' .. i, i) end", "0")
	}
	for _, c := range []struct{ give, look string }{
		{"'SET', 'k', 'v', 'PX', 2", "'EXISTS', 'k'"},
		{"'SET', 'k', 'v', 'PXAT', at", "'PTTL', 'k'"},
		{"'PSETEX', 'k', 2, 'v'", "'GET', 'k'"},
		{"'GETEX', 'k', 'PX', 2", "'EXISTS', 'k'"},
		{"'PEXPIREAT', 'k', at", "'TTL', 'k'"},
		{"'PEXPIRE', 'k', 2", "'TYPE', 'k'"},
		{"'HPEXPIRE', 'h', 2, 'FIELDS', 1, 'f'", "'HEXISTS', 'h', 'f'"},
		{"'HPEXPIREAT', 'h', at, 'FIELDS', 1, 'f'", "'HGET', 'h', 'f'"},
		{"'HPEXPIREAT', 'h', at, 'FIELDS', 1, 'f'", "'HTTL', 'h', 'FIELDS', 3, 'f', 'g', 'none'"},
		{"'HPEXPIREAT', 'h', at, 'FIELDS', 1, 'f'", "'HPTTL', 'h', 'FIELDS', 1, 'f'"},
		{"'HPEXPIREAT', 'h', at, 'FIELDS', 1, 'f'", "'HEXPIRETIME', 'h', 'FIELDS', 1, 'f'"},
		{"'HPEXPIREAT', 'h', at, 'FIELDS', 1, 'f'", "'HPEXPIRETIME', 'h', 'FIELDS', 2, 'f', 'g'"},
		{"'HPEXPIREAT', 'big', at, 'FIELDS', 1, 'f'", "'HTTL', 'big', 'FIELDS', 3, 'f', 'f1', 'none'"},
		{"'HPEXPIREAT', 'big', at, 'FIELDS', 1, 'f'", "'HPTTL', 'big', 'FIELDS', 1, 'f'"},
		{"'HPEXPIREAT', 'h', at, 'FIELDS', 1, 'f'", "'HPERSIST', 'h', 'FIELDS', 1, 'f'"},
		{"'HPEXPIREAT', 'big', at, 'FIELDS', 1, 'f'", "'HPERSIST', 'big', 'FIELDS', 1, 'f'"},
		{"'HPEXPIREAT', 'h', at, 'FIELDS', 1, 'f'", "'HPEXPIRE', 'h', 10, 'LT', 'FIELDS', 1, 'f'"},
		{"'HPEXPIREAT', 'h', at, 'FIELDS', 1, 'f'", "'HLEN', 'h'"},
		{"'HPEXPIREAT', 'h', at, 'FIELDS', 1, 'f'", "'HGETALL', 'h'"},
	} {
		atDeadline := func(cl *testkit.Client) string {
			for {
				at := cl.Do("EVAL", now+"local at = string.format('%.0f', now + 2) redis.call('SET', 'k', 'v') redis.call('HSET', 'h', 'f', 'v', 'g', 'w') redis.call('HSET', 'big', 'f', 'v') "+
					"redis.call("+c.give+") return at", "0").Str
				for {
					r := cl.Do("EVAL", now+"if now < tonumber(ARGV[1]) then return 'before' end if now > tonumber(ARGV[1]) then return 'behind' end "+
						"return {redis.call("+c.look+")}", "0", at).String()
					if strings.Contains(r, "behind") {
						break // missed the millisecond: try again
					}
					if !strings.Contains(r, "before") {
						return r
					}
				}
			}
		}
		require.Equal(t, atDeadline(p.redis.Client), atDeadline(p.ours.Client), "%s at the deadline given by %s", c.look, c.give)
	}
}

// TestTimeWithinAPipeline: each command of a pipeline sees the time at which it begins, even after a slow
// command. The key's deadline passes in the middle of the pipeline.
func TestTimeWithinAPipeline(t *testing.T) {
	conf := configOf("")
	conf.EnableDebugCommand = "yes"
	p := startPairOf(t, conf, "--enable-debug-command", "yes")
	const busy = "local last = os.clock() + 0.1 while os.clock() < last do end"
	for _, slower := range []string{"10000", "-1", "0"} {
		for name, long := range map[string][][]string{
			"DEBUG SLEEP": {{"DEBUG", "SLEEP", "0.03"}},
			"EVAL":        {{"EVAL", busy, "0"}},
			"EVAL_RO":     {{"EVAL_RO", busy, "0"}},
			"EVALSHA":     {{"SCRIPT", "LOAD", busy}, {"EVALSHA", fmt.Sprintf("%x", sha1.Sum([]byte(busy))), "0"}},
			"FCALL":       {{"FUNCTION", "LOAD", "REPLACE", "#!lua name=l\nredis.register_function('busy', function() " + busy + " end)"}, {"FCALL", "busy", "0"}},
			"EXEC":        {{"MULTI"}, {"DEBUG", "SLEEP", "0.03"}, {"EXEC"}},
			"a busy EXEC": {{"MULTI"}, {"EVAL", busy, "0"}, {"PING"}, {"EXEC"}},
			"a wait":      {{"BLPOP", "none", "0.03"}},
			"a pause":     {{"CLIENT", "PAUSE", "30", "ALL"}},
		} {
			pipeline := slices.Concat([][]string{{"SET", "k", "v", "PX", "5"}, {"HSET", "h", "f", "v", "g", "w"}, {"HPEXPIRE", "h", "5", "FIELDS", "1", "f"}},
				long, [][]string{{"GET", "k"}, {"EXISTS", "k"}, {"HGET", "h", "f"}, {"PTTL", "k"}, {"SET", "k", "v", "NX", "PX", "10000"}, {"HLEN", "h"}})
			for _, c := range []side{p.redis, p.ours} {
				require.Equal(t, "+OK", c.Do("CONFIG", "SET", "slowlog-log-slower-than", slower).String())
				require.Equal(t, "+OK", c.Do("FLUSHALL").String())
			}
			require.Equal(t, fmt.Sprint(p.redis.Pipeline(pipeline)), fmt.Sprint(p.ours.Pipeline(pipeline)), name)
			times := p.ours.Pipeline(slices.Concat([][]string{{"TIME"}}, long, [][]string{{"TIME"}}))
			require.Greater(t, microseconds(t, times[len(times)-1]), microseconds(t, times[0])+10_000, name)
		}
	}
}

// microseconds returns the time in a reply of TIME.
func microseconds(t *testing.T, v resp.Value) int {
	t.Helper()
	s, err := strconv.Atoi(v.Elems[0].Str)
	require.NoError(t, err)
	us, err := strconv.Atoi(v.Elems[1].Str)
	require.NoError(t, err)
	return s*1_000_000 + us
}
