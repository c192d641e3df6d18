package server

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/store"
)

// unitLog is a journal that keeps the units.
type unitLog struct{ units []string }

// Append implements Journal.
func (l *unitLog) Append(unit []store.Effect) {
	var words []string
	for _, e := range unit {
		for _, arg := range e.Args {
			words = append(words, string(arg))
		}
		words = append(words, ";")
	}
	l.units = append(l.units, strings.Join(words, " "))
}

// TestScriptIsOneUnit: what a script does is handed on together, waiters are served behind it, and what a
// script that fails in the middle has done stays.
func TestScriptIsOneUnit(t *testing.T) {
	t.Parallel()
	journal := &unitLog{}
	srv := startWith(t, Options{Journal: journal}, nil)
	a, b := client(t, srv), client(t, srv)
	b.Send("BLPOP", "l", "0")
	awaitParked(t, srv, 1)
	require.Equal(t, "2", a.Do("EVAL", "redis.call('rpush', 'l', 1, 2) redis.call('set', 'k', 'v') return redis.call('llen', 'l')", "0").String())
	require.Equal(t, `["l" "1"]`, b.Receive().String())
	require.Contains(t, a.Do("EVAL", "redis.call('set', 'k', 'w') redis.call('lpush', 'k', 'x') redis.call('set', 'k', 'z')", "0").String(), "-WRONGTYPE")
	require.Equal(t, "+OK", a.Do("MULTI").String())
	a.Do("EVAL", "redis.call('incr', 'n')", "0")
	a.Do("INCR", "n")
	require.Equal(t, "[$nil 2]", a.Do("EXEC").String())
	require.NoError(t, srv.Close())
	require.Equal(t, []string{
		"RPUSH l 1 2 ; SET k v ; LPOP l 1 ;",
		"SET k w ;",
		"SET n 1 KEEPTTL ; SET n 2 KEEPTTL ;",
	}, journal.units)
}

// TestScriptCallsAreSeen: monitors, the counts of INFO, WATCH and clients that track see a script's own
// commands. The slow log shows them without a client.
func TestScriptCallsAreSeen(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, func(c *config.Config) { c.SlowlogSlowerThanUS = 0 })
	a, monitor, watcher, tracker := client(t, srv), client(t, srv), client(t, srv), client(t, srv)
	require.Equal(t, "+OK", watcher.Do("WATCH", "k").String())
	tracker.Hello(3)
	require.Equal(t, "+OK", tracker.Do("CLIENT", "TRACKING", "ON").String())
	require.Equal(t, "nil", tracker.Do("EVAL_RO", "return redis.call('get', KEYS[1])", "1", "k").String())
	require.Equal(t, "+OK", monitor.Do("MONITOR").String())
	require.Equal(t, "+OK", a.Do("SLOWLOG", "RESET").String())
	require.Equal(t, "+OK", a.Do("EVAL", "redis.call('select', 2) redis.call('get', 'x') redis.call('select', 0) return redis.call('set', KEYS[1], 'v')", "1", "k").String())
	var lines []string
	for len(lines) < 5 {
		line := monitor.Receive().Str
		if _, shown, ok := strings.Cut(line, "["); ok && !strings.Contains(line, "SLOWLOG") {
			lines = append(lines, shown)
		}
	}
	require.Contains(t, lines[0], `"EVAL"`)
	require.Equal(t, []string{`2 lua] "select" "2"`, `2 lua] "get" "x"`, `0 lua] "select" "0"`, `0 lua] "set" "k" "v"`}, lines[1:])
	require.Equal(t, "$nil", a.Do("GET", "none").String(), "the database is the client's again")
	stats := a.Do("INFO", "commandstats").Str
	for _, line := range []string{"cmdstat_eval:calls=1", "cmdstat_set:calls=1", "cmdstat_select:calls=2", "cmdstat_eval_ro:calls=1"} {
		require.Contains(t, stats, line)
	}
	require.Equal(t, "+OK", watcher.Do("MULTI").String())
	watcher.Do("PING")
	require.Equal(t, "*nil", watcher.Do("EXEC").String())
	require.Equal(t, `>["invalidate" ["k"]]`, tracker.Receive().String())
	var slow []string
	for _, e := range a.Do("SLOWLOG", "GET", "-1").Elems {
		if e.Elems[4].Str == "" {
			slow = append(slow, e.Elems[3].String()+e.Elems[5].Str)
		}
	}
	require.Equal(t, []string{`["set" "k" "v"]`, `["select" "0"]`, `["get" "x"]`, `["select" "2"]`}, slow)
}

