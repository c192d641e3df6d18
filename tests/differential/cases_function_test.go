//go:build oracle

package differential

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// register returns a library with one function that has this body.
func register(library, function, body string) string {
	return "#!lua name=" + library + "\nredis.register_function('" + function + "', function(keys, args) " + body + " end)"
}

// functionCommands returns commands about functions, in the order in which they are played.
func functionCommands() [][]string {
	var list [][]string
	add := func(words ...string) { list = append(list, words) }
	for _, code := range []string{
		"", "x", "#!", "#!lua", "#!lua\n", "#!lua\nx", "#!lua name=\nx", "#!lua name=a b=c\nx", "#!lua name=a name=b\nx", "#!lua name=a-b\nx", "#!lua NAME=a\nx", "#!js name=a\nx", "#!LUA name=a\nx", "#!lua \"name=a\nx",
		"#!lua name=a\n", "#!lua name=a\nreturn 1", "#!lua name=a\nreturn (", "#!lua name=a\nredis.call('get', 'a')", "#!lua name=a\nlocal x = string.format('a')", "#!lua name=a\nlocal x = redis.nosuch", "#!lua name=a\nx = 1", "#!lua name=a\nredis.x = 1",
		"#!lua name=a\nlocal function f() end f.x = 1", "#!lua name=a\nerror('oops')", "#!lua name=a\nreturn KEYS", "#!lua name=a\nreturn _G", "#!lua name=a\nlocal t = nil t.x = 1", "#!lua name=a\nredis.register_function()", "#!lua name=a\nredis.register_function('a')", "#!lua name=a\nredis.register_function('a', 1)",
		"#!lua name=a\nredis.register_function({}, function() end)", "#!lua name=a\nredis.register_function('a-b', function() end)", "#!lua name=a\nredis.register_function('', function() end)", "#!lua name=a\nredis.register_function('a', function() end, 1)", "#!lua name=a\nredis.register_function('a', function() end)\nredis.register_function('a', function() end)",
		"#!lua name=a\nredis.register_function{}", "#!lua name=a\nredis.register_function{function_name='a'}", "#!lua name=a\nredis.register_function{callback=function() end}", "#!lua name=a\nredis.register_function{function_name='a', callback=1}", "#!lua name=a\nredis.register_function{function_name='a', callback=function() end, flags=1}",
		"#!lua name=a\nredis.register_function{function_name='a', callback=function() end, flags={'x'}}", "#!lua name=a\nredis.register_function{function_name='a', callback=function() end, flags={1}}", "#!lua name=a\nredis.register_function{function_name={}, callback=function() end}", "#!lua name=a\nredis.register_function{function_name='a', callback=function() end, description={}}",
		"#!lua name=a\nredis.register_function{function_name='a', callback=function() end, foo=1}", "#!lua name=a\nredis.register_function{function_name='a', callback=function() end, [1]=1}", "#!lua name=a\nredis.register_function{function_name='a', callback=function() end, [true]=1}",
	} {
		add("FUNCTION", "LOAD", code)
	}
	add("FUNCTION", "LOAD", "#!lua name=main\nlocal n = 0\nredis.register_function{FUNCTION_NAME='count', callback=function(keys, args) n = n + 1 return {n, keys, args, redis.register_function == nil, type(redis.call), type(redis.breakpoint), type(string.format), type(cjson)} end, "+
		"flags={'no-writes','ALLOW-OOM','allow-stale','no-cluster','allow-cross-slot-keys'}, description='d e'}\nredis.register_function('put', function(keys, args) return redis.call('set', keys[1], args[1]) end)\nredis.register_function(1, function() return 'one' end)\n"+
		"redis.register_function('keys', function() return KEYS end)\nredis.register_function('fail', function() error('boo') end)\n\nredis.register_function('later', function() return redis.register_function('x', function() end) end)\nredis.register_function('global', function() x = 1 end)\nlocal function helper() return redis.call('nosuch') end\nredis.register_function('deep', function() return helper() end)")
	for _, call := range [][]string{{"count", "1", "k", "v"}, {"COUNT", "0"}, {"put", "1", "k", "v"}, {"1", "0"}, {"keys", "0"}, {"fail", "0"}, {"later", "0"}, {"global", "0"}, {"deep", "0"}, {"nosuch", "0"}, {"nosuch", "x"}, {"count", "x"}, {"count", "9"}, {"count", "-1"}, {"", "0"}} {
		add(append([]string{"FCALL"}, call...)...)
		add(append([]string{"FCALL_RO"}, call...)...)
	}
	add("FCALL", "count")
	add("EVAL", "return redis.call('fcall', 'count', 0)", "0")
	add("EVAL", "return count", "0")
	for _, words := range []string{
		"LIST", "LIST WITHCODE", "LIST LIBRARYNAME M*", "LIST LIBRARYNAME nosuch", "LIST WITHCODE LIBRARYNAME ?ain", "LIST LIBRARYNAME", "LIST LIBRARYNAME a LIBRARYNAME b", "LIST WITHCODE WITHCODE", "LIST FOO", "STATS", "STATS x", "KILL", "KILL x", "DELETE nosuch", "DELETE", "DELETE MAIN", "LOAD", "LOAD REPLACE", "LOAD FOO x",
		"FLUSH x", "FLUSH SYNC x", "RESTORE", "RESTORE x", "RESTORE x y", "RESTORE x y z", "DUMP x", "NOSUCH", "",
	} {
		add(append([]string{"FUNCTION"}, strings.Fields(words)...)...)
	}
	add("FUNCTION", "LOAD", register("main", "put", "return 2"))
	add("FUNCTION", "LOAD", register("other", "PUT", "return 2"))
	add("FUNCTION", "LOAD", "REPLACE", register("other", "put", "return 2"))
	add("FUNCTION", "LOAD", "replace", "REPLACE", register("other", "get", "return 2"))
	add("FCALL", "get", "0")
	add("FUNCTION", "LOAD", "REPLACE", register("main", "get", "return 3"))
	add("FUNCTION", "LIST")
	add("FUNCTION", "LOAD", "REPLACE", register("main", "put", "return 4"))
	add("FCALL", "put", "0")
	add("FCALL", "count", "0")
	add("FUNCTION", "LIST")
	add("FUNCTION", "STATS")
	add("FUNCTION", "DELETE", "other")
	add("FCALL", "get", "0")
	add("MULTI")
	add("FCALL", "put", "0")
	add("FUNCTION", "LOAD", register("third", "three", "return 3"))
	add("FCALL", "three", "0")
	add("EXEC")
	add("FUNCTION", "FLUSH", "ASYNC")
	add("FCALL", "put", "0")
	add("FUNCTION", "LIST")
	add("FUNCTION", "FLUSH", "SYNC")
	add("FUNCTION", "FLUSH")
	return list
}

