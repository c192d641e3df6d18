package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

const (
	counterLibrary = "#!lua name=counter\nlocal n = 0\nredis.register_function('count', function() n = n + 1 return n end)\n" +
		"redis.register_function{function_name='peek', callback=function(keys, args) return {keys[1], args[1], n} end, flags={'no-writes'}, description='what it is'}"
	setterLibrary = "#!lua name=setter\nredis.register_function('put', function(keys, args) return redis.call('set', keys[1], args[1]) end)"
)

// libraryNames are the libraries that a server has.
func libraryNames(c *testkit.Client) string {
	var names []string
	for _, l := range c.Do("FUNCTION", "LIST").Elems {
		names = append(names, l.Elems[1].Str)
	}
	return strings.Join(names, " ")
}

// TestFunctionStateLives: what a library keeps for itself lives from call to call, until it is loaded again.
func TestFunctionStateLives(t *testing.T) {
	t.Parallel()
	c := client(t, startWith(t, Options{}, nil))
	require.Equal(t, `"counter"`, c.Do("FUNCTION", "LOAD", counterLibrary).String())
	require.Equal(t, "1", c.Do("FCALL", "count", "0").String())
	require.Equal(t, "2", c.Do("FCALL", "COUNT", "0").String())
	require.Equal(t, `["k" "a" 2]`, c.Do("FCALL_RO", "peek", "1", "k", "a").String())
	require.Contains(t, c.Do("FUNCTION", "LOAD", "REPLACE", "#!lua name=counter\nredis.nosuch()").String(), "-ERR Error registering functions")
	require.Equal(t, "3", c.Do("FCALL", "count", "0").String(), "a load that fails changes nothing")
	require.Contains(t, c.Do("FUNCTION", "LOAD", "REPLACE", strings.Replace(counterLibrary, "count'", "put'", 1)+"\nerror()").String(), "-ERR")
	require.Equal(t, `"counter"`, c.Do("FUNCTION", "LOAD", "REPLACE", counterLibrary).String())
	require.Equal(t, "1", c.Do("FCALL", "count", "0").String())
	require.Equal(t, "+OK", c.Do("FUNCTION", "DELETE", "counter").String())
	require.Equal(t, "-ERR Function not found", c.Do("FCALL", "count", "0").String())
}

// TestFunctionLoadIsBounded: a library with code that never ends is refused. No client gets a reply that the
// server is busy.
func TestFunctionLoadIsBounded(t *testing.T) { // not parallel: what other tests allocate counts as its script's
	srv := startWith(t, Options{}, func(c *config.Config) { c.BusyReplyThresholdMS = 5 })
	c := client(t, srv)
	require.Equal(t, "-ERR Error registering functions: ERR FUNCTION LOAD timeout",
		c.Do("FUNCTION", "LOAD", "#!lua name=endless\nwhile true do end").String())
	require.Empty(t, libraryNames(c))
	require.Equal(t, `"counter"`, c.Do("FUNCTION", "LOAD", counterLibrary).String())
}

// TestFunctionsAreSaved: a snapshot has the libraries, and FUNCTION LOAD counts as
// a change that is worth one.
func TestFunctionsAreSaved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := inDir(dir)
	first.RDBCompression = false
	srv := start(t, Options{Directives: first.Directives()})
	c := client(t, srv)
	require.Equal(t, `"setter"`, c.Do("FUNCTION", "LOAD", setterLibrary).String())
	require.Equal(t, `"counter"`, c.Do("FUNCTION", "LOAD", counterLibrary).String())
	require.Contains(t, c.Do("INFO", "persistence").Str, "rdb_changes_since_last_save:2")
	require.Equal(t, "+OK", c.Do("SAVE").String())
	require.NoError(t, srv.Close())

	srv = start(t, Options{Directives: inDir(dir).Directives()})
	c = client(t, srv)
	require.Equal(t, "counter setter", libraryNames(c))
	require.Equal(t, "+OK", c.Do("FCALL", "put", "1", "k", "v").String())
	require.Equal(t, "1", c.Do("FCALL", "count", "0").String())
	require.NoError(t, srv.Close())

	// A library that is no longer one: nothing is started with a part of the data.
	path := filepath.Join(dir, "dump.rdb")
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	broken := strings.Replace(string(file), "register_function", "register_functiox", 1)
	require.NotEqual(t, string(file), broken)
	require.NoError(t, os.WriteFile(path, []byte(broken), 0o600))
	conf := inDir(dir)
	conf.RDBChecksum = false
	next, err := newInstance(Options{Directives: conf.Directives()})
	require.NoError(t, err)
	require.ErrorContains(t, next.Start(), "Error registering functions")
	require.NoError(t, next.Close())
}

