package server

import (
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
