//go:build oracle

package snapshots

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// functionLibraries are two libraries. One is long enough to be compressed.
var functionLibraries = []string{
	"#!lua name=short\nredis.register_function('f', function() return 1 end)",
	"#!lua name=long\n-- " + "a comment that repeats itself, a comment that repeats itself, a comment that repeats itself\n" +
		"redis.register_function{function_name='put', callback=function(keys, args) return redis.call('set', keys[1], args[1]) end,\n" +
		"  description='puts a value', flags={'allow-oom'}}\n" +
		"redis.register_function{function_name='look', callback=function(keys) return redis.call('get', keys[1]) end, flags={'no-writes'}}",
}

// useFunctions fails unless the libraries exist and work.
func useFunctions(t *testing.T, c *testkit.Client) {
	t.Helper()
	code := map[string]string{}
	for _, l := range c.Do("FUNCTION", "LIST", "WITHCODE").Elems {
		code[l.Elems[1].Str] = l.Elems[7].Str
	}
	require.Equal(t, map[string]string{"short": functionLibraries[0], "long": functionLibraries[1]}, code)
	require.Equal(t, "1", c.Do("FCALL", "f", "0").String())
	require.Equal(t, "+OK", c.Do("FCALL", "put", "1", "k", "v").String())
	require.Equal(t, `"v"`, c.Do("FCALL_RO", "look", "1", "k").String())
}

// TestFunctionsGoBothWays carries libraries in snapshots and in payloads, from
// Redis to us and from us to Redis.
func TestFunctionsGoBothWays(t *testing.T) { testkit.EachProgram(t, functionsGoBothWays) }

func functionsGoBothWays(t *testing.T, p testkit.Program) {
	dir := t.TempDir()
	redis := startRedis(t, p, dir)
	for _, code := range functionLibraries {
		require.False(t, redis.Do("FUNCTION", "LOAD", code).IsError())
	}
	useFunctions(t, redis)
	save(t, redis)
	ours := startServer(t, dir)
	useFunctions(t, ours)
	save(t, ours)
	checkRDB(t, p, dir)
	useFunctions(t, startRedis(t, p, dir))

	for _, way := range [][2]*testkit.Client{{redis, ours}, {ours, redis}} {
		payload := way[0].Do("FUNCTION", "DUMP").Str
		require.Contains(t, way[1].Do("FUNCTION", "RESTORE", payload).String(), "already exists")
		require.Equal(t, "+OK", way[1].Do("FUNCTION", "RESTORE", payload, "REPLACE").String())
		require.Equal(t, "+OK", way[1].Do("FUNCTION", "FLUSH").String())
		require.Equal(t, "+OK", way[1].Do("FUNCTION", "RESTORE", payload).String())
		useFunctions(t, way[1])
	}
}