// TestScriptsDoNotMeet: nothing of one script is there for the next.
func TestScriptsDoNotMeet(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	c := client(t, srv)
	for _, body := range []string{"x = 1", "rawset(_G, 'x', 1)", "KEYS.x = 1", "string.x = 1", "getmetatable('').__index.x = 1", "redis.x = 1",
		"setmetatable(_G, {__index = function() return 1 end})", "KEYS = 7", "ARGV = nil", "table.sort = nil", "redis.setresp(3)", "redis.call('select', 5)"} {
		c.Do("EVAL", body, "1", "key", "arg")
		require.Equal(t, `["key" 1 "arg" 1 $nil "function"]`, c.Do("EVAL",
			"return {KEYS[1], #KEYS, ARGV[1], #ARGV, rawget(KEYS, 'x') or redis.call('get', 'none'), type(table.sort)}", "1", "key", "arg").String(), body)
		require.Contains(t, c.Do("EVAL", "return x", "0").String(), "nonexistent global variable 'x'", body)
	}
	require.Equal(t, "0", c.Do("DBSIZE").String())
}

// TestScriptMemoryFull: a script's first write is refused when memory is full, and a
// script that has begun goes on.
func TestScriptMemoryFull(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	c := client(t, srv)
	c.Do("SET", "big", strings.Repeat("x", 1<<16))
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "maxmemory", "1000").String())
	oom := "-OOM command not allowed when used memory > 'maxmemory'."
	require.Contains(t, c.Do("EVAL", "return redis.call('set', 'k', 'v')", "0").String(), oom+" script: ")
	require.Equal(t, `"v"`, c.Do("EVAL", "redis.call('del', 'none') redis.call('set', 'k', 'v') return redis.call('get', 'k')", "0").String())
	require.Equal(t, oom, c.Do("EVAL", "#!lua\nreturn 1", "0").String())
	require.Equal(t, "1", c.Do("EVAL", "#!lua flags=no-writes\nreturn 1", "0").String())
	require.Equal(t, "+OK", c.Do("EVAL", "#!lua flags=allow-oom\nreturn redis.call('set', 'k', 'w')", "0").String())
	require.Equal(t, "1", c.Do("EVAL", "return 1", "0").String())
}

