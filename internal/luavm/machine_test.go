package luavm

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/lua"
)

// newMachine is a state with the few functions that the tests call.
func newMachine() *lua.LState {
	l := lua.NewState()
	l.SetGlobal("pcall", l.NewFunction(func(l *lua.LState) int {
		count := l.GetTop() - 1
		if err := l.PCall(count, lua.MultRet); err != nil {
			l.SetTop(0)
			l.PushBool(false)
			l.PushString(err.Error())
			return 2
		}
		l.Insert(lua.LTrue, 1)
		return l.GetTop()
	}))
	l.SetGlobal("error", l.NewFunction(func(l *lua.LState) int {
		l.Error(l.Get(1))
		return 0
	}))
	l.SetGlobal("setmetatable", l.NewFunction(func(l *lua.LState) int {
		l.At(1).AsTable().SetMetatable(l.Get(2))
		l.SetTop(1)
		return 1
	}))
	return l
}

// chunkResults returns the results of a chunk, or its error.
func chunkResults(t *testing.T, source string) []string {
	t.Helper()
	l := newMachine()
	p, err := lua.Compile("test", "test", source)
	require.NoError(t, err)
	l.Push(l.NewClosure(p, l.G.Global))
	if err := l.PCall(0, lua.MultRet); err != nil {
		return []string{err.Error()}
	}
	var all []string
	for i := 1; i <= l.GetTop(); i++ {
		all = append(all, l.Get(i).String())
	}
	return all
}

// TestValues: a value keeps its type and content, and no number is mistaken for another type.
func TestValues(t *testing.T) {
	l := lua.NewState()
	table, function := l.NewTable(), l.NewFunction(func(*lua.LState) int { return 0 })
	for _, v := range []lua.LValue{lua.LNil, lua.LTrue, lua.LFalse, lua.LNumber(0), lua.LNumber(-1.5), lua.LNumber(math.Inf(-1)), lua.LNumber(math.MaxFloat64),
		lua.LNumber(math.SmallestNonzeroFloat64), lua.LString(""), lua.LString("a\x00b"), table, function, l, &lua.LUserData{}} {
		value := lua.Of(v)
		require.Equal(t, v.Type(), value.Type(), "%v", v)
		require.Equal(t, v, value.Boxed())
		require.Equal(t, v != lua.LNil && v != lua.LFalse, value.IsTrue(), "%v", v)
		require.Equal(t, v == lua.LNil, value.IsNil(), "%v", v)
		require.True(t, lua.RawEqual(value, lua.Of(v)), "%v", v)
	}
	require.True(t, math.Signbit(float64(lua.Of(lua.LNumber(math.Copysign(0, -1))).Boxed().(lua.LNumber))))
	for _, bits := range []uint64{0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001, 0xffffffffffffffff, 0xffff000000000123} {
		f, ok := lua.Number(math.Float64frombits(bits)).AsNumber()
		require.True(t, ok && f != f, "%x is a NaN, and stays one", bits)
		require.Equal(t, bits>>63 == 1, math.Signbit(f), "%x prints with a minus or without", bits)
		require.False(t, lua.RawEqual(lua.Number(f), lua.Number(f)))
	}
	require.True(t, lua.RawEqual(lua.Number(0), lua.Number(math.Copysign(0, -1))))
	require.False(t, lua.RawEqual(lua.Number(1), lua.String("1")))
	require.False(t, lua.RawEqual(lua.Table(table), lua.Table(l.NewTable())))
}

