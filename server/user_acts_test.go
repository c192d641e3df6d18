package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWritesThatActLater: an ordinary write to a key at which the server acts by itself needs the right to
// what it acts on. Reads need no more than the key.
func TestWritesThatActLater(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	const denied = "-NOPERM No permissions to access a key"
	ann := as(t, srv, "ann", "~{app1}:*", "~seckill:holds:*", "+@all")
	for _, words := range [][]string{
		{"ZADD", "{app1}:delayed", "1", "a0:x"},
		{"HSET", "{app1}:delayed:entries", "x", "a0,1:a,1:b,"},
		{"RENAME", "{app1}:other", "{app1}:delayed"},
		{"COPY", "{app1}:other", "{app1}:delayed:entries"},
		{"ZUNIONSTORE", "{app1}:delayed", "1", "{app1}:other"},
		{"RESTORE", "{app1}:delayed", "0", "x"},
		{"EVAL", "return redis.call('zadd', KEYS[1], 1, 'a0:x')", "1", "{app1}:delayed"},
		{"ZADD", "seckill:holds:v", "1", "order"},
		{"DEL", "seckill:holds:v"},
	} {
		require.Equal(t, denied, ann.Do(words...).String(), words)
	}
	require.Contains(t, ann.Do("EVAL", "return redis.call('zadd', '{app1}:delayed', 1, 'a0:x')", "0").String(), "No permissions to access a key")
	require.Equal(t, "+OK", ann.Do("MULTI").String())
	require.Equal(t, denied, ann.Do("ZADD", "{app1}:delayed", "1", "a0:x").String())
	ann.Do("DISCARD")
	require.Equal(t, "0", ann.Do("ZCARD", "{app1}:delayed").String())
	require.Equal(t, "1", ann.Do("ZADD", "{app1}:delayed:else", "1", "a").String())

	bob := as(t, srv, "bob", "~{app1}:*", "%W~app1", "~seckill:*:v", "~stream.orders*", "+@all")
	require.Equal(t, "1", bob.Do("ZADD", "{app1}:delayed", "9e12", "a0:x").String())
	require.Equal(t, "1", bob.Do("HSET", "{app1}:delayed:entries", "x", "a0,1:a,1:b,").String())
	require.Equal(t, "1", bob.Do("ZADD", "seckill:holds:v", "9e12", "order").String())
	require.Equal(t, denied, bob.Do("ZADD", "seckill:holds:w", "9e12", "order").String())
}

// TestStreamOfASaleByHand: the stream of a sale is named by the content of a key. An ordinary write that
// may change it needs the right to the present stream of the sale, and to the next one.
func TestStreamOfASaleByHand(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	const denied = "-NOPERM No permissions to access a key"
	admin := client(t, srv)
	require.Equal(t, "+OK", admin.Do("SECKILL.CREATE", "v", "STOCK", "5", "HOLD", "60000", "STREAM", "s1").String())
	admin.Do("SECKILL.CREATE", "w", "STOCK", "5", "STREAM", "other")
	admin.Do("SELECT", "1")
	admin.Do("SECKILL.CREATE", "v", "STOCK", "5", "STREAM", "other")
	ann := as(t, srv, "ann", "~seckill:*:v", "~s1*", "~s2*", "~mine", "+@all")
	as(t, srv, "ben", "~seckill:*:v", "~s1*", "~stream.orders*", "+@all")
	ben := as(t, srv, "ben")
	ann.Do("HSET", "mine", "stream", "other")
	for _, call := range []string{"HSET seckill:sale:v stream other", "HSET seckill:sale:v limit 2 stream s2 stream other", "HSETNX seckill:sale:v stream other",
		"HMSET seckill:sale:v stream other", "HSET seckill:sale:v stream other x stream", "HINCRBY seckill:sale:v stream 5", "HSETEX seckill:sale:v FIELDS 1 stream s2", "HDEL seckill:sale:v stream",
		"LOCK seckill:sale:v stream", "RENAME mine seckill:sale:v", "COPY mine seckill:sale:v REPLACE", "DEL seckill:sale:v", "PEXPIRE seckill:sale:v 1",
		"RESTORE seckill:sale:v 0 x REPLACE", "COPY seckill:holds:v seckill:holds:v DB 1", "MOVE seckill:pieces:v 1", "HSET seckill:sale:w limit 2"} {
		require.Equal(t, denied, ann.Do(strings.Fields(call)...).String(), call)
	}
	for _, call := range []string{"HSET seckill:sale:v limit 2 end 9000000000000", "HSET seckill:sale:v stream s2", "HSETNX seckill:sale:v stream s1", "HSET seckill:orders:v o x",
		"EVAL return(redis.call('hset',KEYS[1],'stream','s1')) 1 seckill:sale:v stream"} {
		require.False(t, ann.Do(strings.Fields(call)...).IsError(), call)
	}
	require.Contains(t, ann.Do("EVAL", "return redis.call('hset', KEYS[1], 'stream', 'other')", "1", "seckill:sale:v").String(), "No permissions to access a key")
	require.Equal(t, "s1", client(t, srv).Do("HGET", "seckill:sale:v", "stream").Str)
	require.Equal(t, "1", ben.Do("DEL", "seckill:sale:v").String(), "the usual stream follows")

	for _, rules := range []string{"~seckill:*:v ~s1*", "~seckill:sale:v", "~seckill:orders:v ~seckill:pieces:v ~stream.orders*"} {
		c := as(t, srv, "carl", append([]string{"reset", "on", "nopass", "+@all"}, strings.Fields(rules)...)...)
		for _, key := range []string{"seckill:sale:v", "seckill:orders:v", "seckill:pieces:v"} {
			require.Equal(t, denied, c.Do("DEL", key).String(), "%s %s", rules, key)
		}
	}
}

// TestMemberThatIsNoEntry: a member that a client puts among the delayed entries is not counted as an entry.
func TestMemberThatIsNoEntry(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	c := client(t, srv)
	c.Do("DELAY.ADD", "s", "PX", "3600000", "ID", "x", "f", "v")
	c.Do("ZADD", "{s}:delayed", "1", "nonsense", "9e12", "a0:gone")
	c.Do("ZADD", "{t}:delayed", "9e12", "nonsense")
	require.Equal(t, "1", c.Do("DELAY.COUNT", "s").String())
	require.Equal(t, "0", c.Do("DELAY.COUNT", "t").String())
	require.Len(t, c.Do("DELAY.LIST", "s").Elems, 1)
	require.Contains(t, c.Do("INFO", "delayed").Str+c.Do("INFO", "stats").Str+c.Do("INFO", "everything").Str, "delayed_pending:1\r\n")
}
