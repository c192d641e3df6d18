package luavm

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// baseLibrary are the global functions.
func baseLibrary() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"assert":         baseAssert,
		"collectgarbage": baseCollectGarbage,
		"error":          baseError,
		"gcinfo":         baseGCInfo,
		"getmetatable":   baseGetMetatable,
		"load":           baseLoad,
		"loadstring":     baseLoadString,
		"next":           baseNext,
		"pcall":          basePCall,
		"rawequal":       baseRawEqual,
		"rawget":         baseRawGet,
		"rawset":         baseRawSet,
		"select":         baseSelect,
		"setmetatable":   baseSetMetatable,
		"tonumber":       baseToNumber,
		"tostring":       baseToString,
		"type":           baseType,
		"unpack":         baseUnpack,
		"xpcall":         baseXPCall,
	}
}

// openLibraries sets the global functions and tables, unprotected as yet.
func (s *State) openLibraries() {
	for name, fn := range baseLibrary() {
		s.vm.SetGlobal(name, s.vm.NewFunction(fn))
	}
	s.vm.SetGlobal("_VERSION", lua.LString("Lua 5.1"))
	next := s.vm.GetGlobal("next")
	s.vm.SetGlobal("pairs", s.vm.NewFunction(func(L *lua.LState) int {
		table := checkTable(L, 1)
		L.Push(next)
		L.Push(table)
		L.Push(lua.LNil)
		return 3
	}))
	step := s.vm.NewFunction(ipairsStep)
	s.vm.SetGlobal("ipairs", s.vm.NewFunction(func(L *lua.LState) int {
		table := checkTable(L, 1)
		L.Push(step)
		L.Push(table)
		L.Push(lua.LNumber(0))
		return 3
	}))
	for name, library := range s.libraries() {
		table := newTable(0, len(library))
		for key, fn := range library {
			table.RawSetString(key, s.vm.NewFunction(fn))
		}
		s.vm.SetGlobal(name, table)
	}
	s.addConstants()
}

func (s *State) global(name string) *lua.LTable { return s.globals.RawGetString(name).(*lua.LTable) }

func ipairsStep(L *lua.LState) int {
	table, index := checkTable(L, 1), checkInt(L, 2)+1
	value := item(real(table), index)
	if value == lua.LNil {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LNumber(index))
	L.Push(value)
	return 2
}

func baseNext(L *lua.LState) int {
	table := checkTable(L, 1)
	// The interpreter steps over all keys that have been removed, so this counts for some instructions.
	FromLua(L).work(L, 20)
	key, value := real(table).Next(L.Get(2))
	L.Push(key)
	if key == lua.LNil {
		return 1
	}
	L.Push(value)
	return 2
}

func baseAssert(L *lua.LState) int {
	if lua.LVAsBool(checkAny(L, 1)) {
		return L.GetTop()
	}
	message := "assertion failed!"
	if L.Get(2) != lua.LNil {
		message = checkString(L, 2)
	}
	fail(L, message)
	return 0
}

func baseError(L *lua.LState) int {
	value, level := L.Get(1), int32(optInt(L, 2, 1))
	if isText(value) && level > 0 {
		value = lua.LString(callerPosition(L, int(level)) + toText(value))
	}
	Raise(L, value)
	return 0
}

// basePCall is Redis' pcall: of an error that is a table it returns the field err, if
// that is a string, and both if not.
func basePCall(L *lua.LState) int {
	if L.GetTop() == 0 {
		L.Push(lua.LFalse)
		L.Push(lua.LString("attempt to call a boolean value"))
		return 2
	}
	s := FromLua(L)
	results, raised := s.protectedCall(L, L.Get(1), 2)
	if raised != nil {
		L.Push(lua.LFalse)
		table, ok := raised.(*lua.LTable)
		if !ok {
			L.Push(raised)
			return 2
		}
		text := L.GetField(table, "err")
		if isText(text) {
			L.Push(text)
			return 2
		}
		L.Push(table)
		L.Push(text)
		return 3
	}
	L.Insert(lua.LTrue, L.GetTop()-results+1)
	return results + 1
}

func baseXPCall(L *lua.LState) int {
	checkAny(L, 2)
	fn, handler := L.Get(1), L.Get(2)
	L.SetTop(2)
	s := FromLua(L)
	results, raised := s.protectedCall(L, fn, 3)
	if raised == nil {
		L.Insert(lua.LTrue, 3)
		return results + 1
	}
	L.SetTop(2)
	L.Push(raised)
	results, failed := s.protectedCall(L, handler, 3)
	L.SetTop(3 + results)
	if failed != nil {
		L.Push(lua.LFalse)
		L.Push(lua.LString("error in error handling"))
		return 2
	}
	if results == 0 {
		L.Push(lua.LNil)
	}
	L.SetTop(4)
	L.Insert(lua.LFalse, 4)
	return 2
}

func baseRawEqual(L *lua.LState) int {
	L.Push(lua.LBool(L.RawEqual(checkAny(L, 1), checkAny(L, 2))))
	return 1
}

func baseRawGet(L *lua.LState) int {
	table := checkTable(L, 1)
	L.Push(get(real(table), checkAny(L, 2)))
	return 1
}

func baseRawSet(L *lua.LState) int {
	table := checkTable(L, 1)
	key, value := checkAny(L, 2), checkAny(L, 3)
	writable(L, table)
	switch k := key.(type) {
	case *lua.LNilType:
		failWithin(L, "table index is nil")
	case lua.LNumber:
		if k != k {
			failWithin(L, "table index is NaN")
		}
	}
	FromLua(L).rawSet(L, table, key, value)
	L.SetTop(1)
	return 1
}