// TestHostileScripts: whatever a script tries, the server answers the next client.
func TestHostileScripts(t *testing.T) { // not parallel: scripts of other tests would get "not enough memory"
	srv := startWith(t, Options{}, func(c *config.Config) { c.BusyReplyThresholdMS = 20 })
	for _, body := range []string{
		"while true do end", "repeat until false", "for i = 1, 1e18 do end", "local function f() return f() end f()", "while true do pcall(error) end",
		"while true do pcall(function() while true do end end) end", "local co = coroutine.wrap(function() while true do end end) co()",
		"local function f() local ok, e = pcall(f) return f() end f()", "xpcall(function() while true do end end, function() while true do end end)",
		"local function f() return 1 + f() end return f()", "local t = {} for i = 1, 1e5 do t = {t} end return t", "local s = 'x' while true do s = s .. s end",
		"local s = ('x'):rep(1024 * 1024 * 1024) return #s", "local t = {} while true do t[#t + 1] = ('x'):rep(1000000) end", "local t = {} for i = 1, 1e9 do t[i] = i end",
		"return ('a'):rep(100000):find(('a*'):rep(30) .. 'b')", "return ('x'):rep(1000000):gsub('.', function() return ('y'):rep(1000000) end)", "return (('a'):rep(300)):match(('(a?)'):rep(32) .. ('a'):rep(300))",
		"return string.format('%' .. ('9'):rep(100) .. 'd', 1)", "return ('x'):rep(2^62)", "return table.concat({}, '', 1, 1e15)", "return unpack({}, 1, 1e15)", "return string.char(unpack({}, 1, 7999))",
		"debug.getinfo(1)", "io.open('/etc/passwd')", "os.execute('true')", "os.exit(1)", "require('os')", "dofile('/etc/passwd')", "loadfile('/etc/passwd')", "package.loadlib('x', 'y')",
		"getmetatable('').__gc = print", "setmetatable(_G, nil)", "getmetatable(_G).__newindex = nil", "setfenv(1, {})", "return loadstring('\\27Lua')()", "newproxy(true)", "collectgarbage('stop')",
		"return cjson.decode(('['):rep(100000))", "local t = {} t[1] = t return cjson.encode(t)", "local t = {} t[1] = t return cmsgpack.pack(t)", "local t = {} t.x = t return t", "return cmsgpack.unpack(('\\145'):rep(100000))",
		"local t = {} t[1] = t return t", "return {map = setmetatable({}, {__index = function() end})}", "return struct.pack('c999999999', 'x')", "return struct.unpack('c2000000000', 'x')", "table.sort({3, 1, 2}, function() return true end)",
		"local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x", "local t = setmetatable({}, {__tostring = function(s) return tostring(s) end}) return tostring(t)",
		"return redis.call(unpack({}, 1, 7000))", "for i = 1, 200000 do redis.pcall('nosuch' .. i) end", "error(setmetatable({}, {__tostring = error}))", "error({})", "error({err = {}})", "return redis.error_reply(('x'):rep(1000000))",
	} {
		t.Run(body[:min(len(body), 60)], func(t *testing.T) {
			a, b := client(t, srv), client(t, srv)
			a.Timeout, b.Timeout = time.Minute, time.Minute
			a.Send("EVAL", body, "0")
			ended := make(chan struct{})
			go func() {
				_, _ = a.Next()
				close(ended)
			}()
			for over := false; !over; {
				select {
				case <-ended:
					over = true
				case <-time.After(50 * time.Millisecond):
					got := b.Do("SCRIPT", "KILL").String()
					require.Contains(t, []string{"+OK", "-NOTBUSY No scripts in execution right now."}, got)
				case <-time.After(time.Minute):
					require.Fail(t, "it goes on")
				}
			}
			require.Equal(t, "+PONG", b.Do("PING").String())
			require.Equal(t, "6", b.Do("EVAL", "local t = {} for i = 1, 3 do t[i] = i end return t[1] + t[2] + t[3]", "0").String())
			a.Close()
			b.Close()
		})
	}
	require.Equal(t, "0", client(t, srv).Do("DBSIZE").String())
}

// TestScriptPanics: a handler's panic is an error of the call, and one of a command that writes ends the
// script, whatever it does about errors, and the server.
func TestScriptPanics(t *testing.T) {
	t.Parallel()
	srv := startWithRows(t, Options{}, panicRows())
	c := client(t, srv)
	internal := "-ERR internal error, the server's log tells more"
	require.Equal(t, internal, c.Do("EVAL", "return redis.pcall('readboom', 'x')", "0").String())
	require.Contains(t, c.Do("EVAL", "return redis.call('readboom', 'x')", "0").String(), internal+" script: ")
	require.Equal(t, "1", c.Do("EVAL", "return 1", "0").String())
	got, err := c.Call("EVAL", "pcall(redis.call, 'writeboom', 'x') while true do end", "0")
	if err == nil {
		require.Equal(t, internal, got.String())
	}
	select {
	case <-srv.Done():
	case <-time.After(soon):
		require.Fail(t, "the server goes on")
	}
	require.Equal(t, 1, srv.ExitCode())
}