// TestTableAgainstMap: after random writes, a table has the items of a map, and next visits each key once.
func TestTableAgainstMap(t *testing.T) {
	table, model := lua.NewTable(0, 0), map[string]float64{}
	keys := map[string]lua.Value{}
	seed := uint32(1)
	random := func(n uint32) uint32 {
		seed = seed*1664525 + 1013904223
		return (seed >> 8) % n
	}
	for step := range 20_000 {
		var key lua.Value
		n := float64(random(300))
		switch random(4) {
		case 0:
			key = lua.String("k" + strconv.Itoa(int(n)))
		case 1:
			key = lua.Number(n + 0.5)
		default:
			key = lua.Number(n - 20)
		}
		name := key.Boxed().Type().String() + key.Boxed().String()
		keys[name] = key
		if random(3) == 0 {
			delete(model, name)
			table.Put(key, lua.Value{})
		} else {
			model[name] = float64(step)
			table.Put(key, lua.Number(float64(step)))
		}
	}
	for name, key := range keys {
		f, ok := table.Find(key).AsNumber()
		want, there := model[name]
		require.Equal(t, there, ok, name)
		require.Equal(t, want, f, name)
	}
	seen := map[string]bool{}
	for key, value, _, ok := table.Following(lua.Value{}); !key.IsNil(); key, value, _, ok = table.Following(key) {
		require.True(t, ok)
		name := key.Boxed().Type().String() + key.Boxed().String()
		f, _ := value.AsNumber()
		require.False(t, seen[name], name)
		require.Equal(t, model[name], f, name)
		seen[name] = true
	}
	require.Len(t, seen, len(model))
	n := table.Len()
	require.True(t, n == 0 || !table.Item(n).IsNil(), "a length is a border")
	require.True(t, table.Item(n+1).IsNil())
}

// TestHoles: lengths of arrays with holes are those of the original.
func TestHoles(t *testing.T) {
	for source, want := range map[string]string{
		"return #{1, 2, nil, 4}":                                                                  "4",
		"return #{1, nil, 3, nil}":                                                                "1",
		"return #{nil, nil, 3}":                                                                   "3",
		"return #{n = 1}":                                                                         "0",
		"local t = {1, 2, 3} t[5] = 5 return #t":                                                  "3",
		"local t = {} t[1] = 1 t[2] = 2 t[4] = 4 return #t":                                       "4",
		"local t = {1, 2, 3, 4} t[4] = nil return #t":                                             "3",
		"local t = {1, 2, 3, 4} t[2] = nil return #t":                                             "4",
		"local t = {} for i = 10, 1, -1 do t[i] = i end return #t":                                "10",
		"local t = {} t[2^40] = 1 t[1] = 2 return #t":                                             "1",
		"local t = {} t[0] = 1 t[-1] = 1 t[1.5] = 1 return #t":                                    "0",
		"local t = {} for i = 1, 100 do t[i] = i end for i = 51, 100 do t[i] = nil end return #t": "50",
	} {
		require.Equal(t, []string{want}, chunkResults(t, source), source)
	}
}

// TestUpvalues: closures share a variable during its block and afterwards. Each iteration of a loop has its
// own variables, and they stay when the stack grows.
func TestUpvalues(t *testing.T) {
	for source, want := range map[string]string{
		"local n = 0 local function up() n = n + 1 return n end local function get() return n end up() up() return n, get(), up()":                                "2 2 3",
		"local all = {} for i = 1, 3 do all[i] = function() i = i + 10 return i end end all[1]() return all[1](), all[2](), all[3]()":                             "21 12 13",
		"local get, set do local v = 1 get = function() return v end set = function(x) v = x end end set(7) return get()":                                         "7",
		"local all = {} local i = 0 while i < 3 do local j = i all[i] = function() return j end i = i + 1 if i == 3 then break end end return all[0](), all[2]()": "0 2",
		// The stack is made anew while n is on it.
		"local n = 1 local function deep(d) if d == 0 then n = n + 1 return 0 end return 1 + deep(d - 1) end local d = deep(5000) n = n * 10 return d, n":       "5000 20",
		"local function outer() local v = 1 return function() return function() v = v + 1 return v end end end local f = outer()() f() return f(), outer()()()": "3 2",
	} {
		require.Equal(t, strings.Fields(want), chunkResults(t, source), source)
	}
}