// TestFunctionsAreLogged: the append-only log brings the libraries back as they were, whether it has their
// commands or begins with a snapshot that holds them.
func TestFunctionsAreLogged(t *testing.T) {
	t.Parallel()
	for _, rewrite := range []bool{false, true} {
		dir := t.TempDir()
		conf := inDir(dir)
		conf.AppendOnly = true
		srv := start(t, Options{Directives: conf.Directives()})
		c := client(t, srv)
		c.Do("FUNCTION", "LOAD", setterLibrary)
		c.Do("FUNCTION", "LOAD", counterLibrary)
		payload := c.Do("FUNCTION", "DUMP").Str
		c.Do("FUNCTION", "FLUSH")
		require.Equal(t, "+OK", c.Do("FUNCTION", "RESTORE", payload).String())
		c.Do("FUNCTION", "DELETE", "counter")
		require.Equal(t, "+OK", c.Do("FCALL", "put", "1", "k", "v").String())
		if rewrite {
			require.False(t, c.Do("BGREWRITEAOF").IsError())
			eventually(t, func() bool { return strings.Contains(c.Do("INFO", "persistence").Str, "aof_rewrite_in_progress:0") }, "the rewrite ends")
		}
		require.NoError(t, srv.Close())
		c = client(t, start(t, Options{Directives: conf.Directives()}))
		require.Equal(t, "setter", libraryNames(c))
		require.Equal(t, `"v"`, c.Do("GET", "k").String())
		require.Equal(t, "+OK", c.Do("FCALL", "put", "1", "k", "w").String())
	}
}

// TestFunctionRestore: all of a payload or nothing of it.
func TestFunctionRestore(t *testing.T) {
	t.Parallel()
	c := client(t, startWith(t, Options{}, nil))
	c.Do("FUNCTION", "LOAD", counterLibrary)
	c.Do("FUNCTION", "LOAD", setterLibrary)
	payload := c.Do("FUNCTION", "DUMP").Str
	require.Equal(t, "-ERR Library counter already exists", c.Do("FUNCTION", "RESTORE", payload).String())
	require.Equal(t, "+OK", c.Do("FUNCTION", "DELETE", "counter").String())
	require.Equal(t, "-ERR Library setter already exists", c.Do("FUNCTION", "RESTORE", payload, "APPEND").String())
	require.Equal(t, "setter", libraryNames(c))
	require.Equal(t, "+OK", c.Do("FUNCTION", "RESTORE", payload, "REPLACE").String())
	require.Equal(t, "counter setter", libraryNames(c))
	c.Do("FUNCTION", "FLUSH")
	c.Do("FUNCTION", "LOAD", strings.Replace(setterLibrary, "name=setter", "name=other", 1))
	require.Equal(t, "-ERR Function put already exists", c.Do("FUNCTION", "RESTORE", payload, "REPLACE").String())
	require.Equal(t, "other", libraryNames(c))
	require.Equal(t, "+OK", c.Do("FUNCTION", "RESTORE", payload, "FLUSH").String())
	require.Equal(t, "counter setter", libraryNames(c))
	require.Equal(t, "1", c.Do("FCALL", "count", "0").String())
	for at := range len(payload) {
		damaged := []byte(payload)
		damaged[at] ^= 0x40
		require.Equal(t, "-ERR DUMP payload version or checksum are wrong", c.Do("FUNCTION", "RESTORE", string(damaged), "REPLACE").String())
	}
	require.Equal(t, "counter setter", libraryNames(c))
}

// TestFunctionsDoNotMeetScripts: a function's globals are its machine's, and it cannot change them.
func TestFunctionsDoNotMeetScripts(t *testing.T) {
	t.Parallel()
	c := client(t, startWith(t, Options{}, nil))
	body := func(code string) string {
		return "#!lua name=x\nredis.register_function('f', function(keys, args) " + code + " end)"
	}
	for code, want := range map[string]string{
		"x = 1":       "Attempt to modify a readonly table",
		"redis.x = 1": "Attempt to modify a readonly table",
		"_G.x = 1":    "Attempt to modify a readonly table",
		"return KEYS": "nonexistent global variable 'KEYS'",
		"redis.register_function('g', function() end)": "attempt to call field 'register_function' (a nil value)",
		"redis.breakpoint()":                           "attempt to call field 'breakpoint' (a nil value)",
	} {
		require.Equal(t, `"x"`, c.Do("FUNCTION", "LOAD", "REPLACE", body(code)).String())
		require.Contains(t, c.Do("FCALL", "f", "0").String(), want, code)
	}
	require.Contains(t, c.Do("EVAL", "return f", "0").String(), "nonexistent global variable 'f'")
}
