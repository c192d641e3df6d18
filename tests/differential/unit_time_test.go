//go:build oracle

package differential

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

// longUnit makes A wait, and B makes a key for it with a deadline that passes before the unit ends.
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

// TestLongUnits: waiters do not find a key that is past its deadline when the unit that made it ends.
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

// TestAtTheDeadline: keys and fields live through the millisecond of their deadline. A script sees one
// time: it is asked until that is the deadline. HTTL and its kind are left out: in that millisecond Redis
// finds no such field in a small hash, although HGET does.
func TestAtTheDeadline(t *testing.T) {
	const now = "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) "
	p := startPair(t, "")
	for _, c := range []struct{ give, look string }{
		{"'SET', 'k', 'v', 'PX', 2", "'EXISTS', 'k'"},
		{"'SET', 'k', 'v', 'PXAT', at", "'PTTL', 'k'"},
		{"'PSETEX', 'k', 2, 'v'", "'GET', 'k'"},
		{"'GETEX', 'k', 'PX', 2", "'EXISTS', 'k'"},
		{"'PEXPIREAT', 'k', at", "'TTL', 'k'"},
		{"'PEXPIRE', 'k', 2", "'TYPE', 'k'"},
		{"'HPEXPIRE', 'h', 2, 'FIELDS', 1, 'f'", "'HEXISTS', 'h', 'f'"},
		{"'HPEXPIREAT', 'h', at, 'FIELDS', 1, 'f'", "'HGET', 'h', 'f'"},
	} {
		atDeadline := func(cl *testkit.Client) string {
			for {
				at := cl.Do("EVAL", now+"local at = string.format('%.0f', now + 2) redis.call('SET', 'k', 'v') redis.call('HSET', 'h', 'f', 'v', 'g', 'w') "+
					"redis.call("+c.give+") return at", "0").Str
				for {
					r := cl.Do("EVAL", now+"if now < tonumber(ARGV[1]) then return 'before' end if now > tonumber(ARGV[1]) then return 'behind' end "+
						"return {redis.call("+c.look+")}", "0", at).String()
					if strings.Contains(r, "behind") {
						break // missed: once more
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
