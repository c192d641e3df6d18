package raft

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sumOf returns the checksum of the data after commands, one a line.
func (g *group) sumOf(lines string) string {
	g.t.Helper()
	m := g.leader()
	require.Equal(g.t, "OK", m.ask("FLUSHALL").Str)
	require.Equal(g.t, "OK", m.ask("FUNCTION", "FLUSH").Str)
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		v := m.ask(words...)
		require.False(g.t, v.IsError(), "%s: %s", line, v)
	}
	return g.check().sum["a"]
}

// TestChecksumsOfOneData: a checksum depends neither on the order of the writes, nor on the form in memory,
// nor on data that members need not have in common.
func TestChecksumsOfOneData(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 1, nil)
	for _, c := range [][2]string{
		{"SET a 1\nSET b 2", "SET b 2\nSET x 3\nSET a 0\nINCR a\nDEL x"},
		{"SET a 12", "SET a 1\nAPPEND a 2"},
		{"SADD s 1 2 3", "SADD s x 3 2 1\nSREM s x"},
		{"HSET h a 1 b 2", "HSET h b 2 c 3 a 1\nHDEL h c"},
		{"RPUSH l a b c", "LPUSH l c b a"},
		{"ZADD z 1 a 2 b", "ZADD z 2 a 2 b\nZADD z 1 a"},
		{"ZADD z 0 a", "ZADD z -0 a"},
		{"XADD x 1-1 a b\nXGROUP CREATE x g 0\nXGROUP CREATE x h 0", "XADD x 1-1 a b\nXGROUP CREATE x h 0\nXGROUP CREATE x g 0"},
		{"SET a 1 PXAT 9999999999999", "SET a 1\nPEXPIREAT a 9999999999999"},
		{"SET a 1", "SET a 1\nGET a\nTOUCH a"},
	} {
		require.Equal(t, g.sumOf(c[0]), g.sumOf(c[1]), "%s\n\n%s", c[0], c[1])
	}

	all := "SADD s 1 2 3\nSADD t a b\nHSET h a 1 b 2\nRPUSH l a b c\nZADD z 1 a 2 b\nHSET k f v\nHPEXPIREAT k 9999999999999 FIELDS 1 f\nSET text abc"
	compact := g.sumOf(all)
	for _, name := range []string{"hash-max-listpack-entries", "set-max-intset-entries", "set-max-listpack-entries", "zset-max-listpack-entries", "list-max-listpack-size"} {
		require.Equal(t, "OK", g.all[0].ask("CONFIG", "SET", name, "1").Str)
	}
	require.Equal(t, "OK", g.all[0].ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu").Str)
	require.Equal(t, compact, g.sumOf(all), "of the large forms")
	require.Equal(t, "hashtable", g.all[0].ask("OBJECT", "ENCODING", "h").Str)
}

// TestChecksumsOfOtherData: a change of anything that members must have in common changes the checksum.
func TestChecksumsOfOtherData(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 1, nil)
	stream := "XADD x 1-1 a b\nXADD x 2-1 c d\nXGROUP CREATE x g 0\nXCLAIM x g alice 0 1-1 TIME 5000 RETRYCOUNT 1 FORCE\n"
	seen := map[string]string{}
	for _, lines := range []string{
		"", "SET a 1", "SET a 2", "SET b 1", "SET a 1 PXAT 9999999999999", "SET a 1 PXAT 9999999999998", "RPUSH a 1", "SADD a 1", "ZADD a 1 1", "HSET a 1 1",
		"SET a 1\nSET b 2", "SET a 2\nSET b 1",
		"RPUSH l a b", "RPUSH l b a", "RPUSH l ab", "RPUSH l a b a",
		"SADD s a b", "SADD s a c", "SADD s ab",
		"ZADD z 1 a 2 b", "ZADD z 2 a 1 b", "ZADD z 1 a 2.5 b",
		"HSET h a 1 b 2", "HSET h a 2 b 1", "HSET h a1 1 b 2", "HSET h f v g w\nHPEXPIREAT h 9999999999999 FIELDS 1 f", "HSET h f v g w\nHPEXPIREAT h 9999999999998 FIELDS 1 f",
		"HSET h f v g w\nHPEXPIREAT h 9999999999999 FIELDS 1 g",
		"HSET door alice 1 $token 100\nPEXPIREAT door 9999999999999", "HSET door alice 1 $token 101\nPEXPIREAT door 9999999999999",
		"HSET door alice 2 $token 100\nPEXPIREAT door 9999999999999", "HSET door bob 1 $token 100\nPEXPIREAT door 9999999999999",
		"BF.RESERVE f 0.01 100\nBF.ADD f a", "BF.RESERVE f 0.01 100\nBF.ADD f b",
		stream, stream + "XDEL x 2-1", stream + "XADD x 3-1 e f", stream + "XSETID x 5-5", stream + "XGROUP CREATE x h 0", stream + "XGROUP SETID x g 1-1",
		stream + "XGROUP CREATECONSUMER x g bob", stream + "XACK x g 1-1", stream + "XCLAIM x g bob 0 1-1 TIME 5000 RETRYCOUNT 1",
		stream + "XCLAIM x g alice 0 1-1 TIME 5001 RETRYCOUNT 1", stream + "XCLAIM x g alice 0 1-1 TIME 5000 RETRYCOUNT 2",
		stream + "XADD x 3-1 e f\nXDEL x 3-1", stream + "XCFGSET x IDMP-MAXSIZE 7",
	} {
		sum := g.sumOf(lines)
		require.Regexp(t, "^1-[0-9a-f]{40}$", sum)
		was, twice := seen[sum]
		require.False(t, twice, "%s\n\n%s", was, lines)
		seen[sum] = lines
	}
	g.sumOf("")
	library := "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
	require.Equal(t, "lib", g.all[0].ask("FUNCTION", "LOAD", library).Str)
	require.NotContains(t, seen, g.check().sum["a"], "libraries are data")
}
