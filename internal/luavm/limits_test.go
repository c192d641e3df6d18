package luavm_test

import (
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"lockserver/internal/lua"

	"lockserver/internal/luavm"
	"lockserver/tests/testkit"
)

var errStop = errors.New("stopped")

// stopAfter returns a state with a hook that stops a script after a number of calls.
func stopAfter(t *testing.T, calls int, memory int64) *luavm.State {
	t.Helper()
	left := calls
	state := luavm.NewState(luavm.Options{
		HookEvery:      1000,
		MaxMemoryBytes: memory,
		Hook: func() error {
			left--
			if left < 0 {
				left = calls
				return errStop
			}
			return nil
		},
	})
	t.Cleanup(state.Close)
	return state
}

func run(t *testing.T, state *luavm.State, script string) (lua.Value, error) {
	t.Helper()
	proto, err := luavm.Compile("user_script", []byte(script))
	require.NoError(t, err, script)
	return state.Run(proto)
}

// TestEndless: the hook ends every endless script, the script cannot catch that, and the state runs the next
// script. A script's preparation is short, so the hook does not end it before its loop.
func TestEndless(t *testing.T) {
	for _, script := range []string{
		`while true do end`,
		`repeat until false`,
		`for i = 1, math.huge do end`,
		`while true do pcall(function() while true do end end) end`,
		`while true do pcall(error, 'x') end`,
		`while true do xpcall(function() while true do end end, function() while true do end end) end`,
		`local function f() return f() end f()`,
		`local function f() pcall(f) pcall(f) return f() end f()`,
		`local co = coroutine.wrap(function() while true do end end) while true do pcall(co) end`,
		`local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end`,
		`while true do coroutine.resume(coroutine.create(function() while true do end end)) end`,
		`while true do coroutine.wrap(function() end)() end`,
		`local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) while true do pcall(function() return t[1] end) end`,
		`local t = setmetatable({}, {__lt = function() while true do end end}) return t < t`,
		`string.rep('a', 50):find(string.rep('a?', 50) .. string.rep('a', 50) .. 'b')`,
		`string.rep('a', 1000):find('.-.-.-.-.-.-b')`,
		`string.rep('x', 100000):find('(.-)(.-)(.-)(.-)y')`,
		`while true do string.gsub('abc', '.', function() end) end`,
		`string.gsub(string.rep('a', 1e6), 'a', function() while true do end end)`,
		`table.sort({1, 2, 3, 4}, function() while true do end end)`,
		`local t = {} for i = 1, 1e3 do t[i] = i end while true do table.sort(t) end`,
		`local t = {} for i = 1, 1e3 do t[i] = i end while true do table.remove(t, 1) table.insert(t, 1, 1) end`,
		`for k in function() return 1 end do end`,
		`for k in pairs, {} do while true do end end`,
		`while true do local s = string.rep('x', 1e5) .. 'y' end`,
		`local t = {} for i = 1, 1e3 do t[i] = 'x' end while true do table.concat(t) end`,
		`local t = {} for i = 1, 1e3 do t[i] = i end while true do cjson.encode(t) end`,
		`local t = {} for i = 1, 1e3 do t[i] = i end local s = cmsgpack.pack(t) while true do cmsgpack.unpack(s) end`,
		`local s = string.rep('1,', 1e3) while true do cjson.decode('[' .. s .. '1]') end`,
		`while true do loadstring('return 1')() end`,
		`local s = string.rep('x = 1 ', 1e3) while true do loadstring(s) end`,
		`while true do string.format('%99d', 1) end`,
		`local t = {} for i = 1, 1000 do t[i] = 65 end while true do string.char(unpack(t)) end`,
		`load(function() while true do end end)`,
		`load(function() return ' ' end)`,
	} {
		state := stopAfter(t, 20, 256<<20)
		_, err := run(t, state, script)
		require.ErrorIs(t, err, errStop, script)
		require.True(t, state.Usable(), script)
		value, err := run(t, state, `local x = 1 local f = function() return x end return f() + #'ab'`)
		require.NoError(t, err, script)
		require.Equal(t, lua.LNumber(3), value.Boxed(), script)
	}
}

