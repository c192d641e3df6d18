package commands

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// listWaitScenes are played like waitScenes.
var listWaitScenes = []struct{ name, script string }{
	{"first come, first served, an element each", `
		2 BLPOP l 0
		3 BLPOP l 0
		4 BRPOP l 0
		1 RPUSH l a b c d => 4
		2 => ["l" "a"]
		3 => ["l" "b"]
		4 => ["l" "d"]
		1 LRANGE l 0 -1 => ["c"]`},
	{"who is not served waits on, and keeps the place", `
		2 BLPOP l 0
		3 BLPOP l 0
		1 LPUSH l a => 1
		2 => ["l" "a"]
		3 waits
		2 BLPOP l 0
		1 LPUSH l b => 1
		3 => ["l" "b"]
		2 waits
		1 EXISTS l => 0`},
	{"several keys", `
		2 BLPOP k l m 0
		3 BLPOP m k 0
		1 RPUSH m a => 1
		2 => ["m" "a"]
		3 waits
		1 RPUSH l b => 1
		3 waits
		1 RPUSH k c => 1
		3 => ["k" "c"]
		1 LRANGE l 0 -1 => ["b"]`},
	{"a key named twice", `
		2 BLPOP l l 0
		1 RPUSH l a b => 2
		2 => ["l" "a"]
		1 LRANGE l 0 -1 => ["b"]`},
	{"a key of another type is waited for on", `
		2 BLPOP l 0
		1 SET l x => +OK
		2 waits
		1 DEL l => 1
		1 SADD l m => 1
		2 waits
		1 DEL l => 1
		1 RPUSH l a => 1
		2 => ["l" "a"]`},
	{"deleted before it can be served", `
		2 BLPOP l 0
		1 EVAL redis.call('RPUSH','l','a');redis.call('DEL','l') 0 => $nil
		2 waits
		1 EVAL redis.call('RPUSH','l','a');redis.call('DEL','l');redis.call('RPUSH','l','b') 0 => $nil
		2 => ["l" "b"]
		1 EXISTS l => 0`},
	{"after the whole unit", `
		2 BLPOP l 0
		3 BRPOP l 0
		1 EVAL redis.call('RPUSH','l','a');redis.call('LPUSH','l','b');redis.call('RPUSH','l','c') 0 => $nil
		2 => ["l" "b"]
		3 => ["l" "c"]
		1 LRANGE l 0 -1 => ["a"]`},
	{"renamed, copied, moved and swapped", `
		1 RPUSH z a b => 2
		2 BLPOP l 0
		1 COPY z l => 1
		2 => ["l" "a"]
		1 DEL l => 1
		2 BLPOP l 0
		1 RENAME z l => +OK
		2 => ["l" "a"]
		1 SELECT 1
		1 RPUSH m x => 1
		2 BLPOP m 0
		1 MOVE m 0 => 1
		2 => ["m" "x"]
		2 BLPOP m 0
		1 RPUSH m y => 1
		2 waits
		1 SWAPDB 0 1 => +OK
		2 => ["m" "y"]`},
	{"served on either side of a move", `
		2 BLMOVE l d LEFT RIGHT 0
		3 BRPOPLPUSH l d 0
		1 RPUSH l a b c => 3
		2 => "a"
		3 => "c"
		1 LRANGE l 0 -1 => ["b"]
		1 LRANGE d 0 -1 => ["c" "a"]`},
	{"a chain of moves", `
		4 BLPOP c 0
		3 BLMOVE b c RIGHT LEFT 0
		2 BLMOVE a b LEFT LEFT 0
		1 RPUSH a x => 1
		2 => "x"
		3 => "x"
		4 => ["c" "x"]
		1 EXISTS a b c => 0`},
	{"a chain that is a ring", `
		2 BLMOVE a b LEFT RIGHT 0
		3 BLMOVE b a LEFT RIGHT 0
		1 RPUSH a x => 1
		2 => "x"
		3 => "x"
		1 LRANGE a 0 -1 => ["x"]
		1 EXISTS b => 0`},
	{"a move onto itself", `
		2 BLMOVE l l LEFT RIGHT 0
		3 BLPOP l 0
		1 RPUSH l a b => 2
		2 => "a"
		3 => ["l" "b"]
		1 LRANGE l 0 -1 => ["a"]`},
	{"a destination of another type ends the wait, and the element goes to the next", `
		1 SET s v => +OK
		2 BLMOVE l s LEFT RIGHT 0
		3 BLPOP l 0
		1 RPUSH l a => 1
		2 => -WRONGTYPE Operation against a key holding the wrong kind of value
		3 => ["l" "a"]
		1 EXISTS l => 0`},
	{"a destination of another type, without a second waiter", `
		2 BRPOPLPUSH l s 0
		1 SET s v => +OK
		1 RPUSH l a b => 2
		2 => -WRONGTYPE Operation against a key holding the wrong kind of value
		1 LRANGE l 0 -1 => ["a" "b"]`},
	{"a source of another type is waited for on", `
		2 BLMOVE l d LEFT RIGHT 0
		1 SET l v => +OK
		2 waits
		1 DEL l => 1
		1 RPUSH l a => 1
		2 => "a"
		1 LRANGE d 0 -1 => ["a"]`},
	{"several elements", `
		2 BLMPOP 0 2 k l LEFT COUNT 2
		3 BLMPOP 0 1 l RIGHT
		1 RPUSH l a b c d => 4
		2 => ["l" ["a" "b"]]
		3 => ["l" ["d"]]
		1 LRANGE l 0 -1 => ["c"]
		2 BLMPOP 0 2 k l LEFT COUNT 200 => ["l" ["c"]]`},
	{"who need not wait does not", `
		1 RPUSH l a => 1
		2 BLPOP k l 0 => ["l" "a"]
		2 BLPOP k l 0
		1 RPUSH k b => 1
		2 => ["k" "b"]
		2 PING => +PONG`},
	{"elements that an LINSERT, LSET or LTRIM leaves wake no waiter twice", `
		2 BLPOP l 0
		1 RPUSHX l a => 0
		1 LINSERT l BEFORE a b => 0
		1 LREM l 0 a => 0
		1 LTRIM l 0 -1 => +OK
		1 EXPIRE l 100 => 0
		2 waits
		1 LMOVE l l LEFT RIGHT => $nil
		1 RPUSH m a => 1
		1 LMOVE m l LEFT RIGHT => "a"
		2 => ["l" "a"]`},
	{"version 3", `
		2 HELLO 3
		2 BLMPOP 0 1 l LEFT
		3 HELLO 3
		3 BLMOVE l d LEFT RIGHT 0
		1 RPUSH l 1 2 => 2
		2 => ["l" ["1"]]
		3 => "2"`},
	{"a fast list wakes more than one kind of waiter", `
		2 XREAD BLOCK 0 STREAMS l 0
		3 BLPOP l 0
		1 RPUSH l a => 1
		3 => ["l" "a"]
		2 waits
		1 XADD l 1 a b => "1-0"
		2 => [["l" [["1-0" ["a" "b"]]]]]`},
	{"several keys filled at once: the client's own order", `
		2 BLPOP s t 0
		1 EVAL redis.call('RPUSH','t','a');redis.call('RPUSH','s','b') 0 => $nil
		2 => ["s" "b"]`},
	{"a key of another type before the one that is filled", `
		2 BLPOP s l 0
		3 BLMPOP 0 2 s l LEFT
		1 SET s v => +OK
		2 waits
		1 RPUSH l a => 1
		2 => -WRONGTYPE Operation against a key holding the wrong kind of value
		3 => -WRONGTYPE Operation against a key holding the wrong kind of value
		1 LLEN l => 1`},
	{"a timeout that hardly ends", `
		2 BLPOP l 9000000000000000
		1 RPUSH l a => 1
		2 => ["l" "a"]`},
}

