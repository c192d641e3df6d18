package luavm_test

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"lockserver/internal/lua"

	"lockserver/internal/luavm"
	"lockserver/tests/testkit"
)

// runs returns what a script returns, as text.
func runs(t *testing.T, state *luavm.State, source string) string {
	t.Helper()
	proto, err := luavm.Compile("user_script", []byte(source))
	require.NoError(t, err, source)
	value, err := state.Run(proto)
	require.NoError(t, err, source)
	return value.String()
}

// An item with a large key takes no more memory than any other item, and every way to look it up finds it.
func TestLargeKeys(t *testing.T) {
	state := luavm.NewState(luavm.Options{})
	defer state.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, c := range []struct{ source, want string }{
		{`local t = {} t[60000000] = 'x' return t[60000000]`, "x"},
		{`local t = {} local k = 60000000 t[k] = 'x' t[k] = nil return tostring(t[k]) .. tostring(next(t))`, "nilnil"},
		{`local t = {[50000000] = 'x', 1, 2, [3 + 50000000] = 'y'} return #t .. t[50000000] .. t[50000003]`, "2xy"},
		{`local t = {} rawset(t, 40000000, 'x') return rawget(t, 40000000)`, "x"},
		{`local t = {1, 2, 3} for i = 1, 5 do t[i * 10000000] = i end local n, s = 0, 0 for k, v in pairs(t) do n, s = n + 1, s + v end return n .. ' ' .. s`, "8 21"},
		{`local t = {} for i = 1, 5 do t[i * 10000000] = i end for k in pairs(t) do t[k] = nil end return tostring(next(t))`, "nil"},
		{`local t = {} t[30000000] = 1 return tostring(getmetatable(t))`, "nil"},
		{`local m = {__index = function(_, k) return 'missing ' .. k end}
		  local t = setmetatable({}, m) t[30000000] = 'x' return t[30000000] .. t[30000001] .. t.a .. tostring(getmetatable(t) == m)`,
			"xmissing 30000001missing atrue"},
		{`local t = {} t[30000000] = 'x' setmetatable(t, {__index = {a = 'y', [40000000] = 'z'}}) return t[30000000] .. t.a .. t[40000000]`, "xyz"},
		{`local t = {} t[30000000] = 2 setmetatable(t, {__add = function(a, b) return a[30000000] + b end, __call = function(self) return 'called' end})
		  return (t + 1) .. t()`, "3called"},
		{`local seen = {} local t = setmetatable({}, {__newindex = function(t, k, v) seen[#seen + 1] = k rawset(t, k, v) end})
		  t[30000000] = 1 t[30000000] = 2 t.a = 3 t[1] = 4 return table.concat(seen, ' ') .. ' ' .. t[30000000]`, "30000000 a 1 2"},
		{`local behind = {} local t = setmetatable({}, {__newindex = behind}) t[30000000] = 'x' return tostring(t[30000000]) .. behind[30000000]`, "nilx"},
		{`local t = {} t[30000000] = 1 t.a = 2 t[1] = 3 t[2] = 4 local m = {} setmetatable(t, m) m.__index = function() return 'late' end return t.b .. t[1] .. #t`, "late32"},
		{`local t = {} t[30000000] = 1 return table.maxn(t)`, "30000000"},
		{`local t = cmsgpack.unpack(cmsgpack.pack({[30000000] = 'x'})) return t[30000000]`, "x"},
	} {
		require.Equal(t, c.want, runs(t, state, c.source), c.source)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}

// An array that grows item by item stays an array at any length, with or without items beyond its end.
func TestLongArrays(t *testing.T) {
	fill := func(L *lua.LState) int { // fill(t, from, to), for the part that is not near the limit
		first, _ := L.At(2).AsNumber()
		last, _ := L.At(3).AsNumber()
		for i := int(first); i <= int(last); i++ {
			L.At(1).AsTable().RawSet(lua.LNumber(i), lua.LNumber(i))
		}
		return 0
	}
	state := luavm.NewState(luavm.Options{Libraries: func(L *lua.LState) { L.SetGlobal("fill", L.NewFunction(fill)) }})
	defer state.Close()
	n := testkit.Steps(264_000, 300_000) // arrays of more than 262,144 items are special
	for _, c := range []struct{ source, want string }{
		{`local t = {} fill(t, 1, 261000) for i = 261001, N do t[#t + 1] = i end for i = N, N - 9, -1 do t[i] = nil end for i = N - 9, N do t[i] = i end
		  local n = 0 for k, v in pairs(t) do if k ~= v then return 'wrong' end n = n + 1 end return n .. ' ' .. #t`, "N N"},
		// The growing array reaches items that were beyond its end.
		{`local t = {} t[262146] = 262146 t[263000] = 263000 fill(t, 1, 261000) for i = 261001, N do t[i] = i end
		  local n = 0 for k, v in pairs(t) do if k ~= v then return 'wrong' end n = n + 1 end return n .. ' ' .. t[262146] .. ' ' .. #t`, "N 262146 N"},
		{`local t = {} for i = N, 1, -1 do t[i] = i end local n = 0 for k, v in pairs(t) do n = n + 1 end return n .. ' ' .. #t`, "N N"},
		{`local t = {} fill(t, 1, 261000) for i = 261001, 263000 do table.insert(t, i) end for i = 1, 2000 do table.remove(t) end return #t .. ' ' .. tostring(t[261001])`, "261000 nil"},
		{`local t = {} t[262144] = 'x' fill(t, 1, 261000) for i = 261001, 262143 do t[i] = i end t[262144] = nil t[262145] = 'y' t[262144] = 'z'
		  local n = 0 for _ in pairs(t) do n = n + 1 end return n .. t[262144] .. t[262145]`, "262145zy"},
	} {
		source := fmt.Sprintf("local N = %d %s", n, c.source)
		if testkit.Long() { // the script itself sets every item
			source = strings.ReplaceAll(source, "fill(t, 1, 261000)", "for i = 1, 261000 do t[i] = i end")
		}
		require.Equal(t, strings.ReplaceAll(c.want, "N", strconv.Itoa(n)), runs(t, state, source), c.source)
	}
}
