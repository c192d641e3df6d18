package luavm_test

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"lockserver/internal/lua"

	"lockserver/internal/luavm"
	"lockserver/tests/testkit"
)

// fuzzed is a state for many scripts. Its hook ends each script soon.
type fuzzed struct {
	*luavm.State
	left int // calls of the hook that are left for the running script
}

func fuzzState(t testing.TB) *fuzzed {
	t.Helper()
	f := new(fuzzed)
	f.State = luavm.NewState(luavm.Options{MaxMemoryBytes: 64 << 20, HookEvery: 100, Hook: func() error {
		if f.left--; f.left <= 0 {
			return errStop
		}
		return nil
	}})
	t.Cleanup(f.Close)
	return f
}

// run runs a script with a fresh count of hook calls.
func (f *fuzzed) run(proto *luavm.Proto) (lua.Value, error) {
	f.left = 100
	return f.Run(proto)
}

// runAny runs input that may not be a script, and requires that the state survives.
func runAny(t *testing.T, state *fuzzed, source []byte) {
	t.Helper()
	proto, err := luavm.Compile("user_script", source)
	if err != nil {
		var compileError *luavm.CompileError
		require.ErrorAs(t, err, &compileError)
		require.True(t, strings.HasPrefix(err.Error(), "user_script:"), err.Error())
		return
	}
	_, err = state.run(proto)
	var scriptError *luavm.Error
	if err != nil && !errors.Is(err, errStop) && !errors.As(err, &scriptError) {
		t.Fatalf("%q: %v", source, err)
	}
	require.True(t, state.Usable(), "%q: %v", source, err)
}

func FuzzScript(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.lua"))
	require.NoError(f, err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		for _, part := range strings.Split(string(text), "\n\n") {
			script, _, _ := strings.Cut(part, "\n"+resultMark)
			if len(script) < 500 {
				f.Add([]byte(script))
			}
		}
	}
	state := fuzzState(f) // shared by all scripts, as in a server: making a state takes longer than most scripts
	f.Fuzz(func(t *testing.T, source []byte) {
		if len(source) < 10_000 {
			runAny(t, state, source)
		}
	})
}

// fuzzLibrary runs a script with input as ARGV[1].
func fuzzLibrary(f *testing.F, script string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	proto, err := luavm.Compile("user_script", []byte(script))
	require.NoError(f, err)
	state := fuzzState(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		state.SetArrays(nil, [][]byte{input})
		value, err := state.run(proto)
		var scriptError *luavm.Error
		if err != nil && !errors.Is(err, errStop) && !errors.As(err, &scriptError) {
			t.Fatalf("%q: %v", input, err)
		}
		require.True(t, state.Usable())
		require.NotEqual(t, lua.LFalse, value, "%q", input)
	})
}