func TestListWaits(t *testing.T) {
	playWaitScenes(t, listWaitScenes, ListRows, StreamRows, StringRows, SetRows, KeyRows, KeyspaceRows, scriptRow, pingRow)
}

// TestListWaitEnds: a wait ends at its time, and at once where no wait is allowed. The replies are those of
// Redis 7.4.1, in a transaction.
func TestListWaitEnds(t *testing.T) {
	f := newFixture(t, ListRows, KeyRows)
	waiter := f.client(2)
	for _, command := range [][]string{
		{"BLPOP", "l", "0.1"}, {"BRPOP", "l", "m", "0.0991"}, {"BLMOVE", "l", "d", "LEFT", "LEFT", "1e-1"},
		{"BRPOPLPUSH", "l", "d", "0.1"}, {"BLMPOP", "0.1", "1", "l", "LEFT"},
	} {
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
	require.Zero(t, waiter.do("BLPOP", "l", "0.0000000001"), "it is no wait without an end")
	f.advance(1)
	require.Equal(t, "nil", waiter.answer().String())
	f.do("RPUSH", "l", "a")
	require.Empty(t, waiter.replies)
	f.do("DEL", "l")

	f.client(1).noBlock = true
	f.want("*nil", "BLPOP", "l", "0")
	f.want("*nil", "BRPOP", "l", "m", "0")
	f.want("*nil", "BLMPOP", "0", "1", "l", "LEFT")
	f.want("$nil", "BLMOVE", "l", "d", "LEFT", "LEFT", "0")
	f.want("$nil", "BRPOPLPUSH", "l", "d", "0")
	f.do("RPUSH", "l", "a", "b")
	f.want(`["l" "a"]`, "BLPOP", "l", "0")
	f.want(`"b"`, "BLMOVE", "l", "d", "LEFT", "LEFT", "0")
}

// TestTimeoutBeyondTheEndOfTime: a timeout beyond the end of time is refused.
func TestTimeoutBeyondTheEndOfTime(t *testing.T) {
	f := newFixture(t, ListRows)
	f.do("RPUSH", "l", "a")
	for _, timeout := range []string{
		"1e18", "1e400", "inf", "9223372036854775.808", "9223372036854775.807", "9223372036854775", "9223370336854775.808",
	} {
		f.want("-ERR timeout is out of range", "BLPOP", "l", timeout)
		f.want("-ERR timeout is out of range", "BLMOVE", "l", "d", "LEFT", "LEFT", timeout)
		f.want("-ERR timeout is out of range", "BLMPOP", timeout, "1", "l", "LEFT")
	}
	f.want(`["l" "a"]`, "BLPOP", "l", "9223370336854775.807")
}