// TestMemory: a script that would fill the memory gets an error that names the reason.
func TestMemory(t *testing.T) {
	for _, script := range []string{
		`return string.rep('x', 1e9)`,
		`return string.rep(string.rep('x', 1e6), 2e9)`,
		`local s = 'x' while true do s = s .. s end`,
		`local s = 'x' for i = 1, 40 do s = s .. s .. s end return #s`,
		`local t = {} local s = string.rep('x', 1e6) for i = 1, 1e4 do t[i] = s end return #table.concat(t)`,
		`local t = {} for i = 1, 1e9 do t[i] = string.rep('x', 1e5) .. i end`,
		`local t = {} for i = 1, 1e9 do t[i] = {} end`,
		`local t = {} while true do t = {t, {}, {}} end`,
		`local t = {} for i = 1, 1e9 do local x = {} x[200000] = 1 t[i] = x end`,
		`local t = {} for i = 1, 1e9 do t[i] = coroutine.create(function() end) end`,
		`local s = string.rep('a', 1e6) return #s:gsub('a', s)`,
		`local s = string.rep('a', 1e6) return #s:gsub('a', function() return s end)`,
		`local s = string.rep('a', 1e5) return #s:gsub('', s)`,
		`local t = string.rep('%99d', 1e7) return #t`,
		`local s = string.rep('"', 1e7) local t = {} for i = 1, 100 do t[i] = s end return #cjson.encode(t)`,
		`local s = string.rep('x', 1e7) local t = {} for i = 1, 100 do t[i] = s end return #cmsgpack.pack(t)`,
		`local s = string.rep('s', 4e3) local t = {} for i = 1, 4e3 do t[i] = string.rep('x', 1e6) end return struct.pack(s, unpack(t))`,
		`return struct.pack('c2000000000', 'x')`,
		`local s = string.rep('[', 900) .. string.rep(']', 900) local t = {} while true do t[#t + 1] = cjson.decode(s) end`,
		`local s = string.rep('\145', 900) .. '\1' local t = {} while true do t[#t + 1] = cmsgpack.unpack(s) end`,
		`local t = {} for i = 1, 5e3 do t[i] = i end local function f(...) return 1 + f(1, ...) end return f(unpack(t))`,
	} {
		state := luavm.NewState(luavm.Options{MaxMemoryBytes: int64(testkit.Steps(2<<20, 16<<20))})
		_, err := run(t, state, script)
		require.Error(t, err, script)
		text := err.Error()
		require.True(t, strings.Contains(text, "not enough memory") || strings.Contains(text, "overflow") ||
			strings.Contains(text, "too complex") || strings.Contains(text, "too short") || strings.Contains(text, "too many"),
			script+": "+text)
		require.True(t, state.Usable(), script)
		value, err := run(t, state, `return 1`)
		require.NoError(t, err, script)
		require.Equal(t, lua.LNumber(1), value.Boxed())
		state.Close()
	}
}

// TestDepth: endless nesting is an error, and never ends the process.
func TestDepth(t *testing.T) {
	for script, want := range map[string]string{
		`local function f() return 1 + f() end return f()`:                                                                                            "stack overflow",
		`local function f() local ok, e = pcall(f) if not ok then error(e, 0) end return 1 end return f()`:                                            "",
		`local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k] end return t.x`:                                          "stack overflow",
		`local t = setmetatable({}, {}) getmetatable(t).__newindex = function(_, k) t[k] = 1 end t.x = 1`:                                             "stack overflow",
		`local t = setmetatable({}, {}) getmetatable(t).__add = function(a, b) return a + b end return t + t`:                                         "stack overflow",
		`local t = setmetatable({}, {}) getmetatable(t).__concat = function(a, b) return a .. b end return t .. t`:                                    "stack overflow",
		`local t = setmetatable({}, {}) getmetatable(t).__call = function(self) return 1 + self() end return t()`:                                     "stack overflow",
		`local t = setmetatable({}, {}) getmetatable(t).__eq = function(a, b) return a == b end return t == setmetatable({}, getmetatable(t))`:        "stack overflow",
		`local t = setmetatable({}, {}) getmetatable(t).__tostring = function(a) return tostring(a) end return tostring(t)`:                           "stack overflow",
		`local function f() return (string.gsub('x', 'x', f)) end return f()`:                                                                         "stack overflow",
		`local function f() table.sort({1, 2, 3}, f) end f()`:                                                                                         "stack overflow",
		`local function f() table.foreach({1}, f) end f()`:                                                                                            "stack overflow",
		`local function f() return load(f) end f()`:                                                                                                   "stack overflow",
		`local function f() for x in f do end end f()`:                                                                                                "stack overflow",
		`local function f(n) local co = coroutine.wrap(f) return 1 + co(n) end return f(1)`:                                                           "stack overflow",
		`local co co = coroutine.wrap(function() local function g() return 1 + g() end return g() end) return co()`:                                   "stack overflow",
		`local t = {} for i = 1, 5000 do t = {t} end return cjson.encode(t)`:                                                                          "excessive nesting",
		`cjson.decode_max_depth(2000000000) return cjson.decode(string.rep('[', 1e6))`:                                                                "too many nested",
		`cjson.encode_max_depth(2000000000) local t = {} for i = 1, 1e5 do t = {t} end return cjson.encode(t)`:                                        "excessive nesting",
		`return cmsgpack.unpack(string.rep('\145', 1e6))`:                                                                                             "nested",
		`return string.rep('x', 1e6):match(string.rep('x?', 1e5) .. 'y')`:                                                                             "too complex",
		`return (loadstring('return ' .. string.rep('(', 1e5) .. '1' .. string.rep(')', 1e5)))()`:                                                     "attempt to call a nil value",
		`local f, e = loadstring('return ' .. string.rep('{', 1e5) .. string.rep('}', 1e5)) error(e)`:                                                 "too many syntax levels",
		`local f, e = loadstring(string.rep('do ', 1e5) .. string.rep('end ', 1e5)) error(e)`:                                                         "too many syntax levels",
		`local f, e = loadstring('return ' .. string.rep('not ', 1e5) .. '1') error(e)`:                                                               "too many syntax levels",
		`local f, e = loadstring('return ' .. string.rep('1 .. ', 1e5) .. '1') error(e)`:                                                              "too many syntax levels",
		`return assert(loadstring('local x return x' .. string.rep(' + x', 1e5)))()`:                                                                  "perform arithmetic on local 'x'",
		`return assert(loadstring('local x return x' .. string.rep('.y', 1e5)))()`:                                                                    "index local 'x'",
		`return assert(loadstring('local x return x' .. string.rep('()', 1e5)))()`:                                                                    "call local 'x'",
		`local f, e = loadstring('local x if x then ' .. string.rep('elseif x then ', 1e5) .. ' end') error(e)`:                                       "too long",
		`local f, e = loadstring(string.rep('local a\n', 300)) error(e)`:                                                                              "more than 200 local variables",
		`local s = {} for i = 1, 9000 do s[i] = 'x = ' .. i .. ' ' end assert(loadstring(table.concat(s)))()`:                                         "readonly table",
		`local f, e = loadstring('while true do ' .. string.rep('local x = {} x = nil ', 100) .. string.rep('f() ', 1e5) .. 'end') error(e or 'nil')`: "too long",
	} {
		state := luavm.NewState(luavm.Options{MaxMemoryBytes: 512 << 20})
		_, err := run(t, state, script)
		if want == "" {
			require.True(t, state.Usable(), script)
			state.Close()
			continue
		}
		require.Error(t, err, script)
		require.Contains(t, err.Error(), want, script)
		require.True(t, state.Usable(), script)
		_, err = run(t, state, `return 1`)
		require.NoError(t, err)
		state.Close()
	}
}