func baseSelect(L *lua.LState) int {
	count := L.GetTop()
	if text, ok := L.Get(1).(lua.LString); ok && strings.HasPrefix(string(text), "#") {
		L.Push(lua.LNumber(count - 1))
		return 1
	}
	n := int(int32(checkInt(L, 1)))
	if n < 0 {
		n = count + n
	} else if n > count {
		n = count
	}
	if n < 1 {
		argumentError(L, 1, "index out of range")
	}
	return count - n
}

// maxCStack is how many values a function may have on its stack, Lua 5.1's LUAI_MAXCSTACK.
const maxCStack = 8000

func baseUnpack(L *lua.LState) int {
	table := real(checkTable(L, 1))
	first := int(int32(optInt(L, 2, 1)))
	last := 0
	if L.Get(3) == lua.LNil {
		last = border(table)
	} else {
		last = int(int32(checkInt(L, 3)))
	}
	if first > last {
		return 0
	}
	count := last - first + 1
	if count > maxCStack || count+L.GetTop() > maxCStack {
		fail(L, "too many results to unpack")
	}
	for i := first; i <= last; i++ {
		L.Push(item(table, i))
	}
	return count
}

func baseGetMetatable(L *lua.LState) int {
	s := FromLua(L)
	switch value := checkAny(L, 1).(type) {
	case lua.LString:
		L.Push(s.strings)
	case *lua.LTable:
		switch {
		case value == s.view:
			L.Push(s.viewMeta)
		case metatable(value) == lua.LNil || guarded(value) != nil:
			L.Push(lua.LNil)
		default:
			shown := metafield(L, value, "__metatable")
			if shown == lua.LNil {
				shown = metatable(value)
			}
			L.Push(shown)
		}
	default:
		L.Push(lua.LNil)
	}
	return 1
}

func baseSetMetatable(L *lua.LState) int {
	table := checkTable(L, 1)
	meta := L.Get(2)
	switch meta.(type) {
	case *lua.LTable:
	case *lua.LNilType:
		if L.GetTop() < 2 {
			argumentError(L, 2, "nil or table expected")
		}
	default:
		argumentError(L, 2, "nil or table expected")
	}
	writable(L, table)
	if metafield(L, table, "__metatable") != lua.LNil {
		fail(L, "cannot change a protected metatable")
	}
	setMetatable(table, meta)
	L.SetTop(1)
	return 1
}

func baseType(L *lua.LState) int {
	L.Push(lua.LString(typeName(checkAny(L, 1))))
	return 1
}

func baseToString(L *lua.LState) int {
	value := checkAny(L, 1)
	if handler := metafield(L, value, "__tostring"); handler != lua.LNil {
		L.Push(FromLua(L).callOne(L, handler, value))
		return 1
	}
	L.Push(lua.LString(describe(value)))
	return 1
}

// describe is a value as tostring shows it without a metamethod.
func describe(value lua.LValue) string {
	switch v := value.(type) {
	case lua.LNumber:
		return FormatNumber(float64(v))
	case *lua.LUserData:
		if isNull(v) {
			return "userdata: (nil)"
		}
	}
	return value.String()
}

func baseToNumber(L *lua.LState) int {
	base := int(int32(optInt(L, 2, 10)))
	if base == 10 {
		number, ok := ToNumber(checkAny(L, 1))
		if ok {
			L.Push(lua.LNumber(number))
		} else {
			L.Push(lua.LNil)
		}
		return 1
	}
	text := cString(checkString(L, 1))
	if base < 2 || base > 36 {
		argumentError(L, 2, "base out of range")
	}
	if number, ok := parseUnsignedLong(trimSpace(text), base); ok {
		L.Push(lua.LNumber(number))
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

// parseUnsignedLong is C's strtoul: a sign may stand in front and wraps around, what is
// too large becomes the largest.
func parseUnsignedLong(text string, base int) (float64, bool) {
	negative := false
	if text != "" && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	if base == 16 && len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		text = text[2:]
	}
	var value uint64
	overflow := false
	for i := 0; i < len(text); i++ {
		digit := digitValue(text[i])
		if digit >= base {
			return 0, false
		}
		if value > (math.MaxUint64-uint64(digit))/uint64(base) {
			overflow = true
		}
		value = value*uint64(base) + uint64(digit)
	}
	switch {
	case overflow:
		value = math.MaxUint64
	case negative:
		value = -value
	}
	return float64(value), text != ""
}

func digitValue(c byte) int {
	switch {
	case isDigit(int(c)):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'z':
		return int(c|0x20-'a') + 10
	default:
		return 99
	}
}

func baseCollectGarbage(L *lua.LState) int {
	s, option := FromLua(L), "collect"
	if L.Get(1) != lua.LNil {
		option = checkString(L, 1)
	}
	var answer lua.LValue = lua.LNumber(0)
	var setting *int
	switch option {
	case "stop", "restart", "collect":
	case "count":
		answer = lua.LNumber(float64(s.limits.heap()) / 1024)
	case "step":
		answer = lua.LFalse
	case "setpause":
		setting = &s.collector.pause
	case "setstepmul":
		setting = &s.collector.stepMul
	default:
		argumentError(L, 1, "invalid option '"+option+"'")
	}
	number := int(int32(optInt(L, 2, 0)))
	if setting != nil {
		answer, *setting = lua.LNumber(*setting), number
	}
	L.Push(answer)
	return 1
}

func baseGCInfo(L *lua.LState) int {
	L.Push(lua.LNumber(FromLua(L).limits.heap() / 1024))
	return 1
}
