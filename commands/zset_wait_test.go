package commands

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// zsetWaitScenes are played like waitScenes.
var zsetWaitScenes = []struct{ name, script string }{
	{"first come, first served, a member each", `
		2 BZPOPMIN z 0
		3 BZPOPMAX z 0
		4 BZPOPMIN z 0
		1 ZADD z 1 a 2 b 3 c 4 d => 4
		2 => ["z" "a" "1"]
		3 => ["z" "d" "4"]
		4 => ["z" "b" "2"]
		1 ZRANGE z 0 -1 => ["c"]`},
	{"who is not served waits on, and keeps the place", `
		2 BZPOPMIN z 0
		3 BZPOPMIN z 0
		1 ZADD z 1 a => 1
		2 => ["z" "a" "1"]
		3 waits
		2 BZPOPMIN z 0
		1 ZINCRBY z 2 b => "2"
		3 => ["z" "b" "2"]
		2 waits
		1 EXISTS z => 0`},
	{"several keys", `
		2 BZPOPMAX k z m 0
		3 BZPOPMAX m k 0
		1 ZADD m 1 a => 1
		2 => ["m" "a" "1"]
		3 waits
		1 ZADD z 1 b => 1
		3 waits
		1 ZADD k 1 c => 1
		3 => ["k" "c" "1"]
		1 ZRANGE z 0 -1 => ["b"]`},
	{"a key named twice", `
		2 BZPOPMIN z z 0
		1 ZADD z 1 a 2 b => 2
		2 => ["z" "a" "1"]
		1 ZRANGE z 0 -1 => ["b"]`},
	{"a key of another type is waited for on", `
		2 BZPOPMIN z 0
		1 SET z x => +OK
		2 waits
		1 DEL z => 1
		1 SADD z m => 1
		2 waits
		1 DEL z => 1
		1 ZADD z 1 a => 1
		2 => ["z" "a" "1"]`},
	{"deleted before it can be served", `
		2 BZPOPMIN z 0
		1 EVAL redis.call('ZADD','z','1','a');redis.call('DEL','z') 0 => $nil
		2 waits
		1 EVAL redis.call('ZADD','z','1','a');redis.call('DEL','z');redis.call('ZADD','z','2','b') 0 => $nil
		2 => ["z" "b" "2"]
		1 EXISTS z => 0`},
	{"after the whole unit", `
		2 BZPOPMIN z 0
		3 BZPOPMAX z 0
		1 EVAL redis.call('ZADD','z','1','a');redis.call('ZADD','z','0','b');redis.call('ZADD','z','2','c') 0 => $nil
		2 => ["z" "b" "0"]
		3 => ["z" "c" "2"]
		1 ZRANGE z 0 -1 => ["a"]`},
	{"renamed, copied, moved and swapped", `
		1 ZADD y 1 a 2 b => 2
		2 BZPOPMIN z 0
		1 COPY y z => 1
		2 => ["z" "a" "1"]
		1 DEL z => 1
		2 BZPOPMIN z 0
		1 RENAME y z => +OK
		2 => ["z" "a" "1"]
		1 SELECT 1
		1 ZADD m 1 x => 1
		2 BZPOPMIN m 0
		1 MOVE m 0 => 1
		2 => ["m" "x" "1"]
		2 BZPOPMIN m 0
		1 ZADD m 1 y => 1
		2 waits
		1 SWAPDB 0 1 => +OK
		2 => ["m" "y" "1"]`},
	{"what is stored wakes", `
		1 ZADD y 1 a 2 b => 2
		2 BZPOPMIN z 0
		1 ZRANGESTORE z y 1 1 => 1
		2 => ["z" "b" "2"]
		2 BZPOPMAX z 0
		1 ZUNIONSTORE z 1 y WEIGHTS 2 => 2
		2 => ["z" "b" "4"]
		1 ZRANGE z 0 -1 WITHSCORES => ["a" "2"]`},
	{"several members", `
		2 BZMPOP 0 2 k z MIN COUNT 2
		3 BZMPOP 0 1 z MAX
		1 ZADD z 1 a 2 b 3 c 4 d => 4
		2 => ["z" [["a" "1"] ["b" "2"]]]
		3 => ["z" [["d" "4"]]]
		1 ZRANGE z 0 -1 => ["c"]
		2 BZMPOP 0 2 k z MAX COUNT 200 => ["z" [["c" "3"]]]`},
	{"who need not wait does not", `
		1 ZADD z 1.5 a => 1
		2 BZPOPMIN k z 0 => ["z" "a" "1.5"]
		2 BZPOPMIN k z 0
		1 ZADD k inf b => 1
		2 => ["k" "b" "inf"]
		2 PING => +PONG`},
	{"a change that leaves nothing wakes no waiter", `
		2 BZPOPMIN z 0
		1 ZADD z XX 1 a => 0
		1 ZREM z a => 0
		1 EXPIRE z 100 => 0
		2 waits
		1 ZADD z NX 1 a => 1
		2 => ["z" "a" "1"]`},
	{"several keys filled at once: the client's own order", `
		2 BZPOPMIN s t 0
		1 EVAL redis.call('ZADD','t','1','a');redis.call('ZADD','s','1','b') 0 => $nil
		2 => ["s" "b" "1"]`},
	{"version 3", `
		2 HELLO 3
		2 BZPOPMIN z 0
		3 HELLO 3
		3 BZMPOP 0 1 z MAX COUNT 5
		1 ZADD z 1 a 2 b => 2
		2 => ["z" "a" ,1]
		3 => ["z" [["b" ,2]]]`},
	{"other kinds of waiters at the same key", `
		2 XREAD BLOCK 0 STREAMS z 0
		3 BZPOPMIN z 0
		1 ZADD z 1 a => 1
		3 => ["z" "a" "1"]
		2 waits
		1 XADD z 1 a b => "1-0"
		2 => [["z" [["1-0" ["a" "b"]]]]]`},
}