// A value that was read, written and read again is unchanged.
func FuzzMsgpack(f *testing.F) {
	fuzzLibrary(f, `
		local v = cmsgpack.unpack_one(ARGV[1])
		local ok, first = pcall(cmsgpack.unpack_limit, ARGV[1], 1)
		local packed = cmsgpack.pack(first)
		local _, again = cmsgpack.unpack_one(packed)
		return cmsgpack.pack(again) == packed or type(first) == 'table' or nil`,
		"\x93\x01\xa1a\xc0", "\x81\xa1a\x01", "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", "\xdc\x00\x01\x01", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff")
}

func FuzzJSON(f *testing.F) {
	fuzzLibrary(f, `
		cjson.encode_invalid_numbers(true)
		local v = cjson.decode(ARGV[1])
		local text = cjson.encode(v)
		return type(v) == 'table' or v ~= v or cjson.encode(cjson.decode(text)) == text`,
		`[1,"a",null,{"b":[true,false]}]`, `"\u00e9\ud83d\ude00"`, `-0.5e3`, `nan`, `{"a":{"b":{}}}`)
}

func FuzzStruct(f *testing.F) {
	fuzzLibrary(f, `
		pcall(struct.size, ARGV[1])
		pcall(struct.pack, ARGV[1], 1, 2, 3, 'x', 5)
		pcall(struct.unpack, ARGV[1], string.rep('\1', 100))
		return true`,
		"bhilLfd", "<!4bi", ">c3s", "Bc0", "i16x", "!")
}

func FuzzPattern(f *testing.F) {
	fuzzLibrary(f, `
		pcall(string.find, 'hello (world) 123', ARGV[1])
		pcall(string.gsub, 'hello (world) 123', ARGV[1], '%0%1')
		pcall(string.gsub, 'abc', 'b', ARGV[1])
		pcall(string.format, ARGV[1], 1, 'x', 2.5, 3)
		return true`,
		"(%a+)", "%b()", "[^%s]-", "%f[%w]%w+", "()", "%1", "%5.2f %q")
}

// TestRandomScripts runs scripts made of fragments. They reach code that randomly changed bytes do not.
func TestRandomScripts(t *testing.T) {
	random := rand.New(rand.NewSource(int64(testkit.Seed(t))))
	state := fuzzState(t)
	for range 300 {
		runAny(t, state, []byte(randomScript(random, 4)))
	}
}

// randomScript returns a block of statements.
func randomScript(random *rand.Rand, depth int) string {
	var text strings.Builder
	for range 1 + random.Intn(4) {
		text.WriteString(randomStatement(random, depth))
		text.WriteByte('\n')
	}
	return text.String()
}

func randomStatement(random *rand.Rand, depth int) string {
	name := string(rune('a' + random.Intn(4)))
	value := randomExpression(random, depth)
	if depth == 0 {
		return fmt.Sprintf("local %s = %s", name, value)
	}
	body := randomScript(random, depth-1)
	switch random.Intn(10 + len(programs)) {
	case 0:
		return fmt.Sprintf("for %s = 1, %d do %s end", name, random.Intn(5), body)
	case 1:
		return fmt.Sprintf("if %s then %s else %s end", value, body, randomScript(random, depth-1))
	case 2:
		return fmt.Sprintf("local %s = function(b, ...) %s return b end", name, body)
	case 3:
		return fmt.Sprintf("do local %s, b = %s, %s; %s, b = b, %s; %s end", name, value, value, name, name, body)
	case 4:
		return fmt.Sprintf("pcall(function() %s error(%s) end)", body, value)
	case 5:
		return fmt.Sprintf("local %s = {%s, x = %s, [%s or 1] = 2}", name, value, value, value)
	case 6:
		return fmt.Sprintf("repeat local %s = %s %s until true", name, value, body)
	case 7:
		return fmt.Sprintf("for %s, d in pairs({%s, %s}) do %s if d then break end end", name, value, value, body)
	case 8:
		return fmt.Sprintf("local %s = %s", name, value)
	case 9:
		return fmt.Sprintf("do local n = 0 while n < %d do n = n + 1 %s if %s then break end end end", random.Intn(5), body, value)
	default:
		return strings.NewReplacer("NAME", name, "VALUE", value, "OTHER", randomExpression(random, depth-1), "BODY", body).Replace(
			programs[random.Intn(len(programs))])
	}
}

// programs are statements with several features at once: closures, metatables, varargs, coroutines, and the
// order of evaluation.
var programs = []string{
	"do local fs = {} for i = 1, 3 do local v = i fs[i] = function(x) v = v + (x or 1) return v, i end end NAME = {fs[1](), fs[2](5), fs[1]()} end",
	"do local up = VALUE local function set(x) up = x BODY return up end local function get() return up end set(OTHER) NAME = {get(), up} end",
	`do local m = setmetatable({VALUE}, {__index = function(t, k) return k end, __add = function(x, y) return type(x) .. type(y) end,
		__concat = function(x, y) return type(y) end, __eq = function() return true end, __lt = function() return OTHER end,
		__le = function() return false end, __call = function(self, ...) return select('#', ...), ... end, __unm = function() return VALUE end,
		__newindex = function(t, k, v) rawset(t, k, {v}) end, __len = function() return 7 end})
		m.q = OTHER
		NAME = {m.foo, m[1], rawget(m, 'q'), m(VALUE, nil), (select(2, pcall(function() return m + VALUE, VALUE + m end)))}
		NAME = {NAME, select(2, pcall(function() return VALUE .. m end)), m == setmetatable({}, getmetatable(m)), m < m, m <= m, m > m, -m} end`,
	"do local function f(...) local x, y = ... BODY return select('#', ...), y, x, ... end NAME = {f(VALUE, nil, OTHER)} end",
	"do local function f(...) local t = {OTHER, ...} return unpack(t, 1, 3) end NAME = {(f(VALUE)), f(f(VALUE, 2))} end",
	"do local co = coroutine.wrap(function(x) local y = coroutine.yield(x, VALUE) BODY return y, OTHER end) NAME = {co(1), pcall(co, 2), pcall(co)} end",
	`do local co = coroutine.create(function(...) for i = 1, select('#', ...) do coroutine.yield((select(i, ...))) end error(VALUE) end)
		NAME = {} for i = 1, 5 do NAME[i] = {coroutine.resume(co, VALUE, OTHER, 3)} end NAME.status = coroutine.status(co) end`,
	"NAME = {} for i = 3, -2, -1.25 do NAME[#NAME + 1] = i BODY end",
	"NAME = {pcall(function() for i = VALUE, OTHER do BODY return i end end)}",
	"do local o = {n = 1} function o:add(x) self.n = self.n .. tostring(x == nil) BODY return self end NAME = o:add(VALUE):add(OTHER).n end",
	"do local t, i = {1, 2, 3}, 1 i, t[i], t[i + 1] = i + 1, VALUE, OTHER NAME = {i, t[1], t[2], t[3]} end",
	"do local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end NAME = fib(9) end",
	"do local function loop(n, x) if n == 0 then return x end return loop(n - 1, VALUE) end NAME = loop(50) end",
	"do local t = {5, 3, 8, 1, 9, 2} table.sort(t, function(x, y) return x > y end) table.insert(t, 2, VALUE) NAME = {table.remove(t, 3), t} end",
	"NAME = {pcall(string.rep, VALUE, 2)}",
	"NAME = {pcall(string.format, '%s %d', VALUE, OTHER)}",
	"NAME = VALUE and OTHER or VALUE == OTHER",
	"NAME = {xpcall(function() local x = VALUE return x.y.z end, function(e) return {e} end)}",
	"NAME = {next({VALUE}), type(next), rawequal(VALUE, OTHER), select(-1, VALUE, OTHER)}",
	"NAME = (function(...) local x, y = (...) return y, x, ... end)(VALUE, OTHER)",
	"do local t = {} t.x, t.y = VALUE t.x, t.z = (function() return OTHER, VALUE end)() NAME = t end",
	"for k, v in ipairs({VALUE, 2, OTHER}) do NAME = {k, v} BODY end",
	"for k in string.gmatch('a1 b2 c3', '%a%d') do NAME = k .. tostring(NAME == k) end",
}

func randomExpression(random *rand.Rand, depth int) string {
	leaves := []string{"1", "2.5", "'x'", "'10'", "nil", "true", "false", "{}", "{1, 2, x = 3}", "ARGV", "#'abc'"}
	if depth == 0 {
		return leaves[random.Intn(len(leaves))]
	}
	left, right := randomExpression(random, depth-1), randomExpression(random, depth-1)
	operators := []string{"+", "-", "*", "/", "%", "^", "..", "==", "~=", "<", "<=", ">", ">=", "and", "or"}
	switch random.Intn(6) {
	case 0:
		return leaves[random.Intn(len(leaves))]
	case 1:
		return "(not " + left + ")"
	case 2:
		return "tostring(" + left + ")"
	case 3:
		return "select(2, pcall(function() return " + left + " end))"
	default:
		return "(" + left + " " + operators[random.Intn(len(operators))] + " " + right + ")"
	}
}