func TestKill(t *testing.T) {
	state := luavm.NewState(luavm.Options{Libraries: func(L *lua.LState) {
		L.SetGlobal("kill", L.NewFunction(func(L *lua.LState) int {
			luavm.Kill(L, errStop)
			return 0
		}))
	}})
	defer state.Close()
	for _, script := range []string{
		`kill()`, `pcall(kill)`, `pcall(pcall, kill) while true do end`, `coroutine.wrap(kill)()`,
		`xpcall(kill, function() return 1 end)`, `pcall(coroutine.wrap(function() pcall(kill) end))`,
		`coroutine.resume(coroutine.create(function() kill() end)) return 1`, `string.gsub('x', 'x', kill)`,
	} {
		_, err := run(t, state, script)
		if strings.HasPrefix(script, "coroutine.wrap(kill)") {
			require.Error(t, err) // kill is not a Lua function
			continue
		}
		require.ErrorIs(t, err, errStop, script)
	}
	value, err := run(t, state, `return pcall(error, 'x')`)
	require.NoError(t, err)
	require.Equal(t, lua.LFalse, value.Boxed())
}

// TestGarbageIsCollected: a script that makes much garbage asks for a collection during its run and after its
// end. The process need not collect by itself.
func TestGarbageIsCollected(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	asked := 0
	state := luavm.NewState(luavm.Options{
		Collect: func() { asked++; runtime.GC() },
		Libraries: func(L *lua.LState) {
			L.SetGlobal("asked", L.NewFunction(func(L *lua.LState) int { L.PushInt(asked); return 1 }))
		},
	})
	defer state.Close()
	runtime.GC()
	for _, c := range []struct {
		script       string
		during, most int
	}{
		{`local t = {} for i = 1, 1e3 do t[i] = string.rep('x', 1e3) .. i end return asked()`, 0, 0},
		{`for i = 1, 100 do local s = string.rep('x', 1e6) end return asked()`, 3, 6},
		{`local t = {} for i = 1, 100 do t[i] = string.rep('x', 1e6) end return asked()`, 2, 4}, // it doubles
	} {
		asked = 0
		value, err := run(t, state, c.script)
		require.NoError(t, err)
		during, _ := value.AsNumber()
		require.GreaterOrEqual(t, int(during), c.during, c.script)
		require.LessOrEqual(t, int(during), c.most, c.script)
		if strings.Contains(c.script, "1, 100 do t[i]") {
			require.Equal(t, int(during)+1, asked, c.script)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			require.Less(t, m.HeapAlloc, uint64(50<<20))
		}
	}
}