func TestZSetWaits(t *testing.T) {
	playWaitScenes(t, zsetWaitScenes, ZSetRows, StreamRows, StringRows, SetRows, KeyRows, KeyspaceRows, scriptRow, pingRow)
}

// TestZSetWaitSeesWhatIsReplaced shows D41, an intended difference: Redis leaves the client waiting.
func TestZSetWaitSeesWhatIsReplaced(t *testing.T) {
	f := newFixture(t, ZSetRows, SetRows)
	playWaitScene(t, `
		2 BZPOPMIN z 0
		1 SADD z a => 1
		2 waits
		1 ZUNIONSTORE z 1 z WEIGHTS 7 => 1
		2 => ["z" "a" "7"]`, func(id int) waitClient { return f.client(int64(id)) })
}

// TestZSetWaitEnds: a wait ends at its time, and at once where no wait is allowed. The replies are those of
// Redis 7.4.1, in a transaction.
func TestZSetWaitEnds(t *testing.T) {
	f := newFixture(t, ZSetRows, KeyRows)
	waiter := f.client(2)
	commands := [][]string{{"BZPOPMIN", "z", "0.1"}, {"BZPOPMAX", "z", "m", "0.0991"}, {"BZMPOP", "0.1", "1", "z", "MIN"}}
	for _, command := range commands {
		waiter.proto = 2
		require.Zero(t, waiter.do(command...), command)
		f.advance(99)
		require.Empty(t, waiter.replies)
		f.advance(1)
		require.Equal(t, "*nil", waiter.answer().String())
		waiter.proto = 3
		require.Zero(t, waiter.do(command...), command)
		f.advance(100)
		require.Equal(t, "nil", waiter.answer().String())
	}
	f.do("ZADD", "z", "1", "a")
	require.Empty(t, waiter.replies)
	f.do("DEL", "z")

	f.client(1).noBlock = true
	for _, command := range commands {
		f.want("*nil", command...)
	}
	f.do("ZADD", "z", "1", "a")
	f.want(`["z" "a" "1"]`, "BZPOPMIN", "z", "0")
}