// TestFunctions plays commands about functions on both servers.
func TestFunctions(t *testing.T) {
	p := startPair(t, "")
	for _, version := range []int{2, 3} {
		p.begin(version)
		for _, words := range functionCommands() {
			ours, redis := p.do(words...)
			sortLibraries(&ours)
			sortLibraries(&redis)
			if !testkit.SameReply(words, unnamed(ours), unnamed(redis)) {
				t.Errorf("version %d: %s\n  %s", version, line(words), differ(ours, redis))
			}
		}
	}
}

// sortLibraries sorts the reply of FUNCTION LIST, because in Redis it has no order.
func sortLibraries(v *resp.Value) {
	byName := func(list []resp.Value) {
		sort.Slice(list, func(i, j int) bool { return list[i].Elems[1].Str < list[j].Elems[1].Str })
	}
	for _, l := range v.Elems {
		if len(l.Elems) < 6 || l.Elems[0].Str != "library_name" {
			return
		}
		byName(l.Elems[5].Elems)
	}
	if len(v.Elems) > 0 {
		byName(v.Elems)
	}
}

// TestFunctionPayloads carries the libraries of each server to the other.
func TestFunctionPayloads(t *testing.T) {
	p := startPair(t, "")
	for _, code := range []string{register("a", "x", "return 1"), register("b", "y", strings.Repeat("redis.call('ping') ", 50)), register("c1234567", "z", "return 'é'")} {
		ours, redis := p.do("FUNCTION", "LOAD", code)
		require.Truef(t, ours.Equal(redis), "%s", differ(ours, redis))
	}
	mine, theirs := p.ours.Do("FUNCTION", "DUMP").Str, p.redis.Do("FUNCTION", "DUMP").Str
	p.do("FUNCTION", "FLUSH")
	require.Equal(t, "+OK", p.ours.Do("FUNCTION", "RESTORE", theirs).String())
	require.Equal(t, "+OK", p.redis.Do("FUNCTION", "RESTORE", mine).String())
	for _, words := range [][]string{{"FUNCTION", "LIST", "WITHCODE"}, {"FUNCTION", "RESTORE", mine}, {"FUNCTION", "RESTORE", mine, "APPEND"}, {"FUNCTION", "RESTORE", mine, "replace"},
		{"FUNCTION", "RESTORE", theirs, "FLUSH"}, {"FCALL", "x", "0"}, {"FCALL", "z", "0"}, {"FUNCTION", "RESTORE", mine[:20]}, {"FUNCTION", "RESTORE", ""}, {"FUNCTION", "LIST"},
		{"FUNCTION", "RESTORE", p.redis.Do("DUMP", "nosuch").Str}, {"SET", "k", "v"}} {
		ours, redis := p.do(words...)
		sortLibraries(&ours)
		sortLibraries(&redis)
		if words[1] == "RESTORE" && strings.Contains(redis.Str, "already exists") { // both name the library that they meet first, in no order
			require.Contains(t, ours.Str, "already exists")
			continue
		}
		require.Truef(t, ours.Equal(redis), "%s\n%s", line(words), differ(ours, redis))
	}
	value := p.redis.Do("DUMP", "k").Str // a valid payload, but not of functions
	ours, redis := p.do("FUNCTION", "RESTORE", value)
	require.Truef(t, ours.Equal(redis), "%s", differ(ours, redis))
	ours, redis = p.do("RESTORE", "f", "0", theirs)
	require.Truef(t, ours.Equal(redis), "%s", differ(ours, redis))
}
