package commands

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHashEffects(t *testing.T) {
	f := newFixture(t, HashRows)
	for _, c := range []struct {
		args    []string
		effects []string
	}{
		{fields("HSET h a 1 b 2"), []string{"0 HSET h a 1 b 2"}},
		{fields("HMSET h a 3"), []string{"0 HSET h a 3"}},
		{fields("HSETNX h a 9"), nil},
		{fields("HSETNX h c 9"), []string{"0 HSET h c 9"}},
		{fields("HINCRBY h a -5"), []string{"0 HSET h a -2"}},
		{fields("HINCRBY h n 7"), []string{"0 HSET h n 7"}},
		{fields("HINCRBYFLOAT h a 0.5"), []string{"0 HSET h a -1.5"}},
		{fields("HINCRBY h a 1"), nil},
		{fields("HSET h a"), nil},
		{fields("HDEL h zz"), nil},
		{fields("HDEL h a zz b"), []string{"0 HDEL h a b"}},
		{fields("HDEL h c n"), []string{"0 HDEL h c", "0 DEL h"}},
		{fields("HGETALL h"), nil},
	} {
		f.do(c.args...)
		require.Equal(t, c.effects, f.effects(), "%q", c.args)
	}
	require.Zero(t, f.store.DB(0).Len())
}

func TestHashCommandsKeepTheDeadline(t *testing.T) {
	f := newFixture(t, HashRows)
	f.want("1", "HSET", "h", "a", "1")
	require.True(t, f.store.DB(0).Expire([]byte("h"), f.nowMS+10))
	f.want("2", "HINCRBY", "h", "a", "1")
	f.want("1", "HSET", "h", "b", "1")
	f.advance(10)
	f.want("2", "HLEN", "h")
	f.advance(1)
	f.want("0", "HLEN", "h")
	f.want("1", "HINCRBY", "h", "a", "1")
}

func TestHashHotPathsDoNotAllocate(t *testing.T) {
	f := newFixture(t, HashRows)
	f.want("2", "HSET", "small", "name", "a value", "n", "41")
	fillHash(f, "large", 1000)
	for _, args := range [][]string{
		fields("HGET small name"), fields("HGET small n"), fields("HGET small zz"), fields("HINCRBY small n 1"),
		fields("HEXISTS small n"), fields("HSTRLEN small name"), fields("HLEN small"), fields("HMGET small n name"),
		fields("HGET large f7"), fields("HEXISTS large f7"), fields("HGET none f"), fields("HDEL large zz"),
		fields("HSETNX large f7 x"), fields("HSET small n 17"),
	} {
		require.Zero(t, f.allocsOf(args...), "%q", args)
	}
	// A value in a table is allocated separately.
	require.LessOrEqual(t, f.allocsOf("HSET", "large", "f7", "another value"), 1.0)
	require.LessOrEqual(t, f.allocsOf("HINCRBY", "large", "f8", "1"), 1.0)
}