// TestErrorsAcrossCalls: an error passes through Lua and Go functions to the call that catches it. Variables
// that closures share keep their last values.
func TestErrorsAcrossCalls(t *testing.T) {
	for source, want := range map[string][]string{
		"return pcall(function(...) return ... end, 1, nil, 'x')":                    {"true", "1", "nil", "x"},
		"return pcall(error, 'gone')":                                                {"false", "gone"},
		"local ok, e = pcall(function() local x = nil; return x.y end) return ok, e": {"false", "test:1: attempt to index local 'x' (a nil value)"},
		"return pcall(pcall, error, 'inner')":                                        {"true", "false", "inner"},
		"local f local ok = pcall(function() local v = 1 f = function() v = v + 1 return v end error('x') end) return ok, f(), f()":                  {"false", "2", "3"},
		"local n = 0 local function f(d) if d == 0 then error('deep') end n = n + 1 f(d - 1) n = -1 end local ok, e = pcall(f, 150) return ok, e, n": {"false", "deep", "150"},
		// Through a metamethod, which Go code calls.
		"local t = setmetatable({}, {__index = function(t, k) error('no ' .. k) end}) local ok, e = pcall(function() return t.x end) return ok, e, 1":        {"false", "no x", "1"},
		"local function f() return f() end local s = 0 for i = 1, 50 do local ok = pcall(function() error(i) end) if not ok then s = s + 1 end end return s": {"50"},
		// A chain without an end is an error, and leaves the stack usable.
		"local function f() return 1 + f() end local a = pcall(f) local b, c = pcall(function() return 5 end) return a, b, c": {"false", "true", "5"},
		"error('top')": {"top"},
	} {
		require.Equal(t, want, chunkResults(t, source), source)
	}
}

// TestTextsThatAreNumbers: arithmetic takes the same texts for numbers as Lua 5.1 does with glibc.
func TestTextsThatAreNumbers(t *testing.T) {
	for text, want := range map[string]float64{
		"10": 10, "  10\t\n": 10, "-0": math.Copysign(0, -1), "+5": 5, "0x10": 16, "-0x10": -16, "0x.8": 0.5, "0x1p4": 16, "1e3": 1000, "1E-2": 0.01, ".5": 0.5, "5.": 5,
		"1e400": math.Inf(1), "-1e400": math.Inf(-1), "1e-400": 0, "inf": math.Inf(1), "-INFINITY": math.Inf(-1), "123456789012345678": 123456789012345678,
		"999999999999999": 999999999999999, "10\x00x": 10,
	} {
		got, ok := lua.ParseNumber(text)
		require.True(t, ok, "%q", text)
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%q", text)
	}
	got, ok := lua.ParseNumber("nan")
	require.True(t, ok && got != got)
	for _, text := range []string{"", " ", "+", "-", "--1", "1 2", "1e", "e5", "0x", "0xg", ".", "1_000", "1.2.3", "infinit", "nan(", "٣", "\x0010"} {
		_, ok := lua.ParseNumber(text)
		require.False(t, ok, "%q", text)
	}
	for source, want := range map[string][]string{
		"return '10' + 5, '3' * '4', -'2', 10 .. 20":                       {"15", "12", "-2", "1020"},
		"return 1 == '1', '0x10' + 0":                                      {"false", "16"},
		"return ('a' .. 1) + 1":                                            {"test:1: attempt to perform arithmetic on a string value"},
		"return 1 < '2'":                                                   {"test:1: attempt to compare number with string"},
		"local s = 0 for i = '1', '3' do s = s + i end return s":           {"6"},
		"return 0.1, 1e15, 1e100, 2^53, 1/0, -1/0, 100000000000000":        {"0.1", "1e+15", "1e+100", "9.007199254741e+15", "inf", "-inf", "1e+14"},
		"local t = {} t['1'] = 'text' t[1] = 'number' return t['1'], t[1]": {"text", "number"},
	} {
		require.Equal(t, want, chunkResults(t, source), source)
	}
}
